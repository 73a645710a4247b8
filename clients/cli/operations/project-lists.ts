// The commands that list and show what a project has: customers, balances, bills, transfers, quotes, the API log, its payments of a day.

import { formatAmount } from '#core/money/money.ts'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  BalanceService,
  FloatPostingSchema,
  ProjectBalanceSchema,
} from '#gen/payweave/accounts/v1/balances_pb.js'
import { CustomerSchema, CustomerService } from '#gen/payweave/accounts/v1/customers_pb.js'
import { InternalAccount } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import {
  BillingService,
  BillPaymentSchema,
  BillPaymentState,
} from '#gen/payweave/billing/v1/billing_pb.js'
import {
  InstitutionService,
  TransactionSchema,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import {
  GetPaymentSummaryResponseSchema,
  PaymentsService,
} from '#gen/payweave/payments/v1/payments_pb.js'
import {
  SettlementKind,
  SettlementSchema,
  SettlementService,
} from '#gen/payweave/payments/v1/settlement_pb.js'
import { QuoteSchema, QuoteStatus, QuotesService } from '#gen/payweave/quotes/v1/quotes_pb.js'
import type { Command } from '../command.ts'
import { time, valueOf, wordOf } from '../output/print.ts'
import { UsageError } from '../usage-error.ts'
import { apiLogCommands } from './api-log.ts'
import { createdOptions, createdTimes, listCommand, money, showCommand } from './list-command.ts'
import {
  institutionOption,
  listTransfersAsMerchant,
  merchantTransferOptions,
  showQuoteAsMerchant,
  showTransferAsMerchant,
} from './merchant-transfers.ts'

const isOfProject = true

/** The commands on what one project has. */
export const projectListCommands: Command[] = [
  listCommand({
    name: 'customer list',
    summary:
      'Lists profiles that a project created, newest first, or customers it sees by --by and --value; masked.',
    part: 'accounts',
    isOfProject,
    options: {
      by: 'mobile, email or account_number',
      value: 'with --by: the whole number, e-mail address or account number',
    },
    schema: CustomerSchema,
    headings: ['CREATED', 'ACCOUNT', 'STATUS', 'INSTITUTION', 'NAME', 'MOBILE'],
    cells: (one) => [
      time(one.createTime),
      one.accountId,
      wordOf(AccountStatus, one.accountStatus),
      one.institutionName,
      one.nameMasked,
      one.mobileNumberMasked,
    ],
    none: 'no customers',
    async read({ connection, projectId, options }, page) {
      const lookupType = valueOf(LookupType, options['by'], 'by')
      const lookupValue = options['value'] ?? ''
      if ((lookupType === 0) !== (lookupValue === '')) {
        throw new UsageError('--by and --value go together')
      }
      const wanted = { projectId, lookupType, lookupValue, ...page }
      const listed = await connection.client(CustomerService).listCustomers(wanted)
      return { items: listed.customers, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'customer show',
    summary: 'Shows a customer that a project sees, masked.',
    operand: 'account id',
    part: 'accounts',
    isOfProject,
    schema: CustomerSchema,
    async read({ connection, projectId }, accountId) {
      const customers = connection.client(CustomerService)
      return (await customers.getCustomer({ projectId, accountId })).customer
    },
  }),
  listCommand({
    name: 'balance list',
    summary: "Lists a project's float, held money, fees and debt, and our accounts behind them.",
    part: 'accounts',
    isOfProject,
    schema: ProjectBalanceSchema,
    headings: ['ACCOUNT', 'POSTED', 'HELD'],
    cells: (one) => [
      one.internal === InternalAccount.UNSPECIFIED
        ? 'float'
        : wordOf(InternalAccount, one.internal),
      money(one.posted),
      money(one.held),
    ],
    none: 'no balances',
    async read({ connection, projectId }) {
      const listed = await connection.client(BalanceService).listProjectBalances({ projectId })
      return { items: listed.balances, nextPageToken: '' }
    },
  }),
  listCommand({
    name: 'balance statement',
    example: 'balance statement --created-from "2026-12-01 00:00:00" --limit 20',
    summary: "Lists the postings of a project's float, newest first.",
    part: 'accounts',
    isOfProject,
    options: createdOptions,
    schema: FloatPostingSchema,
    headings: ['TIME', 'TRANSFER', 'AMOUNT', 'CLEARED', 'REFERENCE', 'DESCRIPTION'],
    cells: (one) => [
      time(one.time),
      one.transferId,
      money(one.amount),
      one.cleared ? 'yes' : 'no',
      one.details?.reference ?? '',
      one.details?.description ?? '',
    ],
    none: 'no postings',
    async read(reader, page) {
      const { connection, projectId } = reader
      const wanted = { projectId, ...createdTimes(reader), ...page }
      const listed = await connection.client(BalanceService).listFloatPostings(wanted)
      return { items: listed.postings, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'bill list',
    summary: 'Lists the bill payments of a project, newest first.',
    part: 'billing',
    isOfProject,
    options: { state: 'pending, success or failed', ...createdOptions },
    schema: BillPaymentSchema,
    headings: ['TRANSACTION', 'STATE', 'AMOUNT', 'PRODUCT', 'REFERENCE', 'FAILURE', 'RECEIPT'],
    cells: (one) => [
      one.transactionId,
      wordOf(BillPaymentState, one.state),
      money(one.amount),
      `${one.billerCode}/${one.productCode}`,
      one.customerReference,
      one.failureCode,
      one.receiptId,
    ],
    none: 'no bill payments',
    async read(reader, page) {
      const { connection, projectId, options } = reader
      const state = valueOf(BillPaymentState, options['state'], 'state')
      const wanted = { projectId, state, ...createdTimes(reader), ...page }
      const listed = await connection.client(BillingService).listBillPayments(wanted)
      return { items: listed.payments, nextPageToken: listed.nextPageToken }
    },
  }),
  listCommand({
    name: 'transfer list',
    summary:
      'Lists the institution transactions of a project, newest first; with merchant keys those of a number, of seven days without --created-from.',
    example: 'transfer list --status completed --created-from "2026-12-01 00:00:00"',
    withMerchantKeys: { options: merchantTransferOptions, run: listTransfersAsMerchant },
    part: 'institution',
    isOfProject,
    options: { status: 'pending, completed, failed or cancelled', ...createdOptions },
    schema: TransactionSchema,
    headings: ['CREATED', 'MOVEMENT', 'TYPE', 'STATUS', 'AMOUNT', 'INSTITUTION', 'TRANSACTION'],
    cells: (one) => [
      time(one.createTime),
      one.movementId,
      wordOf(TransactionType, one.type),
      wordOf(TransactionStatus, one.status),
      money(one.amount),
      one.institutionName,
      one.transactionId,
    ],
    none: 'no transfers',
    async read(reader, page) {
      const { connection, projectId, options } = reader
      const status = valueOf(TransactionStatus, options['status'], 'status')
      const wanted = { projectId, status, ...createdTimes(reader), ...page }
      const listed = await connection.client(InstitutionService).listProjectTransactions(wanted)
      return { items: listed.transactions, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'transfer show',
    summary:
      'Shows an institution transaction with its parties and fees; with merchant keys its state, by your transaction id.',
    operand: 'movement or transaction id',
    example: 'transfer show 0197a9b0-3f6a-7000-8000-000000000001',
    withMerchantKeys: { options: institutionOption, run: showTransferAsMerchant },
    part: 'institution',
    isOfProject,
    schema: TransactionSchema,
    async read({ connection, projectId }, movementId) {
      const transfers = connection.client(InstitutionService)
      return (await transfers.getTransaction({ projectId, movementId })).transaction
    },
  }),
  listCommand({
    name: 'settlement list',
    summary:
      "Lists the settlements of a project, newest first: each movement of its payments' money.",
    part: 'payments',
    isOfProject,
    options: createdOptions,
    schema: SettlementSchema,
    headings: ['CREATED', 'SETTLEMENT', 'KIND', 'AMOUNT', 'PAYMENT', 'TRANSACTION'],
    cells: (one) => [
      time(one.createTime),
      one.settlementId,
      wordOf(SettlementKind, one.kind),
      `${formatAmount(one.amountMinor, one.currency)} ${one.currency}`,
      one.paymentId,
      one.transactionId,
    ],
    none: 'no settlements',
    async read(reader, page) {
      const { connection, projectId } = reader
      const wanted = { projectId, ...createdTimes(reader), ...page }
      const listed = await connection.client(SettlementService).listProjectSettlements(wanted)
      return { items: listed.settlements, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'settlement show',
    summary: 'Shows a settlement with its payer, its payee and what it reverses.',
    operand: 'settlement id',
    part: 'payments',
    isOfProject,
    schema: SettlementSchema,
    async read({ connection, projectId }, settlementId) {
      const found = await connection.client(SettlementService).listSettlements({ settlementId })
      return found.settlements.find((one) => one.projectId === projectId)
    },
  }),
  listCommand({
    name: 'quote list',
    summary: 'Lists the quotes of a project, newest first.',
    part: 'quotes',
    isOfProject,
    options: { status: 'active, used or expired' },
    schema: QuoteSchema,
    headings: [
      'QUOTED',
      'QUOTE',
      'STATUS',
      'REQUESTED',
      'QUOTED AMOUNT',
      'RATE',
      'EXPIRES',
      'INSTITUTION',
    ],
    cells: (one) => [
      time(one.quoteTime),
      one.quoteId,
      wordOf(QuoteStatus, one.status),
      money(one.requested),
      money(one.quoted),
      one.rate,
      time(one.expireTime),
      one.institutionName,
    ],
    none: 'no quotes',
    async read({ connection, projectId, options }, page) {
      const status = valueOf(QuoteStatus, options['status'], 'status')
      const quotes = connection.client(QuotesService)
      const listed = await quotes.listQuotes({ projectId, status, ...page })
      return { items: listed.quotes, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'quote show',
    summary: 'Shows a quote with the transaction that executed it.',
    operand: 'quote id',
    example: 'quote show 0197a9b0-3f6a-7000-8000-000000000001',
    withMerchantKeys: { options: institutionOption, run: showQuoteAsMerchant },
    part: 'quotes',
    isOfProject,
    schema: QuoteSchema,
    async read({ connection, projectId }, quoteId) {
      const listed = await connection.client(QuotesService).listQuotes({ projectId, quoteId })
      return listed.quotes[0]
    },
  }),
  ...apiLogCommands,
  showCommand({
    name: 'payments summary',
    summary:
      "Counts a merchant's payments that ended in the last 24 hours, by hour and state, and those that are open; needs a bearer.",
    operand: 'merchant id',
    part: 'payments',
    isOfProject,
    schema: GetPaymentSummaryResponseSchema,
    read: ({ connection, projectId }, merchantId) =>
      connection.client(PaymentsService).getPaymentSummary({ projectId, merchantId }),
  }),
]
