// Serves payweave.events.v1.InboxService, the same for every consumer.
import type { ConnectRouter } from '@connectrpc/connect'
import { InboxService, InboxState } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { findProcessed } from './inbox-store.ts'

/** Adds InboxService to a router; it answers from the inbox and the dead letters of this schema. */
export function inboxRoutes(router: ConnectRouter, db: Database): void {
  router.service(InboxService, { seen: ({ eventIds }) => answerSeen(db, eventIds) })
}

/** The answer of the Seen RPC: unknown events are left out. Rejects as a Queryable does. */
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
