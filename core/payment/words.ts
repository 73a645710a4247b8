// The JSON contract's words for states and kinds, and the reasons of refusals, beside the enum numbers of payweave.payments.v1 and payweave.backend.v1; does not import gen.

/** State of a payment request as a whole. */
export type PaymentState =
  | 'Pending'
  | 'Partially_paid'
  | 'paid'
  | 'Cancelled'
  | 'Expired'
  | 'Failed'
  | 'Refunded'

/** State of one payer's share. */
export type PayerState =
  | 'Pending'
  | 'Processing'
  | 'paid'
  | 'Cancelled'
  | 'Expired'
  | 'Failed'
  | 'Refunded'

/** State of the money that a payee is to get. The JSON contract does not show it. */
export type PayoutState = 'waiting' | 'scheduled' | 'sent' | 'completed' | 'failed' | 'voided'

/** Outcome of the fraud rules. */
export type FraudCheckStatus = 'skipped' | 'passed' | 'failed'

/** Where a payer pays. */
export type PaymentChannel = 'agent' | 'direct_pos' | 'payment_link'

/** What a payer pays with. */
export type PaymentMethod = 'cash' | 'card' | 'wallet' | 'credit' | 'debit' | 'qr_code'

/** `event_type` of a notify push. */
export type NoticeKind =
  | 'payment_initiated'
  | 'payment_completed'
  | 'payment_failed'
  | 'payment_cancelled'
  | 'payment_expired'
  | 'payment_refunded'
  | 'payout_scheduled'
  | 'payout_completed'
  | 'payout_failed'

/** Words in the order of the enum: the first one has number 1, since 0 is always UNSPECIFIED. */
export type Words<W extends string> = readonly W[]

export const paymentStates: Words<PaymentState> = [
  'Pending',
  'Partially_paid',
  'paid',
  'Cancelled',
  'Expired',
  'Failed',
  'Refunded',
]

export const payerStates: Words<PayerState> = [
  'Pending',
  'Processing',
  'paid',
  'Cancelled',
  'Expired',
  'Failed',
  'Refunded',
]

/** Refused attempts after which a payer has failed permanently. */
export const maxRefusedAttempts = 5

export const payoutStates: Words<PayoutState> = [
  'waiting',
  'scheduled',
  'sent',
  'completed',
  'failed',
  'voided',
]

export const fraudCheckStatuses: Words<FraudCheckStatus> = ['skipped', 'passed', 'failed']

export const paymentChannels: Words<PaymentChannel> = ['agent', 'direct_pos', 'payment_link']

export const paymentMethods: Words<PaymentMethod> = [
  'cash',
  'card',
  'wallet',
  'credit',
  'debit',
  'qr_code',
]

export const noticeKinds: Words<NoticeKind> = [
  'payment_initiated',
  'payment_completed',
  'payment_failed',
  'payment_cancelled',
  'payment_expired',
  'payment_refunded',
  'payout_scheduled',
  'payout_completed',
  'payout_failed',
]

/** Why an attempt to pay was refused, as payweave.backend.v1 names it. */
export type RefusalReason =
  | 'declined'
  | 'insufficient_funds'
  | 'limit_exceeded'
  | 'wrong_credentials'
  | 'invalid_details'
  | 'not_permitted'
  | 'not_confirmed'
  | 'unavailable'

export const refusalReasons: Words<RefusalReason> = [
  'declined',
  'insufficient_funds',
  'limit_exceeded',
  'wrong_credentials',
  'invalid_details',
  'not_permitted',
  'not_confirmed',
  'unavailable',
]

/** How far the refund of a payer's money has come. */
export type RefundState = 'sent' | 'completed' | 'failed' | 'settled'

export const refundStates: Words<RefundState> = ['sent', 'completed', 'failed', 'settled']

/** The methods that each channel offers. */
export const channelMethods: Readonly<Record<PaymentChannel, readonly PaymentMethod[]>> = {
  agent: ['cash', 'card'],
  direct_pos: ['wallet', 'card', 'credit', 'debit', 'qr_code'],
  payment_link: ['wallet', 'card', 'credit', 'debit'],
}

/** The word of an enum number; undefined for UNSPECIFIED and for numbers of a newer contract. */
export function wordOf<W extends string>(words: Words<W>, number: number): W | undefined {
  return words[number - 1]
}

/**
 * The word of an enum number that validation has accepted already. Throws RangeError for UNSPECIFIED and unknown
 * numbers.
 */
export function checkedWord<W extends string>(words: Words<W>, number: number): W {
  const word = wordOf(words, number)
  if (word === undefined) throw new RangeError(`there is no word for ${number}`)
  return word
}

/** The enum number of a word, from 1 up. */
export function numberOf<W extends string>(words: Words<W>, word: W): number {
  return words.indexOf(word) + 1
}
