// Renders institution transactions as the JSON of their routes, with people's numbers masked.
import { maskLookup } from '#core/text/mask.ts'
import { maskPhone } from '#core/text/phone.ts'
import {
  type Party,
  type Transaction,
  type TransactionFees,
  TransactionStatus,
  TransactionType,
} from '#gen/payweave/institution/v1/institution_pb.js'
import { dateTimeOrNull, decimalOf, given } from '../rpc-fields.ts'

const types: Partial<Record<TransactionType, string>> = {
  [TransactionType.P2P]: 'p2p',
  [TransactionType.INTTRANSFER]: 'inttransfer',
  [TransactionType.DEPOSIT]: 'deposit',
  [TransactionType.CASHOUT]: 'cashout',
}

const statuses: Partial<Record<TransactionStatus, string>> = {
  [TransactionStatus.PENDING]: 'pending',
  [TransactionStatus.COMPLETED]: 'completed',
  [TransactionStatus.FAILED]: 'failed',
  [TransactionStatus.CANCELLED]: 'cancelled',
}

/** What POST /institution/transaction answers. */
export function createdFields(transaction: Transaction | undefined): Record<string, unknown> {
  return { institution_receipt_id: given(transaction).institutionReceiptId }
}

/** What GET /institution/transaction answers. */
export function transactionFields(transaction: Transaction | undefined): Record<string, unknown> {
  const { transactionId, institutionReceiptId, institutionName, ...rest } = given(transaction)
  return {
    transaction_id: transactionId,
    institution_receipt_id: institutionReceiptId,
    transaction_type: types[rest.type],
    transaction_status: statuses[rest.status],
    currency: given(rest.amount).currency,
    amount: decimalOf(rest.amount),
    institution_name: institutionName,
  }
}

/** One item of GET /institution/transaction_history. */
export function historyItem(transaction: Transaction): Record<string, unknown> {
  const { amount, senderAmount, quoteId, endTime } = transaction
  const hasCleared = transaction.status === TransactionStatus.COMPLETED
  return {
    transaction_id: transaction.transactionId,
    institution_receipt_id: transaction.institutionReceiptId,
    transaction_type: types[transaction.type],
    transaction_status: statuses[transaction.status],
    amount: decimalOf(amount),
    currency: given(amount).currency,
    sender_amount: decimalOf(senderAmount),
    sender_currency: given(senderAmount).currency,
    fees: feesOf(given(transaction.fees)),
    quote_id: quoteId === '' ? null : quoteId,
    description: transaction.description,
    posted_date: dateTimeOrNull(transaction.createTime),
    cleared_date: hasCleared ? dateTimeOrNull(endTime) : null,
    sender: maskedParty(given(transaction.debitParty)),
    recipient: maskedParty(given(transaction.creditParty)),
  }
}

function feesOf({ total, convenience, senderPays, recipientPays }: TransactionFees) {
  return {
    total: decimalOf(total),
    convenience: decimalOf(convenience),
    sender_pays: decimalOf(senderPays),
    recipient_pays: decimalOf(recipientPays),
  }
}

function maskedParty({ mobileNumber, accountNumber }: Party) {
  return {
    mobile_number: mobileNumber === '' ? null : maskPhone(mobileNumber),
    account_number: accountNumber === '' ? null : maskLookup('ACCOUNT_NUMBER', accountNumber),
  }
}
