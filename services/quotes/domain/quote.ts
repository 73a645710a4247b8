// A quote: its price and its state machine. Pure.
import { Failure } from '#core/errors/errors.ts'
import type { Machine } from '#core/machine.ts'
import { convert, formatDecimal } from '#core/money/exchange.ts'
import { formatAmount, parseDecimal } from '#core/money/money.ts'

/** By which route a quote was asked for. */
export type QuoteKind = 'transfer' | 'institution'
/** State of a quote. */
export type QuoteState = 'open' | 'reserved' | 'used'
/** The state that clients see. */
export type QuoteStatus = 'active' | 'used' | 'expired'
/** State of the transaction that used the quote. */
export type TransactionStatus = 'pending' | 'completed' | 'failed' | 'cancelled'

/** An amount in minor units of its currency. */
export type Amount = { amountMinor: bigint; currency: string }

/** A rate with the time at which its source made it. */
export type Rate = { text: string; sourceTime: Date }

/** The recipient of the money, as the client named them. */
export type CreditParty = { mobileNumber: string; accountNumber: string; currency: string }

/** What is asked. */
export type NewQuote = {
  projectId: string
  sessionToken: string
  institutionName: string
  kind: QuoteKind
  requested: Amount
  creditParty: CreditParty | undefined
}

/** Fees of a quote in minor units of the requested currency. */
export type QuoteFees = {
  totalMinor: bigint
  convenienceMinor: bigint
  senderPaysMinor: bigint
  recipientPaysMinor: bigint
}

/** Quoting and converting cost nothing: the fees of a transaction are what its client puts on it. */
export const noFees: QuoteFees = {
  totalMinor: 0n,
  convenienceMinor: 0n,
  senderPaysMinor: 0n,
  recipientPaysMinor: 0n,
}

/** What a quote promises. */
export type Terms = {
  requested: Amount
  quoted: Amount
  fees: QuoteFees
  rate: Rate
  /** Exact worth less the quoted amount, in quoted units: zero to less than one minor unit. */
  residual: string
  /** What the ledger posts of the residual, in minor units of the quoted currency. */
  roundingMinor: bigint
}

/** A quote that is not stored yet. */
export type DraftQuote = Terms & {
  quoteId: string
  projectId: string
  institutionId: string
  institutionName: string
  accountId: string
  kind: QuoteKind
}

/** What a transaction left on the quote that it used. */
export type Use = {
  transactionId: string
  institutionReceiptId: string
  transactionStatus: TransactionStatus
}

/** A quote as it is stored. */
export type Quote = DraftQuote & {
  quoteTime: Date
  expireTime: Date
  state: QuoteState
  /** The movement that reserved or used it. */
  movementId?: string
  use?: Use
  /** By the database clock, when it was read. */
  isExpired: boolean
}

/** Only `confirm` and `release` end a reservation: time does not, since the movement may have begun. */
export const quoteMachine = {
  open: { reserve: 'reserved' },
  reserved: { confirm: 'used', release: 'open' },
  used: {},
} as const satisfies Machine<QuoteState, 'reserve' | 'confirm' | 'release'>

/** Prices an amount, rounded down; INVALID_PARAMETER for one that no amount of the other currency can stand for. */
export function priceQuote(requested: Amount, currency: string, rate: Rate): Terms {
  const decimal = parseDecimal(rate.text)
  if (decimal === undefined) throw new Error('the rate was not checked')
  const worth = convert(requested.amountMinor, requested.currency, currency, decimal)
  if (worth === undefined) throw invalidAmount(`is worth more than can be paid in ${currency}`)
  if (worth.amountMinor === 0n) {
    throw invalidAmount(`is worth less than ${formatAmount(1n, currency)} ${currency}`)
  }
  return {
    requested,
    quoted: { amountMinor: worth.amountMinor, currency },
    fees: noFees,
    rate,
    residual: formatDecimal(worth.residual),
    roundingMinor: postedResidual(worth.residual.digits),
  }
}

/** All that leaves the account when a quote is executed, which is what counts against the limits. */
export function debitOf({ requested, fees }: Pick<Terms, 'requested' | 'fees'>): Amount {
  return { ...requested, amountMinor: requested.amountMinor + fees.senderPaysMinor }
}

/**
 * The ledger knows whole minor units only. So a residual of any size is posted as one unit, and the exact one stays on the
 * quote.
 */
function postedResidual(digits: bigint): bigint {
  return digits === 0n ? 0n : 1n
}

function invalidAmount(problem: string): Failure {
  return new Failure('INVALID_PARAMETER', `request_amount ${problem}`, {
    details: { field: 'request_amount' },
  })
}

/** A quote that is being executed is active until that has ended, so that clients do not take another one meanwhile. */
export function statusOf({ state, isExpired }: Pick<Quote, 'state' | 'isExpired'>): QuoteStatus {
  if (state === 'used') return 'used'
  return state === 'open' && isExpired ? 'expired' : 'active'
}

/** What a movement says of the quote that it wants. */
export type Execution = {
  movementId: string
  debit: Amount
  credit: Amount
  /** The account whose session runs the movement; undefined from a caller of the previous release. */
  accountId: string | undefined
}

/**
 * Whether a movement moves what was quoted: from the requested amount to the quoted one. The other way round the payer
 * would gain what rounding took.
 */
function fits({ requested, quoted }: Quote, { debit, credit }: Execution): boolean {
  return isSame(debit, requested) && isSame(credit, quoted)
}

function isSame(one: Amount, other: Amount): boolean {
  return one.amountMinor === other.amountMinor && one.currency === other.currency
}

/** Why a movement does not get a quote; undefined when nothing is in its way. */
export function whyNotReserved(
  quote: Quote,
  givenBack: boolean,
  execution: Execution,
): Failure | undefined {
  const { accountId } = execution
  if (accountId !== undefined && accountId !== quote.accountId) {
    return new Failure('PARTY_NOT_ALLOWED', 'the quote was made for another account')
  }
  const isHeld = quote.state !== 'open' && quote.movementId !== execution.movementId
  if (isHeld || givenBack)
    return new Failure('QUOTE_ALREADY_USED', 'another movement has the quote')
  if (quote.state !== 'used' && quote.isExpired) {
    return new Failure('QUOTE_EXPIRED', 'the quote has expired')
  }
  if (!fits(quote, execution)) {
    return new Failure('QUOTE_MISMATCH', 'the amounts or currencies are not those of the quote')
  }
  return undefined
}
