// The events that the institution service publishes.
import { create, toBinary } from '@bufbuild/protobuf'
import { newId } from '#core/identity/id.ts'
import {
  TransactionEventSchema,
  TransactionTransition,
} from '#gen/payweave/institution/v1/transaction_event_pb.js'
import type { OutboxEvent } from '#platform/events/outbox.ts'
import { currentContext } from '#platform/rpc/context.ts'
import type { ShownState } from '../domain/transaction.ts'
import { type Shown, transactionMessage } from './messages.ts'

/** Lifecycle events of transactions. They have no consumers, so they end when the broker has acknowledged them. */
export const transactionSubject = 'pw.institution.transaction'

const transitions = {
  pending: TransactionTransition.ACCEPTED,
  completed: TransactionTransition.COMPLETED,
  failed: TransactionTransition.FAILED,
  cancelled: TransactionTransition.CANCELLED,
} as const satisfies Record<ShownState, TransactionTransition>

/**
 * The event of the transition that led to the transaction's state, with the trace and the request id of the current
 * call.
 */
export function transactionEvent(row: Shown): OutboxEvent {
  const context = currentContext()
  const event = create(TransactionEventSchema, {
    transition: transitions[row.state],
    transaction: transactionMessage(row),
  })
  return {
    eventId: newId(),
    subject: transactionSubject,
    projectId: row.projectId,
    payload: toBinary(TransactionEventSchema, event),
    traceparent: context?.traceparent,
    requestId: context?.requestId,
  }
}
