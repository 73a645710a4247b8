// Decides how requests end: cancelled, expired, failed, refunded. Pure.
import { Failure } from '#core/errors/errors.ts'
import type { NoticeKind } from '#core/payment/words.ts'
import { isOpen, type Payment } from './payment.ts'
import {
  begin,
  type Draft,
  finish,
  finishSilently,
  movePayer,
  movePayment,
  movePayout,
  noticePayer,
  type Refund,
  refundPayer,
  settle,
  type Transition,
} from './transition.ts'

/**
 * Cancels a pending request without an attempt in progress. Undefined when it is cancelled already;
 * PAYMENT_NOT_CANCELLABLE in every other state.
 */
export function cancel(payment: Payment, now: Date): Transition | undefined {
  if (payment.state === 'Cancelled') return undefined
  const isUntouched = payment.payers.every((payer) => payer.state === 'Pending')
  if (payment.state !== 'Pending' || !isUntouched) {
    throw notCancellable()
  }
  const draft = begin(payment, now)
  movePayment(draft, 'cancel')
  endPayers(draft, 'cancel', 'payment_cancelled')
  return finish(draft, 'CANCELLED', 'callback')
}

function notCancellable(): Failure {
  return new Failure('PAYMENT_NOT_CANCELLABLE', 'the payment cannot be cancelled any more')
}

/** Whether the only payer of a request may cancel it: one of several must not end it for the others. */
export function isCancellableByPayer({ state, payers }: Payment): boolean {
  return state === 'Pending' && payers.length === 1 && payers[0]?.state === 'Pending'
}

/** Cancels as `cancel` does, on behalf of a payer; PAYMENT_NOT_CANCELLABLE also when there are several. */
export function cancelByPayer(payment: Payment, now: Date): Transition | undefined {
  if (payment.state === 'Pending' && !isCancellableByPayer(payment)) throw notCancellable()
  return cancel(payment, now)
}

/** Ends an open request of which a pending payer's time ran out; undefined when none did. */
export function expire(payment: Payment, now: Date): Transition | undefined {
  const isDue = payment.payers.some((payer) => payer.state === 'Pending' && payer.expireTime <= now)
  if (!isOpen(payment) || !isDue) return undefined
  const draft = begin(payment, now)
  movePayment(draft, 'expire')
  endPayers(draft, 'expire', 'payment_expired')
  return finish(draft, 'EXPIRED', 'callback')
}

/** Fails an open request of which a payer has used up the attempts. */
export function failRequest(draft: Draft): Transition {
  movePayment(draft, 'fail')
  endPayers(draft, 'fail', 'payment_failed')
  return finish(draft, 'FAILED', 'callback')
}

/**
 * Ends every payer with the request. A pending payer gets the state of the request, a paid one a refund. A payer who is paying keeps
 * Processing until the outcome of the attempt is known. Unpaid charges are withdrawn from the back end.
 */
function endPayers(draft: Draft, step: 'cancel' | 'expire' | 'fail', notice: NoticeKind): void {
  for (const payer of draft.payment.payers) {
    if (payer.state === 'paid') {
      refundPayer(draft, payer)
      noticePayer(draft, 'payment_refunded', payer)
      continue
    }
    draft.tasks.push({
      subjectId: payer.payerId,
      kind: 'withdraw',
      reason: draft.payment.state,
    })
    if (payer.state === 'Pending') movePayer(draft, payer, step)
    if (payer.state !== 'Processing') noticePayer(draft, notice, payer)
  }
}

/**
 * Refunds a paid request: every payer gets the whole charge back, payouts that are not sent are voided, and the merchant
 * owes the payouts that were sent. Undefined when it is refunded already;
 * PAYMENT_NOT_REFUNDABLE in every other state.
 */
export function refund(payment: Payment, now: Date): Transition | undefined {
  if (payment.state === 'Refunded') return undefined
  if (payment.state !== 'paid') {
    throw new Failure('PAYMENT_NOT_REFUNDABLE', 'only a paid payment can be refunded')
  }
  const draft = begin(payment, now)
  movePayment(draft, 'refund')
  for (const payer of draft.payment.payers) {
    refundPayer(draft, payer)
    noticePayer(draft, 'payment_refunded', payer)
  }
  recoverPayouts(draft)
  const fees = feeMovements(draft.payment)
  settle(draft, { kind: 'fee_returned', amountMinor: fees.withheldMinor })
  settle(draft, { kind: 'merchant_fee_returned', amountMinor: fees.billedMinor })
  return finish(draft, 'REFUNDED', 'callback')
}

function recoverPayouts(draft: Draft): void {
  for (const payee of draft.payment.payees) {
    if (payee.payoutState === 'scheduled') movePayout(draft, payee, 'void')
    if (payee.payoutState === 'sent' || payee.payoutState === 'completed') {
      payee.recoveryId = settle(draft, {
        kind: 'payout_recovery',
        payeeId: payee.payeeId,
        amountMinor: payee.netMinor,
      })
    }
  }
}

/** The back end finally refused a refund, or the payer's bank sent it back: its money is with us again, and an operator must act. */
export function recordReturnedRefund(payment: Payment, refund: Refund, now: Date): Transition {
  const draft = begin(payment, now)
  settle(draft, {
    kind: 'refund_returned',
    payerId: refund.payerId,
    reversesId: refund.refundId,
    reversesKind: 'refund',
    amountMinor: refund.amountMinor,
  })
  return finishSilently(draft)
}

/** The fees of a paid request: the part that is withheld from the money received, and the part that the merchant is billed for. */
export function feeMovements({ payees, fees, amountMinor }: Payment): {
  withheldMinor: bigint
  billedMinor: bigint
} {
  const paidOutMinor = payees.reduce((sum, payee) => sum + payee.netMinor, 0n)
  const withheldMinor = amountMinor + fees.payerPaysMinor - paidOutMinor
  return { withheldMinor, billedMinor: fees.totalMinor - withheldMinor }
}
