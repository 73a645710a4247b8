// State machines of a charge and of an attempt to pay it. Pure.
import { type Machine, next } from '#core/machine.ts'

export type Channel = 'agent' | 'direct_pos' | 'payment_link'
export type WithdrawReason = 'cancelled' | 'expired' | 'failed'
export type ChargeState = 'open' | 'paid' | 'withdrawn' | 'paid_late'
type ChargeEvent = 'pay' | 'withdraw' | 'pay_late'
export type AttemptOutcome = 'paid' | 'refused' | 'unknown'
export type Refusal = 'declined' | 'insufficient_funds' | ClosedReason
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

/** What came of an attempt. */
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

const pinThatPays = '123456'

/** A wallet pays with PIN 123456; 000002 declines, and so does everything else. */
export function weighPin(pin: string): Verdict {
  return pin === pinThatPays ? { outcome: 'paid' } : { outcome: 'refused', refusal: 'declined' }
}
