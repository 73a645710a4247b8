// The events that payments publishes.

import { newId } from '#core/identity/id.ts'
import type { CommittedEvent, InboxClient, Subjects } from '#platform/events/outbox.ts'
import { type CallContext, currentContext } from '#platform/rpc/context.ts'
import type { DraftPayment } from '../domain/new-payment.ts'
import type { Payment } from '../domain/payment.ts'
import type { StoredEvent } from '../domain/stored-event.ts'
import type { Fact, Settlement, Transition } from '../domain/transition.ts'
import { paymentEventBytes } from './messages.ts'
import { settlementMessage } from './settlement-messages.ts'

/** Lifecycle events of payment requests in which no money moved; delivery has to confirm each. */
const paymentSubject = 'pw.payments.event'

/**
 * Events that no push follows and no consumer has to confirm: the request has no URL for the push, or clients are not informed
 * of the transition (a payer began to pay). Delivery consumes `pw.payments.*`, and this subject does not match that pattern
 * because it has one more word.
 */
const unaddressedSubject = 'pw.payments.event.unaddressed'

/**
 * Events in which money moved, which the ledger has to confirm too. They have a subject of their own, so that the ledger
 * does not receive all other events.
 */
const settledSubject = 'pw.payments.settled'

/** The subjects of payments, each with the consumers that have to confirm its events. */
export function paymentSubjects(consumers: {
  delivery: InboxClient
  ledger: InboxClient
}): Subjects {
  const { delivery, ledger } = consumers
  return {
    [paymentSubject]: { consumers: { delivery } },
    [unaddressedSubject]: { consumers: {} },
    [settledSubject]: { consumers: { delivery, accounts: ledger } },
  }
}

/** The event that a payment was made, with the trace and the request id of the current call. */
export function creationEvent(payment: Payment | DraftPayment, fact: Fact): StoredEvent {
  return storedEvent(
    subjectOf(payment, fact, []),
    paymentEventBytes(payment, fact),
    currentContext(),
  )
}

/** The event of a transition, with the trace and the request id of the call that it serves; undefined when it needs none. */
export function transitionEvent(
  transition: Transition,
  call: CallContext | undefined,
): StoredEvent | undefined {
  const { payment, fact, settlements, now } = transition
  if (fact === undefined) return undefined
  const moved = settlements.map((one) => settlementMessage(one, payment, now))
  return storedEvent(
    subjectOf(payment, fact, settlements),
    paymentEventBytes(payment, fact, moved),
    call,
  )
}

/** The subject of an event, which decides who has to confirm it. */
function subjectOf(
  { urls }: Payment | DraftPayment,
  { notices, callbackSequence }: Fact,
  settlements: Settlement[],
): string {
  if (settlements.length > 0) return settledSubject
  const isPushed =
    (urls.notify !== '' && notices.length > 0) || (urls.callback !== '' && callbackSequence > 0)
  return isPushed ? paymentSubject : unaddressedSubject
}

/** An event whose row has been committed, in the form that the publisher takes. */
export function committedEvent(
  event: StoredEvent,
  projectId: string,
  occurredAt: Date,
): CommittedEvent {
  return { ...event, projectId, occurredAt }
}

function storedEvent(
  subject: string,
  payload: Uint8Array,
  call: CallContext | undefined,
): StoredEvent {
  return {
    eventId: newId(),
    subject,
    payload,
    traceparent: call?.traceparent,
    requestId: call?.requestId,
  }
}
