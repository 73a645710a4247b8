// The facts that payments tells the mesh; it must not decide when to tell.
import { randomId } from '#core/id.ts'
import { currentContext } from '#runtime/rpc/context.ts'
import { paymentEventBytes } from './messages.ts'
import type { DraftPayment } from './new-payment.ts'
import type { Payment } from './payment.ts'
import type { Fact } from './transition.ts'

/** Lifecycle events of payment requests; delivery has to confirm each. */
export const paymentSubject = 'pw.payments.event'

/** An event for the outbox. */
export type StoredEvent = {
  eventId: string
  subject: string
  payload: Uint8Array
  traceparent: string | undefined
  requestId: string | undefined
}

/** The event of a payment's transition, with the trace of the call that caused it. */
export function paymentEvent(payment: Payment | DraftPayment, fact: Fact): StoredEvent {
  const context = currentContext()
  return {
    eventId: randomId(),
    subject: paymentSubject,
    payload: paymentEventBytes(payment, fact),
    traceparent: context?.traceparent,
    requestId: context?.requestId,
  }
}
