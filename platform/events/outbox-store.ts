// Statements that write, claim and delete outbox rows. Does not publish: no network call runs here.
import { asyncCommit } from '#platform/db/async-commit.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** An event, to be written in the transaction of the change that it announces. */
export type OutboxEvent = {
  /** UUID v7: random ids would each touch another page of the large indexes of outbox, confirmations and inbox. */
  eventId: string
  subject: string
  projectId: string | undefined
  /** Serialized domain message, at most 512 KiB. */
  payload: Uint8Array
  traceparent?: string | undefined
  requestId?: string | undefined
}

/** A row that is being published. */
export type ClaimedEvent = {
  event_id: string
  subject: string
  project_id: string | null
  payload: Uint8Array
  occurred_at: Date
  traceparent: string | null
  request_id: string | null
  attempts: number
}

/** Columns that a writer sets, for an `insert into outbox (…)` within a larger statement. */
export const outboxColumns = 'event_id, subject, project_id, payload, traceparent, request_id'

/** Typed parameters for the columns of `outboxColumns`, the first of them `$first`. */
export function outboxParameters(first: number): string {
  const types = ['uuid', 'text', 'uuid', 'bytea', 'text', 'text']
  return types.map((type, index) => `$${first + index}::${type}`).join(', ')
}

/**
 * How long a row that is inserted with `next_at` at `leasedUntil` is leased to the process that inserts it, which
 * publishes it without a claim. When the lease expires, any process claims the row.
 */
export const directLeaseMs = 10_000

/** The end of the writer's lease on an event that it inserts. */
export const leasedUntil = `clock_now() + interval '${directLeaseMs} ms'`

/** Values for the parameters of `outboxParameters`, in their order. */
export function outboxValues(event: OutboxEvent): unknown[] {
  return [
    event.eventId,
    event.subject,
    event.projectId ?? null,
    event.payload,
    event.traceparent ?? null,
    event.requestId ?? null,
  ]
}

const insertStatement = sql(
  'outbox_insert',
  `insert into outbox (${outboxColumns}) values (${outboxParameters(1)})`,
)

/**
 * Writes the event in the transaction of its change. Locks nothing else. Notify the outbox after the commit. Rejects as
 * a Queryable does; an event id that exists is a unique violation.
 */
export async function insertEvent(tx: Queryable, event: OutboxEvent): Promise<void> {
  await tx.run(insertStatement, outboxValues(event))
}

// The records of publisher and confirmer commit asynchronously: an event whose record was lost is claimed, published or asked about once
// more, and the inbox deduplicates it.
const claimStatement = sql(
  'outbox_claim',
  `with ${asyncCommit}, fresh as (
     select event_id from outbox
     where published_at is null and confirmed_at is null and parked_at is null
       and next_at <= clock_now() and ($4::text[] is null or subject = any($4))
     order by next_at limit $1 for update skip locked
   ), again as (
     select event_id from outbox
     where published_at is not null and confirmed_at is null and parked_at is null
       and next_at <= clock_now() and ($4::text[] is null or subject = any($4))
     order by next_at limit $2 for update skip locked
   ), due as (
     select event_id from fresh union all select event_id from again
   )
   update outbox set next_at = clock_now() + $3 * interval '1 millisecond'
   from due, async_commit where outbox.event_id = due.event_id and async_commit.commits = 'off'
   returning outbox.event_id, subject, project_id, payload, occurred_at, traceparent, request_id,
     attempts`,
)

/** Maximum rows of a claim, of those never published (`fresh`) and of those to publish again, and its lease. */
export type ClaimLimits = {
  fresh: number
  again: number
  leaseMs: number
  /** Only events of these subjects. */
  subjects?: readonly string[] | undefined
}

/** Claims due rows for `leaseMs`; rows that another transaction has locked are skipped. Rejects as a Queryable does. */
export function claimDue(db: Queryable, limits: ClaimLimits): Promise<ClaimedEvent[]> {
  const { fresh, again, leaseMs, subjects = null } = limits
  return db.rows(claimStatement, [fresh, again, leaseMs, subjects])
}

const markStatement = sql(
  'outbox_mark_published',
  `with ${asyncCommit}, acknowledged as (
     select o.event_id, a.ends
     from outbox o
     join unnest((select $1::uuid[]), $2::integer[], $3::boolean[]) as a(event_id, attempts, ends)
       on a.event_id = o.event_id and a.attempts = o.attempts
     where o.confirmed_at is null
     order by o.event_id for update of o
   )
   update outbox set
     published_at = clock_now(),
     attempts = attempts + 1,
     next_at = clock_now() + least(interval '60 s', interval '3 s' * power(2, least(attempts, 5))),
     confirmed_at = case when acknowledged.ends and parked_at is null then clock_now() end,
     last_error = case when parked_at is null then null else last_error end
   from acknowledged, async_commit
   where outbox.event_id = acknowledged.event_id and async_commit.commits = 'off'`,
)

/** A publication that the broker acknowledged; `ends` when the subject has no consumer that must confirm. */
export type Acknowledged = { eventId: string; attempts: number; ends: boolean }

/**
 * Records publications, and when each is published again unless a consumer confirms it: after 3 s, doubling to 60 s.
 * Locks the rows in id order; skips a row that another process has recorded meanwhile. Rejects as a Queryable does.
 */
export async function markPublished(db: Queryable, published: Acknowledged[]): Promise<void> {
  await db.run(markStatement, [
    published.map((event) => event.eventId),
    published.map((event) => event.attempts),
    published.map((event) => event.ends),
  ])
}

/**
 * Condition for an event that has not ended, in a statement that has the ids of its events. Written with two `is null`
 * it would match a partial index, and the server would compare every event that has not ended with every id.
 */
export const pendingRows = 'coalesce(confirmed_at, parked_at) is null'

const endStatement = sql(
  'outbox_confirm_direct',
  `with ${asyncCommit}
   update outbox set published_at = clock_now(), attempts = attempts + 1, confirmed_at = clock_now()
   from async_commit
   where outbox.event_id = any($1::uuid[]) and ${pendingRows} and async_commit.commits = 'off'`,
)

/**
 * Ends published events that all their consumers have processed; returns the number of rows that it ended. Rejects as a
 * Queryable does.
 */
export function confirmDirect(db: Queryable, eventIds: string[]): Promise<number> {
  return db.run(endStatement, [eventIds.toSorted()])
}

const failStatement = sql(
  'outbox_mark_failed',
  `with refused as (
     select event_id, ($2::text[])[array_position($1::uuid[], event_id)] as error from outbox
     where event_id = any($1::uuid[]) and ${pendingRows}
     order by event_id for update
   )
   update outbox set last_error = refused.error,
     next_at = clock_now() + $3 * interval '1 millisecond'
   from refused where outbox.event_id = refused.event_id`,
)

/**
 * Notes why publications failed; they are due again after `delayMs`. Locks the rows in id order. Rejects as a Queryable
 * does.
 */
export async function markFailed(
  db: Queryable,
  failed: { eventId: string; error: string }[],
  delayMs: number,
): Promise<void> {
  await db.run(failStatement, [
    failed.map((event) => event.eventId),
    failed.map((event) => event.error),
    delayMs,
  ])
}

const deleteStatement = sql(
  'outbox_delete_confirmed',
  `with old as (
     select event_id from outbox where confirmed_at < clock_now() - interval '7 days'
     order by confirmed_at limit $1 for update skip locked
   ), answers as (
     delete from confirmation using old where confirmation.event_id = old.event_id
   )
   delete from outbox using old where outbox.event_id = old.event_id`,
)

/**
 * Deletes up to `limit` events confirmed a week ago, with their confirmations; returns how many. Dead letters stay.
 * Rejects as a Queryable does.
 */
export function deleteConfirmed(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteStatement, [limit])
}

const oldestStatement = sql(
  'outbox_oldest',
  `select extract(epoch from business_now() - min(occurred_at))::float8 as age_s from outbox
   where confirmed_at is null and parked_at is null`,
)

/** Age in seconds of the oldest event that has not ended; 0 when there is none. Rejects as a Queryable does. */
export async function oldestPendingS(db: Queryable): Promise<number> {
  return (await db.row<{ age_s: number | null }>(oldestStatement, []))?.age_s ?? 0
}

const countOpenStatement = sql(
  'outbox_count_unconfirmed',
  'select count(*)::integer as n from outbox where confirmed_at is null and parked_at is null',
)

/** The number of events that not every consumer has confirmed, without dead letters. Rejects as a Queryable does. */
export async function countUnconfirmed(db: Queryable): Promise<number> {
  return (await db.row<{ n: number }>(countOpenStatement, []))?.n ?? 0
}

const countDeadLetteredStatement = sql(
  'outbox_count_parked',
  'select count(*)::integer as n from outbox where parked_at is not null',
)

/** The number of dead letters of the outbox, which wait for people. Rejects as a Queryable does. */
export async function countDeadLettered(db: Queryable): Promise<number> {
  return (await db.row<{ n: number }>(countDeadLetteredStatement, []))?.n ?? 0
}
