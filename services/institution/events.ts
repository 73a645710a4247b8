// The facts that the institution service tells the mesh; it must not decide when to tell.
import { create, toBinary } from '@bufbuild/protobuf'
import { newId } from '#core/id.ts'
import {
  TransactionEventSchema,
  TransactionTransition,
} from '#gen/institution/v1/transaction_event_pb.js'
import type { OutboxEvent } from '#runtime/events/outbox.ts'
import { currentContext } from '#runtime/rpc/context.ts'
import { type Shown, transactionMessage } from './messages.ts'
import type { ShownState } from './transaction.ts'

/** Lifecycle events of transactions: news, which ends when the broker has it. */
export const transactionSubject = 'pw.institution.transaction'

const transitions = {
  pending: TransactionTransition.ACCEPTED,
  completed: TransactionTransition.COMPLETED,
  failed: TransactionTransition.FAILED,
  cancelled: TransactionTransition.CANCELLED,
} as const satisfies Record<ShownState, TransactionTransition>

/** The event of the transition that led to the transaction's state, with the trace of the call that caused it. */
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
