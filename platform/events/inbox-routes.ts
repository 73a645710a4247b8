// Serves payweave.events.v1.InboxService, the same for every consumer.
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect'
import { InboxService, InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import type { EventConsumer } from './inbox.ts'
import { findProcessed } from './inbox-store.ts'

/** Adds InboxService to a router. Without a consumer it processes nothing by RPC, as in earlier releases. */
export function inboxRoutes(
  router: ConnectRouter,
  db: Database,
  consumer?: Pick<EventConsumer, 'process'>,
): void {
  const { seen, processEvents } = inboxService(db, consumer)
  router.service(InboxService, consumer === undefined ? { seen } : { seen, processEvents })
}

/** The handlers of InboxService, which answer from the inbox and the dead letters of this schema. */
export function inboxService(
  db: Database,
  consumer: Pick<EventConsumer, 'process'> | undefined,
): ServiceImpl<typeof InboxService> {
  return {
    seen: ({ eventIds }) => answerSeen(db, eventIds),
    async processEvents({ events }, { signal }) {
      await consumer?.process(events, signal)
      const eventIds = events.map(({ eventId }) => eventId)
      return answerSeen(db, eventIds)
    },
  }
}

/** Finds which events the consumer has: unknown ones are left out. Rejects as a Queryable does. */
export async function answerSeen(
  db: Database,
  eventIds: string[],
): Promise<{ known: { eventId: string; state: InboxState }[] }> {
  const known = await findProcessed(db, eventIds)
  return {
    known: known.map(({ eventId, state }) => ({
      eventId,
      state: state === 'seen' ? InboxState.SEEN : InboxState.POISONED,
    })),
  }
}
