// State machines of a charge and of an attempt to pay it. Pure.
import { type Machine, next } from '#core/machine.ts'
import { numberOf, type RefusalReason, refusalReasons } from '#core/payment/words.ts'

export type Channel = 'agent' | 'direct_pos' | 'payment_link'
export type WithdrawReason = 'cancelled' | 'expired' | 'failed'
export type ChargeState = 'open' | 'paid' | 'withdrawn' | 'paid_late'
type ChargeEvent = 'pay' | 'withdraw' | 'pay_late'
export type AttemptOutcome = 'paid' | 'refused' | 'unknown'
export type Refusal = RefusalReason | ClosedReason
/** Why a charge can no longer be paid. */
export type ClosedReason = 'already_paid' | 'withdrawn' | 'expired'

/** A charge pays at most once; a withdrawn one receives late money only. */
export const chargeMachine = {
  open: { pay: 'paid', withdraw: 'withdrawn' },
  withdrawn: { pay_late: 'paid_late' },
  paid: {},
  paid_late: {},
} satisfies Machine<ChargeState, ChargeEvent>

/** A charge as payments announces it. */
export type NewCharge = {
  chargeId: string
  currency: string
  amountMinor: bigint
  mobileNumber: string
  channel: Channel
  businessName: string
  /** Twelve digits for channel agent, else empty. */
  cashCode: string
  expireTime: Date
}

/** What decides whether a charge can be paid. */
export type Payability = {
  state: ChargeState
  /** Announced, and so with an amount to pay. */
  isAnnounced: boolean
  /** The time to pay is over by the database's clock. */
  isExpired: boolean
}

/** Why the charge cannot be paid now; undefined when it can. */
export function closedReason({
  state,
  isAnnounced,
  isExpired,
}: Payability): ClosedReason | undefined {
  if (state === 'paid' || state === 'paid_late') return 'already_paid'
  if (state === 'withdrawn' || !isAnnounced) return 'withdrawn'
  return isExpired ? 'expired' : undefined
}

/** Outcome of an attempt. */
export type Verdict =
  | { outcome: 'paid'; refusal?: undefined }
  | { outcome: 'refused'; refusal: Refusal }

/** Weighs what the payer's means say against what the charge allows. */
export function decideAttempt(charge: Payability, means: Verdict): Verdict {
  const closed = closedReason(charge)
  return closed === undefined ? means : { outcome: 'refused', refusal: closed }
}

/** What one planned act comes to; undefined when the charge no longer takes it. */
export function decidePlannedAct(
  charge: Payability & { act: 'pay' | 'refuse'; actStarts: 'announced' | 'cancelled' },
): Verdict | undefined {
  if (charge.actStarts === 'cancelled') {
    return next<ChargeState, ChargeEvent>(chargeMachine, charge.state, 'pay_late') === undefined
      ? undefined
      : { outcome: 'paid' }
  }
  if (closedReason(charge) !== undefined) return undefined
  return charge.act === 'pay' ? { outcome: 'paid' } : { outcome: 'refused', refusal: 'declined' }
}

/** PINs of test wallets. All but 000002 end with the response code of ISO 8583 that they stand for. */
const testPins: Readonly<Record<string, Verdict>> = {
  '123456': { outcome: 'paid' },
  '000002': { outcome: 'refused', refusal: 'declined' },
  '000051': { outcome: 'refused', refusal: 'insufficient_funds' },
  '000061': { outcome: 'refused', refusal: 'limit_exceeded' },
  '000055': { outcome: 'refused', refusal: 'wrong_credentials' },
  '000014': { outcome: 'refused', refusal: 'invalid_details' },
  '000057': { outcome: 'refused', refusal: 'not_permitted' },
  '000017': { outcome: 'refused', refusal: 'not_confirmed' },
  '000091': { outcome: 'refused', refusal: 'unavailable' },
}

/** What a wallet says to a PIN. Every other PIN is a wrong one. */
export function weighPin(pin: string): Verdict {
  const known = Object.hasOwn(testPins, pin) ? testPins[pin] : undefined
  return known ?? { outcome: 'refused', refusal: 'wrong_credentials' }
}

/** The number of a refusal in payweave.backend.v1; 0 for none, and for a charge that can no longer be paid. */
export function refusalNumber(refusal: Refusal | null | undefined): number {
  const reason = refusalReasons.find((one) => one === refusal)
  return reason === undefined ? 0 : numberOf(refusalReasons, reason)
}
