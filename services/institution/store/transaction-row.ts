// Reads a row of the transaction table.
import type {
  Described,
  Outcome,
  Transaction,
  TransactionState,
  TransactionType,
} from '../domain/transaction.ts'

const stored = `movement_id, project_id, institution_id, institution_name, transaction_id,
  receipt_id, request_fingerprint, type, state, amount_minor, currency, sender_amount_minor,
  sender_currency, fee_total_minor, fee_convenience_minor, fee_sender_pays_minor,
  fee_recipient_pays_minor, quote_id, quote_expire_time, rounding_minor, rounding_currency,
  quote_told, description, debit_account_id, credit_account_id, described, session_token_hash,
  limit_account_id, limit_minor, limit_currency, counts_limit, hold_expire_time, create_time, end_time,
  told_time, outcome, enquiries, is_refused, attempts, unexecuted_attempts`

/** What a `TransactionRow` is read from, in SQL. */
export const columns = `${stored}, deadline <= business_now() as is_late`

/** The columns of a `TransactionRow`, in SQL. */
export const columnNames = `${stored}, is_late`

/** A row as the database gives it. */
export type TransactionRow = {
  movement_id: string
  project_id: string
  institution_id: string
  institution_name: string
  transaction_id: string
  receipt_id: string
  request_fingerprint: Buffer
  type: TransactionType
  state: TransactionState
  amount_minor: bigint
  currency: string
  sender_amount_minor: bigint
  sender_currency: string
  fee_total_minor: bigint
  fee_convenience_minor: bigint
  fee_sender_pays_minor: bigint
  fee_recipient_pays_minor: bigint
  quote_id: string | null
  quote_expire_time: Date | null
  rounding_minor: bigint
  rounding_currency: string | null
  quote_told: TransactionState | null
  description: string
  debit_account_id: string | null
  credit_account_id: string | null
  described: Described
  session_token_hash: Buffer
  limit_account_id: string
  limit_minor: bigint
  limit_currency: string
  counts_limit: boolean
  hold_expire_time: Date | null
  create_time: Date | null
  end_time: Date | null
  is_late: boolean | null
  told_time: Date | null
  outcome: Outcome | null
  enquiries: number
  is_refused: boolean
  attempts: number
  unexecuted_attempts: number
}

/** The transaction of a row. */
export function readRow(row: TransactionRow): Transaction {
  return {
    movementId: row.movement_id,
    projectId: row.project_id,
    institutionId: row.institution_id,
    institutionName: row.institution_name,
    transactionId: row.transaction_id,
    receiptId: row.receipt_id,
    fingerprint: row.request_fingerprint,
    type: row.type,
    state: row.state,
    ...amountsOf(row),
    quoteId: row.quote_id ?? undefined,
    reservation: reservationOf(row),
    quoteNotified: row.quote_told ?? undefined,
    description: row.description,
    debitAccountId: row.debit_account_id ?? undefined,
    creditAccountId: row.credit_account_id ?? undefined,
    described: row.described,
    tokenHash: row.session_token_hash,
    limit: {
      accountId: row.limit_account_id,
      minor: row.limit_minor,
      currency: row.limit_currency,
      isCounted: row.counts_limit,
    },
    holdExpireTime: row.hold_expire_time ?? undefined,
    createTime: row.create_time ?? undefined,
    endTime: row.end_time ?? undefined,
    isLate: row.is_late ?? false,
    isSubmitted: row.told_time !== null,
    outcome: row.outcome ?? undefined,
    enquiries: row.enquiries,
    isRefused: row.is_refused,
    attempts: row.attempts,
    unexecutedAttempts: row.unexecuted_attempts,
  }
}

function amountsOf(row: TransactionRow) {
  return {
    amountMinor: row.amount_minor,
    currency: row.currency,
    senderAmountMinor: row.sender_amount_minor,
    senderCurrency: row.sender_currency,
    fees: {
      totalMinor: row.fee_total_minor,
      convenienceMinor: row.fee_convenience_minor,
      senderPaysMinor: row.fee_sender_pays_minor,
      recipientPaysMinor: row.fee_recipient_pays_minor,
    },
  }
}

function reservationOf(row: TransactionRow): Transaction['reservation'] {
  if (row.quote_expire_time === null) return undefined
  return {
    expireTime: row.quote_expire_time,
    rounding: { minor: row.rounding_minor, currency: row.rounding_currency ?? undefined },
  }
}
