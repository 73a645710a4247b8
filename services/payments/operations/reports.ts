// Processes the back end's reports about money; each report counts once.
import { Failure } from '#core/errors/errors.ts'
import type { PayerState, PaymentMethod, PayoutState } from '#core/payment/words.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type AttemptOutcome, applyReport } from '../domain/charge-report.ts'
import { applyPayoutReport, type TransferOutcome } from '../domain/payout.ts'
import { recordReturnedRefund } from '../domain/request-end.ts'
import { closeAttempt, keepReport } from '../store/attempt-store.ts'
import { type PayerPlace, placeOfPayee, placeOfPayer } from '../store/payment-store.ts'
import { endRefund, findRefund } from '../store/refund-store.ts'
import { change, type PaymentContext } from './payments.ts'

/** What became of an attempt of a payer. */
export type AttemptReport = {
  attemptId: string
  outcome: AttemptOutcome
  paymentMethod: PaymentMethod | undefined
}

/** Processes a report of the back end. CHARGE_NOT_FOUND for a charge that was never announced. */
export async function reportCharge(
  payments: PaymentContext,
  payerId: string,
  report: AttemptReport,
): Promise<PayerState> {
  const place = await placeOfPayer(payments.db, payerId)
  if (place === undefined) throw unknown('charge')
  return takeReport(payments, place, report)
}

/** Processes the outcome of an attempt, from any source; returns the payer's state after it. */
export async function takeReport(
  payments: PaymentContext,
  place: PayerPlace,
  report: AttemptReport,
): Promise<PayerState> {
  const { payerId } = place
  const payment = await change(payments, place, async (locked, now, tx) => {
    const payer = locked.payers.find((one) => one.payerId === payerId)
    if (payer === undefined || !payer.hasLink) throw unknown('charge')
    const earlier = await noteOutcome(tx, payerId, report)
    if (earlier === undefined) return undefined
    return applyReport(locked, { payerId, earlier, ...report }, now)
  })
  const state = payment.payers.find((payer) => payer.payerId === payerId)?.state
  if (state === undefined) throw new Error('the payment has no such payer')
  return state
}

/** What was reported of the attempt before; undefined when this very report was. */
async function noteOutcome(
  tx: Queryable,
  payerId: string,
  { attemptId, outcome }: AttemptReport,
): Promise<AttemptOutcome[] | undefined> {
  if (outcome !== 'unknown') return keepReport(tx, { payerId, attemptId, outcome })
  // That an attempt is unknown is no report of the back end, and is true for ever.
  await closeAttempt(tx, attemptId, payerId)
  return []
}

/** Processes the outcome of a payout. CHARGE_NOT_FOUND for one that was never handed over. */
export async function reportPayout(
  payments: PaymentContext,
  payeeId: string,
  outcome: TransferOutcome,
): Promise<PayoutState> {
  const place = await placeOfPayee(payments.db, payeeId)
  if (place === undefined) throw unknown('payout')
  const payment = await change(payments, place, (locked, now) =>
    applyPayoutReport(locked, { payeeId, outcome }, now),
  )
  const state = payment.payees.find((payee) => payee.payeeId === payeeId)?.payoutState
  if (state === undefined) throw new Error('the payment has no such payee')
  return state
}

/**
 * Processes the outcome of a refund. One that the back end refuses permanently needs an operator: the money is
 * noted as returned to us and the failure is counted. CHARGE_NOT_FOUND for an unknown refund.
 */
export async function reportRefund(
  payments: PaymentContext,
  refundId: string,
  outcome: TransferOutcome,
): Promise<void> {
  const refund = await findRefund(payments.db, refundId)
  if (refund === undefined) throw unknown('refund')
  if (outcome === 'completed') {
    await endRefund(payments.db, refundId, outcome)
    return
  }
  let failed = false
  await change(payments, refund, async (payment, now, tx) => {
    failed = await endRefund(tx, refundId, outcome)
    return failed ? recordReturnedRefund(payment, refund, now) : undefined
  })
  if (!failed) return
  payments.metrics.refundFailed()
  payments.log.error({ refundId }, 'refund refused by the back end')
}

function unknown(what: string): Failure {
  return new Failure('CHARGE_NOT_FOUND', `there is no such ${what}`)
}
