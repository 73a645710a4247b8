// A transaction and its state machine.
import type { Machine } from '#core/machine.ts'

/** What is known of an account. Empty texts are not known. */
export type AccountFacts = {
  accountId: string
  institutionId: string
  institutionName: string
  accountNumber: string
  mobileNumber: string
  currency: string
  isAvailable: boolean
}

/** The accounts of ours on either side; `own` is the side of the session's account. */
export type Sides = {
  own: 'debit' | 'credit'
  debit: AccountFacts | undefined
  credit: AccountFacts | undefined
}

/** A fee as the client wrote it; an empty currency is that of the side which pays it. */
export type StatedFee = { type: string; amount: string; currency: string }

/** A request, well formed but not understood yet. Empty texts were not given. */
export type NewTransaction = {
  projectId: string
  institutionName: string
  transactionId: string
  type: TransactionType
  amount: string
  senderAmount: string
  senderCurrency: string
  description: string
  fees: StatedFee[]
  described: Described
  quoteId: string
  /** Of the client's fields without the token. */
  fingerprint: Buffer
}

/** The session of the token, and the account that the far side of a p2p names. */
export type Session = {
  tokenHash: Buffer
  state: 'live' | 'spent' | 'expired'
  account: AccountFacts
  far: { account: AccountFacts | undefined; isAmbiguous: boolean }
  limitCurrency: string
}

/** What a transaction does, in the words of the contract. */
export type TransactionType = 'p2p' | 'inttransfer' | 'deposit' | 'cashout'

/** State of a transaction; `claimed` is a request in progress, not yet a transaction. */
export type TransactionState = 'claimed' | 'pending' | 'completed' | 'failed' | 'cancelled'

/** The states that the contract shows. */
export type ShownState = Exclude<TransactionState, 'claimed'>

/** How a transaction can end. */
export type Outcome = 'completed' | 'failed' | 'cancelled'

/** What can happen to it. A refused claim is deleted. */
export type TransactionEvent = 'accept' | 'complete' | 'fail' | 'cancel'

/** Which state follows which; the database repeats it. */
export const transactionMachine: Machine<TransactionState, TransactionEvent> = {
  claimed: { accept: 'pending', complete: 'completed' },
  pending: { complete: 'completed', fail: 'failed', cancel: 'cancelled' },
  completed: {},
  failed: {},
  cancelled: {},
}

/** One side as the client described it; empty texts were not given. */
export type Party = {
  mobileNumber: string
  organizationId: string
  accountNumber: string
  accountType: string
  currency: string
  metadata: string
}

/** Facts by field name of the contract. */
export type Facts = Record<string, string>

/** What is sent to the back end beside the money. */
export type Described = {
  debitParty: Party
  creditParty: Party
  senderKyc: Facts
  recipientKyc: Facts
  transferInformation: Facts
  /** When the client made it, ISO 8601; kept for the record. */
  transactionTime?: string
}

/** The money of a transaction: both sides before the fees that they pay, and the fees. */
export type Amounts = {
  /** What the credit side gets. */
  amountMinor: bigint
  currency: string
  /** What the debit side pays. */
  senderAmountMinor: bigint
  senderCurrency: string
  /**
   * In the sender's currency, but for what the recipient pays. Neither side pays more than its amount; the total is the sum of
   * those that are in its currency.
   */
  fees: {
    totalMinor: bigint
    convenienceMinor: bigint
    senderPaysMinor: bigint
    recipientPaysMinor: bigint
  }
}

/** A request that every check has passed, ready to be claimed. */
export type Draft = Amounts & {
  movementId: string
  projectId: string
  institutionId: string
  institutionName: string
  transactionId: string
  receiptId: string
  fingerprint: Buffer
  type: TransactionType
  quoteId: string | undefined
  description: string
  /** The sides that are accounts of ours: both of a p2p, else one. */
  debitAccountId: string | undefined
  creditAccountId: string | undefined
  described: Described
  tokenHash: Buffer
  /** The session's account, and what counts against its limits, in their currency; what it receives when nothing counts. */
  limit: { accountId: string; minor: bigint; currency: string; isCounted: boolean }
}

/** What is known of the quote once it is reserved. */
export type Reservation = {
  /** The time from which the movement can no longer begin. */
  expireTime: Date
  /** What execution adds to fx_rounding, in its currency. */
  rounding: { minor: bigint; currency: string | undefined }
}

/** A row, leased or not. */
export type Transaction = Draft & {
  state: TransactionState
  reservation: Reservation | undefined
  holdExpireTime: Date | undefined
  createTime: Date | undefined
  endTime: Date | undefined
  /** The deadline of a pending transfer has passed. */
  isLate: boolean
  isSubmitted: boolean
  outcome: Outcome | undefined
  enquiries: number
  isRefused: boolean
  quoteNotified: TransactionState | undefined
  attempts: number
  /** Attempts that failed and certainly executed no transfer. */
  unexecutedAttempts: number
}

/** A leased row: writes are made under its lease only. */
export type Leased = Transaction & { leaseToken: string }

/** Whether the back end cannot have executed the transfer: no attempt before this one can have submitted it. */
export function isUnexecuted({ isSubmitted, attempts, unexecutedAttempts }: Transaction): boolean {
  return !isSubmitted && unexecutedAttempts === attempts - 1
}

/** What the debit side pays in all. */
export function debitMinor({ senderAmountMinor, fees }: Amounts): bigint {
  return senderAmountMinor + fees.senderPaysMinor
}

/** What the credit side gets in the end. */
export function creditMinor({ amountMinor, fees }: Amounts): bigint {
  return amountMinor - fees.recipientPaysMinor
}
