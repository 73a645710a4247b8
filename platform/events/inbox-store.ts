// Every statement on the inbox and its dead letters.
import { type Queryable, sql } from '#platform/db/db.ts'

const takeStatement = sql(
  'inbox_take',
  `insert into inbox (event_id)
   select event_id from unnest($1::uuid[]) as t(event_id) order by event_id
   on conflict (event_id) do nothing
   returning event_id`,
)

/**
 * Claims the events for this transaction and returns the ids of those that are new. Inserts in id order, so that two
 * transactions with the same events wait for each other and never deadlock. Rejects as a Queryable does.
 */
export async function claimNewEvents(tx: Queryable, eventIds: string[]): Promise<Set<string>> {
  const rows = await tx.rows<{ event_id: string }>(takeStatement, [eventIds])
  return new Set(rows.map((row) => row.event_id))
}

const seenStatement = sql(
  'inbox_seen',
  `select event_id, 'seen' as state from inbox where event_id = any($1::uuid[])
   union all
   select event_id, 'poisoned' from poison
   where event_id = any($1::uuid[])
     and not exists (select 1 from inbox where inbox.event_id = poison.event_id)`,
)

/** Returns those of the events that were processed or dead-lettered. Locks nothing. Rejects as a Queryable does. */
export async function findProcessed(
  db: Queryable,
  eventIds: string[],
): Promise<{ eventId: string; state: 'seen' | 'poisoned' }[]> {
  const rows = await db.rows<{ event_id: string; state: 'seen' | 'poisoned' }>(seenStatement, [
    eventIds,
  ])
  return rows.map((row) => ({ eventId: row.event_id, state: row.state }))
}

const storeDeadLetterStatement = sql(
  'inbox_poison',
  `insert into poison (event_id, subject, message, reason) values ($1, $2, $3, $4)
   on conflict (event_id) where event_id is not null do nothing`,
)

/** A message that can never be processed; `reason` has at most 500 characters. */
export type DeadLetter = {
  eventId: string | undefined
  subject: string
  message: Uint8Array
  reason: string
}

/** Stores a dead letter for an operator; one that exists stays as it is. Rejects as a Queryable does. */
export async function storeDeadLetter(db: Queryable, letter: DeadLetter): Promise<void> {
  const { eventId, subject, message, reason } = letter
  await db.run(storeDeadLetterStatement, [eventId ?? null, subject, message, reason])
}

const deleteStatement = sql(
  'inbox_delete_old',
  `delete from inbox using (
     select event_id from inbox where taken_at < clock_now() - interval '30 days'
     order by taken_at limit $1
   ) as old
   where inbox.event_id = old.event_id`,
)

/**
 * Deletes up to `limit` rows taken 30 days ago, long after the stream (7 days) has dropped their messages; returns how
 * many. Rejects as a Queryable does.
 */
export function deleteProcessed(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteStatement, [limit])
}

const countDeadLettersStatement = sql(
  'inbox_count_poison',
  'select count(*)::integer as n from poison',
)

/** The number of dead letters of the inbox. Rejects as a Queryable does. */
export async function countDeadLetters(db: Queryable): Promise<number> {
  return (await db.row<{ n: number }>(countDeadLettersStatement, []))?.n ?? 0
}
