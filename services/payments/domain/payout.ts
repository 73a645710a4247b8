// Decides when payouts are sent and how the back end's report changes a payout.
import { Failure } from '#core/errors/errors.ts'
import type { Payee, Payment } from './payment.ts'
import {
  begin,
  type Draft,
  finish,
  finishSilently,
  movePayout,
  noticePayee,
  settle,
  type Transition,
} from './transition.ts'

/** Outcome of a payout or a refund, as the back end reports it. */
export type TransferOutcome = 'completed' | 'failed'

/** Sends every due payout of a paid request; undefined when none is due. */
export function releasePayouts(payment: Payment, now: Date): Transition | undefined {
  const draft = begin(payment, now)
  const due = draft.payment.payees.filter(
    ({ payoutState, releaseTime }) =>
      payoutState === 'scheduled' && releaseTime !== undefined && releaseTime <= now,
  )
  if (due.length === 0) return undefined
  for (const payee of due) {
    sendPayout(draft, payee)
    // Fees took all of it: there is nothing for the back end to move.
    if (payee.netMinor === 0n) {
      movePayout(draft, payee, 'complete')
      noticePayee(draft, 'payout_completed', payee)
    }
  }
  return draft.notices.length > 0
    ? finish(draft, 'PAYOUT_COMPLETED', 'none')
    : finishSilently(draft)
}

/** Sends a payout, with a task to call the back end unless fees took all of it. */
export function sendPayout(draft: Draft, payee: Payee): void {
  const { payeeId, netMinor: amountMinor } = payee
  movePayout(draft, payee, 'send')
  if (amountMinor === 0n) return
  settle(draft, { kind: 'payout', payeeId, amountMinor })
  draft.tasks.push({ subjectId: payeeId, kind: 'payout' })
}

/**
 * Records the outcome of a payout; undefined when it has one. CHARGE_NOT_FOUND for a payout that was not sent.
 */
export function applyPayoutReport(
  payment: Payment,
  { payeeId, outcome }: { payeeId: string; outcome: TransferOutcome },
  now: Date,
): Transition | undefined {
  const draft = begin(payment, now)
  const payee = draft.payment.payees.find((one) => one.payeeId === payeeId)
  if (payee?.payoutState === 'completed' || payee?.payoutState === 'failed') return undefined
  if (payee?.payoutState !== 'sent') {
    throw new Failure('CHARGE_NOT_FOUND', 'there is no such payout')
  }
  if (outcome === 'completed') {
    movePayout(draft, payee, 'complete')
    noticePayee(draft, 'payout_completed', payee)
    return finish(draft, 'PAYOUT_COMPLETED', 'none')
  }
  movePayout(draft, payee, 'fail')
  const { recoveryId, netMinor: amountMinor } = payee
  settle(draft, {
    kind: 'payout_returned',
    payeeId,
    // The merchant does not owe money that never left.
    ...(recoveryId === undefined
      ? {}
      : { reversesId: recoveryId, reversesKind: 'payout_recovery' }),
    amountMinor,
  })
  noticePayee(draft, 'payout_failed', payee)
  return finish(draft, 'PAYOUT_FAILED', 'none')
}
