// Processes the back end's reports about money; each report counts once.
import { Failure } from '#core/errors/errors.ts'
import type { PayerState, PaymentMethod, PayoutState, RefusalReason } from '#core/payment/words.ts'
import { checkReporter, type Reporter } from '#platform/rpc/auth/reporter.ts'
import { type AttemptOutcome, applyReport } from '../domain/charge-report.ts'
import type { Decision, Found } from '../domain/decision.ts'
import { applyPayoutReport, type TransferOutcome } from '../domain/payout.ts'
import { recordReturnedRefund } from '../domain/request-end.ts'
import { change } from './change.ts'
import type { PaymentContext } from './payments.ts'

/** The outcome of an attempt of a payer. */
export type AttemptReport = {
  attemptId: string
  outcome: AttemptOutcome
  paymentMethod: PaymentMethod | undefined
  /** Why it was refused, if the back end says so. */
  refusalReason?: RefusalReason | undefined
}

/**
 * Processes the outcome of an attempt, from any source; returns the payer's state after it. CHARGE_NOT_FOUND for a charge
 * that was never announced.
 */
export async function reportCharge(
  context: PaymentContext,
  chargeId: string,
  report: AttemptReport,
  reporter?: Reporter,
): Promise<PayerState> {
  const payerId = chargeId.toLowerCase()
  const isThis = (payer: { payerId: string }) => payer.payerId === payerId
  const { payment } = await change(context, {
    target: { payerId },
    attempt: { payerId, attemptId: report.attemptId },
    absent: () => unknown('charge'),
    decide(found) {
      const { connector = null } = found.payment.payers.find(isThis) ?? {}
      checkConnector(context, reporter, { kind: 'charge', connector })
      return decideOnReport(found, payerId, report)
    },
  })
  const state = payment.payers.find(isThis)?.state
  if (state === undefined) throw new Error('the payment has no such payer')
  return state
}

function decideOnReport(
  { payment, now, reported }: Found,
  payerId: string,
  report: AttemptReport,
): Decision {
  const { attemptId, outcome, refusalReason } = report
  const payer = payment.payers.find((one) => one.payerId === payerId)
  if (payer === undefined || !payer.hasLink) throw unknown('charge')
  if (reported.includes(outcome)) return {}
  // `unknown` comes from our own enquiry and is final: it is not stored as a report, and earlier reports do not matter.
  const isReport = outcome !== 'unknown'
  const earlier = isReport ? [...reported] : []
  return {
    report: isReport ? { payerId, attemptId, outcome, refusalReason, time: now } : undefined,
    ends: outcome === 'processing' ? undefined : { payerId, attemptId },
    transition: applyReport(payment, { payerId, earlier, ...report }, now),
  }
}

/** Processes the outcome of a payout. CHARGE_NOT_FOUND for one that was never handed over. */
export async function reportPayout(
  context: PaymentContext,
  payoutId: string,
  outcome: TransferOutcome,
  reporter?: Reporter,
): Promise<PayoutState> {
  const payeeId = payoutId.toLowerCase()
  const isThis = (payee: { payeeId: string }) => payee.payeeId === payeeId
  const { payment } = await change(context, {
    target: { payeeId },
    absent: () => unknown('payout'),
    decide({ payment, now }) {
      const { connector = null } = payment.payees.find(isThis) ?? {}
      checkConnector(context, reporter, { kind: 'payout', connector })
      return { transition: applyPayoutReport(payment, { payeeId, outcome }, now) }
    },
  })
  const state = payment.payees.find(isThis)?.payoutState
  if (state === undefined) throw new Error('the payment has no such payee')
  return state
}

/** Outcome of a refund. `returned`: it was completed, and the payer's bank has sent the money back. */
export type RefundOutcome = TransferOutcome | 'returned'

/**
 * Processes the outcome of a refund. If the back end refuses it permanently, or the money comes back, records that the money is with
 * us again and counts the failure, because an operator has to act. CHARGE_NOT_FOUND for an unknown refund.
 */
export async function reportRefund(
  context: PaymentContext,
  refundId: string,
  outcome: RefundOutcome,
  reporter?: Reporter,
): Promise<void> {
  const { decision } = await change(context, {
    target: { refundId },
    absent: () => unknown('refund'),
    decide: ({ payment, now, refund }) => {
      if (refund === undefined) throw unknown('refund')
      const payer = payment.payers.find(({ payerId }) => payerId === refund.payerId)
      checkConnector(context, reporter, { kind: 'refund', connector: payer?.connector ?? null })
      const isNew =
        refund.state === 'sent' || (refund.state === 'completed' && outcome === 'returned')
      if (!isNew) return {}
      const isDone = outcome === 'completed'
      return {
        refunded: {
          refundId: refund.refundId,
          outcome: isDone ? 'completed' : 'failed',
          time: now,
        },
        transition: isDone ? undefined : recordReturnedRefund(payment, refund, now),
      }
    },
  })
  if (decision.transition === undefined) return
  context.metrics.refundFailed()
  const isReturned = outcome === 'returned'
  context.log.error(
    { refundId },
    isReturned ? 'refund sent back after it was completed' : 'refund refused by the back end',
  )
}

/** Refuses a report about what another connector has, with the same error as an unknown id. */
function checkConnector(
  { routing, log }: PaymentContext,
  reporter: Reporter,
  { kind, connector }: { kind: string; connector: string | null },
): void {
  const owner = connector ?? routing().defaultConnector
  checkReporter(reporter, { kind, owner, unknown: () => unknown(kind) }, log)
}

function unknown(what: string): Failure {
  return new Failure('CHARGE_NOT_FOUND', `there is no such ${what}`)
}
