// Refunds that people request: above the limit of the currency, a second person approves them.
import { Failure } from '#core/errors/errors.ts'
import type { Approval } from '#platform/approvals/approval-store.ts'
import { currentActor, type Execute, requestApproval } from '#platform/approvals/approvals.ts'
import type { Payment } from '../domain/payment.ts'
import { refund } from '../domain/request-end.ts'
import { changeWithin } from './change.ts'
import {
  getPayment,
  notFound,
  type PaymentContext,
  type PaymentKey,
  refundPayment,
  refundReason,
} from './payments.ts'

/**
 * Refunds a payment as `refundPayment` does or, above the limit, requests it for a second person; rejects with APPROVAL_OPEN
 * when somebody else has requested it.
 */
export async function refundByHand(
  context: PaymentContext,
  key: PaymentKey,
  reason: string,
): Promise<{ payment: Payment; approval?: Approval }> {
  const payment = await getPayment(context, key)
  const { projectId, paymentId, amountMinor, currency } = payment
  const limitMinor = context.settings.refundApprovalAboveMinor[currency]
  if (limitMinor === undefined || amountMinor <= limitMinor) {
    return { payment: await refundPayment(context, key, reason) }
  }
  // The payment must be refundable at the time of the request, so that a payment that is paid later is not refunded by this call.
  if (refund(payment, payment.updateTime) === undefined) return { payment }
  const subject = { projectId, subjectId: paymentId, outcome: '' }
  const wanted = { ...subject, amountMinor, currency, note: reason }
  const { approval } = await context.db.transaction((tx) =>
    requestApproval(tx, currentActor(), wanted),
  )
  return { payment, approval }
}

/** Makes the function that executes an approved refund. It rejects with PAYMENT_NOT_REFUNDABLE, also when the payment is refunded already. */
export function executeRefund(context: PaymentContext): Execute {
  return async ({ projectId, subjectId: paymentId, note }, _, within) => {
    const key = { projectId, paymentId }
    await changeWithin(context, within, {
      target: key,
      absent: notFound,
      decide({ payment, now }) {
        const transition = refund(payment, now)
        if (transition === undefined) {
          throw new Failure('PAYMENT_NOT_REFUNDABLE', 'the payment is refunded already')
        }
        return { transition, reason: refundReason(key, note) }
      },
    })
  }
}
