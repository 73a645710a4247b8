// When a refund is sent to Stripe, when it is looked for, and with which idempotency key. Pure.

/**
 * A refund as Stripe has it. Any status but the ends counts as pending. `unfunded`: it has failed because our balance was too low, so
 * that no money has left.
 */
export type RefundState = {
  refundId: string
  status: 'pending' | 'succeeded' | 'failed' | 'unfunded'
}

/** A refund, as far as it has come. Ages are in milliseconds. */
export type RefundProgress = {
  /** Stripe's id, once it is known. */
  refundId: string | null
  /** Since it was last sent; null when it never was with this idempotency key. */
  sentAgeMs: number | null
  /** Since it was first sent with this idempotency key. */
  keyAgeMs: number | null
  /** Stripe has answered this key with a failure, and repeats that answer as long as it keeps the key. */
  isKeySpent: boolean
  /** The code with which Stripe has refused it after a call that had no answer. */
  refusal: string | null
}

/** Once this time has passed since the last call, a refund that Stripe does not list was never received; earlier that proves nothing. */
const silentMs = 120_000
/** Stripe keeps an idempotency key for at least 24 hours. An older one could refund again. */
const keyWithinMs = 23 * 3_600_000

/** What to do next. A refund that was sent before is looked for first, also if the call failed. */
export function nextRefundStep({
  refundId,
  sentAgeMs,
}: RefundProgress): 'send' | 'look' | 'enquire' {
  if (refundId !== null) return 'enquire'
  return sentAgeMs === null ? 'send' : 'look'
}

/** What to do with a refund that Stripe does not list: wait, send it with the same key or with a new one, or give it up. */
export function afterAbsence(progress: RefundProgress): 'wait' | 'repeat' | 'renew' | 'fail' {
  const { sentAgeMs, keyAgeMs, isKeySpent, refusal } = progress
  const isSilent = sentAgeMs !== null && sentAgeMs > silentMs
  if (refusal !== null) return isSilent ? 'fail' : 'wait'
  const isKeyOld = keyAgeMs !== null && keyAgeMs > keyWithinMs
  if (!isKeySpent && !isKeyOld) return 'repeat'
  return isSilent ? 'renew' : 'wait'
}

/**
 * Codes of a refusal because our balance is too low. https://docs.stripe.com/error-codes documents the first one for transfers and
 * payouts. A refund gets the second one, as `message_code`: https://github.com/Automattic/woocommerce-payments/issues/10025.
 */
const balanceCodes: ReadonlySet<string> = new Set([
  'balance_insufficient',
  'insufficient_balance_for_refund',
])

/** Whether Stripe refuses a refund only because our balance is too low: it can be made later. */
export function waitsForBalance(code: string): boolean {
  return balanceCodes.has(code)
}

/** Stripe has no code for an amount above that of the charge, but names the parameter: the port calls that `invalid_amount`. */
const finalCodes: ReadonlySet<string> = new Set([
  'amount_too_large',
  'amount_too_small',
  'charge_already_refunded',
  'charge_disputed',
  'charge_not_refundable',
  'invalid_amount',
  'payment_intent_unexpected_state',
  'refund_disputed_payment',
])

/**
 * Whether Stripe refuses a refund for ever, by a code about the payment or the amount: https://docs.stripe.com/error-codes. After any
 * other, such as `resource_missing` for a key of another account, the refund can be made later.
 */
export function isFinalRefusal(code: string): boolean {
  return finalCodes.has(code)
}

/** How long to wait for the next enquiry: a quarter of the refund's age, from a second to an hour. Webhooks make it due at once. */
export function refundPauseMs(ageMs: number): number {
  return Math.round(Math.min(3_600_000, Math.max(1_000, ageMs / 4)))
}
