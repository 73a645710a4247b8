// How an attempt moves on at Stripe: a PaymentIntent is created, confirmed, asked about, and cancelled before the attempt is refused. Pure.
import type { RefusalReason } from '#core/payment/words.ts'

/** A PaymentIntent as Stripe has it. `unpaid`: not confirmed, or not yet. `failed`: the card was refused, and another could be tried. */
export type IntentState = {
  intentId: string
  status: 'unpaid' | 'failed' | 'action' | 'pending' | 'succeeded' | 'canceled'
  /** The code with which the card was last refused. */
  failure: string | undefined
  /** In Stripe's units. */
  amountReceived: number
}

/** An attempt, as far as it has come. */
export type IntentProgress = {
  ageMs: number
  intentId: string | null
  /** The confirmation was sent: the card may be charged. */
  isConfirmed: boolean
  /** Why the attempt is to be refused, once its intent is cancelled. */
  refusal: RefusalReason | null
  /** The charge is open. */
  isPayable: boolean
}

/** What to do next; `never`: it was not confirmed, so that no money moved. */
export type Step = 'create' | 'confirm' | 'enquire' | 'cancel' | 'never'

/** A payer waits: a card is charged no later than this, so that nobody pays who has left. */
const startWithinMs = 30_000
/** A payer has this long for their bank's questions. */
const actionWithinMs = 15 * 60_000
const minPauseMs = 1_000
const maxPauseMs = 60_000

/** Decides by what is stored. An attempt whose intent is known is refused by no other way than the cancelled intent. */
export function nextStep(progress: IntentProgress): Step {
  const { intentId, isConfirmed, refusal } = progress
  if (intentId === null) return mayStart(progress) ? 'create' : 'never'
  if (refusal !== null) return 'cancel'
  if (isConfirmed) return 'enquire'
  return mayStart(progress) ? 'confirm' : 'cancel'
}

/** Whether a card may still be charged for an attempt that has not been. */
export function mayStart({ isPayable, ageMs }: IntentProgress): boolean {
  return isPayable && ageMs < startWithinMs
}

/** Whether a payer may still answer their bank. */
export function mayAct({ isPayable, ageMs }: IntentProgress): boolean {
  return isPayable && ageMs < actionWithinMs
}

/** How long to wait for the next enquiry: a quarter of the attempt's age, from a second to a minute. Webhooks make it due at once. */
export function pauseMs(ageMs: number): number {
  return Math.round(Math.min(maxPauseMs, Math.max(minPauseMs, ageMs / 4)))
}
