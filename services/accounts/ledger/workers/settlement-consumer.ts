// Consumes the events of payments that moved money, and posts their settlements.
import { fromBinary } from '@bufbuild/protobuf'
import type { Counter, Registry } from 'prom-client'
import type { Event } from '#gen/payweave/events/v1/events_pb.js'
import { PaymentEventSchema } from '#gen/payweave/payments/v1/payment_event_pb.js'
import type { Settlement } from '#gen/payweave/payments/v1/settlement_pb.js'
import type { Database, Queryable } from '#platform/db/db.ts'
import { type EventConsumer, startConsumer, UnprocessableEvent } from '#platform/events/inbox.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { postSettlements, UnpostableSettlement } from '../operations/settlement-posting.ts'

/** Events of payments in which money moved. */
export const settledSubject = 'pw.payments.settled'

/** Nobody waits for the posting of a payment's money: under load several payments are posted in one transaction. */
const spacingMs = 50

/** Starts to consume them. Each event is recorded in the inbox in the transaction of its transfers. */
export function startSettlementConsumer(options: {
  db: Database
  nats: Nats
  log: Logger
  metrics: Registry
  posted: Counter<'by'>
}): EventConsumer {
  const { posted, ...rest } = options
  return startConsumer({
    ...rest,
    durable: 'accounts',
    subjects: [settledSubject],
    spacingMs,
    handle: async (tx, events) => {
      posted.inc({ by: 'event' }, await postEvents(tx, events))
    },
  })
}

/** Posts the settlements of events; returns how many were new. Throws an UnprocessableEvent for an event that can never be posted. */
export async function postEvents(tx: Queryable, events: Event[]): Promise<number> {
  const eventIds = new Map<string, string>()
  const settlements: Settlement[] = []
  for (const event of events) {
    for (const settlement of settlementsOf(event)) {
      eventIds.set(settlement.settlementId.toLowerCase(), event.eventId)
      settlements.push(settlement)
    }
  }
  try {
    return await postSettlements(tx, settlements)
  } catch (error) {
    if (!(error instanceof UnpostableSettlement)) throw error
    throw new UnprocessableEvent(
      eventIds.get(error.settlementId.toLowerCase()) ?? '',
      error.message,
    )
  }
}

function settlementsOf(event: Event): Settlement[] {
  try {
    return fromBinary(PaymentEventSchema, event.payload).settlements
  } catch {
    throw new UnprocessableEvent(event.eventId, 'the payload cannot be read')
  }
}
