// The facts that payments tells the mesh; it must not decide when to tell.
import { newId } from '#core/id.ts'
import type { EventInHand, SeenClient, Subjects } from '#runtime/events/outbox.ts'
import { currentContext } from '#runtime/rpc/context.ts'
import { paymentEventBytes } from './messages.ts'
import type { DraftPayment } from './new-payment.ts'
import type { Payment } from './payment.ts'
import { settlementMessage } from './settlement-messages.ts'
import type { Fact, Settlement, Transition } from './transition.ts'

/** Lifecycle events of payment requests in which no money moved; delivery has to confirm each. */
const paymentSubject = 'pw.payments.event'

/**
 * Those of requests without a URL for pushes: nobody has to confirm them. Delivery takes `pw.payments.*` in, which has a
 * word less and does not stand for it.
 */
const unaddressedSubject = 'pw.payments.event.unaddressed'

/** Those in which money moved: the ledger has to confirm them too. New requests cost it nothing that way. */
const settledSubject = 'pw.payments.settled'

/** Who has to confirm the events of payments. */
export function paymentSubjects(consumers: { delivery: SeenClient; ledger: SeenClient }): Subjects {
  const { delivery, ledger } = consumers
  return {
    [paymentSubject]: { consumers: { delivery } },
    [unaddressedSubject]: { consumers: {} },
    [settledSubject]: { consumers: { delivery, accounts: ledger } },
  }
}

/** An event for the outbox. */
export type StoredEvent = {
  eventId: string
  subject: string
  payload: Uint8Array
  traceparent: string | undefined
  requestId: string | undefined
}

/** The event that a payment was made, with the trace of the call that caused it. */
export function creationEvent(payment: Payment | DraftPayment, fact: Fact): StoredEvent {
  return storedEvent(subjectOf(payment, []), paymentEventBytes(payment, fact))
}

/** The event of a transition; undefined when nobody must hear of it. */
export function transitionEvent(transition: Transition): StoredEvent | undefined {
  const { payment, fact, settlements, now } = transition
  if (fact === undefined) return undefined
  const moved = settlements.map((one) => settlementMessage(one, payment, now))
  return storedEvent(subjectOf(payment, settlements), paymentEventBytes(payment, fact, moved))
}

/** Where an event goes, by who has to hear of it. The URLs of a request never change. */
function subjectOf({ urls }: Payment | DraftPayment, settlements: Settlement[]): string {
  if (settlements.length > 0) return settledSubject
  return urls.notify === '' && urls.callback === '' ? unaddressedSubject : paymentSubject
}

/** An event whose row has been committed. */
export function eventInHand(event: StoredEvent, projectId: string, occurredAt: Date): EventInHand {
  return { ...event, projectId, occurredAt }
}

function storedEvent(subject: string, payload: Uint8Array): StoredEvent {
  const context = currentContext()
  return {
    eventId: newId(),
    subject,
    payload,
    traceparent: context?.traceparent,
    requestId: context?.requestId,
  }
}
