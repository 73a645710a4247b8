// The commands on quotes and transfers by the public API, with the keys of a merchant alone.
import {
  PayweaveError,
  type TransactionFilter,
  type TransactionSummary,
} from '../../sdk-typescript/index.ts'
import { oneOperand } from '../access.ts'
import { merchantOf, signalOf } from '../api/merchant.ts'
import type { CommandContext } from '../command.ts'
import { printable } from '../output/print.ts'
import { type ListShape, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'
import { printFacts, windowOf } from './merchant-output.ts'

/** The option that both have beside the keys. */
export const institutionOption = {
  institution: 'with merchant keys: name of the institution',
} as const

/** Options of `transfer list` with merchant keys. */
export const merchantTransferOptions = {
  'mobile-number': 'with merchant keys: number on either side',
  country: 'with merchant keys: ISO code of the country of a national number (US)',
} as const

const quoteFields = [
  'quote_id',
  'quote_status',
  'rate',
  'request_amount',
  'request_currency',
  'amount_quoted',
  'quoted_currency',
  'fees',
  'quote_date',
  'expire_date',
  'transaction_id',
  'institution_receipt_id',
  'transaction_status',
] as const

const transferFields = [
  'transaction_id',
  'institution_receipt_id',
  'transaction_type',
  'transaction_status',
  'amount',
  'currency',
  'institution_name',
] as const

/** `quote show`. Rejects with a UsageError as `merchantOf` throws it, and with a PayweaveError. */
export async function showQuoteAsMerchant(context: CommandContext): Promise<void> {
  const name = { quote_id: oneOperand(context, 'quote id'), ...institutionOf(context) }
  const { institution, quotes } = merchantOf(context)
  const call = signalOf(context)
  try {
    printFacts(context, quoteFields, await institution.quote(name, call))
  } catch (error) {
    if (!isNotGranted(error)) throw error
    // Without a grant on the routes of the institution, the terms alone can be read.
    const terms = await quotes.get(name, call)
    printFacts(context, quoteFields, { quote_id: name.quote_id, ...terms })
  }
}

/** `transfer show`. Rejects as `showQuoteAsMerchant` does. */
export async function showTransferAsMerchant(context: CommandContext): Promise<void> {
  const name = { transaction_id: oneOperand(context, 'transaction id'), ...institutionOf(context) }
  const { institution } = merchantOf(context)
  printFacts(context, transferFields, await institution.transaction(name, signalOf(context)))
}

/** `transfer list`. Rejects as `showQuoteAsMerchant` does. */
export async function listTransfersAsMerchant(context: CommandContext): Promise<void> {
  const { options } = context
  const { 'mobile-number': mobileNumber, status } = options
  if (mobileNumber === undefined) {
    throw new UsageError('--mobile-number is missing: with merchant keys the list is of a number')
  }
  if (status !== undefined) throw new UsageError('--status needs a bearer')
  const [start, end] = windowOf(context)
  const count = wholeNumber(options['limit'] ?? '50', 'limit', 1_000_000)
  const filter: TransactionFilter = {
    mobile_number: mobileNumber,
    ...(start !== undefined && { start_datetime: start }),
    ...(end !== undefined && { end_datetime: end }),
    limit: Math.min(count, 200),
  }
  const pages = merchantOf(context).institution.transactions(filter, signalOf(context))
  await printList(context, shape, [await pages.take(count)])
}

function institutionOf({ options }: CommandContext): { institution_name: string } {
  const { institution: name } = options
  if (name === undefined) throw new UsageError('--institution is missing: merchant keys need it')
  return { institution_name: name }
}

function isNotGranted(error: unknown): boolean {
  return error instanceof PayweaveError && error.reason === 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED'
}

const shape: ListShape<TransactionSummary> = {
  headings: ['POSTED', 'TRANSACTION', 'TYPE', 'STATUS', 'AMOUNT', 'SENDER', 'RECIPIENT', 'RECEIPT'],
  cells: (one) => [
    one.posted_date ?? '-',
    printable(one.transaction_id),
    one.transaction_type,
    one.transaction_status,
    `${one.amount} ${one.currency}`,
    printable(one.sender.mobile_number ?? one.sender.account_number ?? '-'),
    printable(one.recipient.mobile_number ?? one.recipient.account_number ?? '-'),
    printable(one.institution_receipt_id),
  ],
  json: (one) => JSON.stringify(one),
  none: 'no transfers',
}
