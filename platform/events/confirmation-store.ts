// Statements that find the events that still lack confirmations, and record those that came.

import { asyncCommit } from '#platform/db/async-commit.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { pendingRows } from './outbox-store.ts'

const unansweredStatement = sql(
  'outbox_unanswered',
  `select o.event_id, o.next_at::text as next_at
   from outbox o
   where o.published_at is not null and o.confirmed_at is null and o.parked_at is null
     and (o.next_at, o.event_id) > ($3::text::timestamptz, $4::uuid)
     and o.subject = any($1::text[])
     and not exists (
       select 1 from confirmation c where c.event_id = o.event_id and c.consumer = $2
     )
   order by o.next_at, o.event_id limit $5`,
)

/** The cursor of a page of unanswered events. The time is text, since a Date would cut its microseconds. */
export type Unanswered = { event_id: string; next_at: string }

/** The cursor before every unanswered event. */
export const start: Unanswered = {
  event_id: '00000000-0000-0000-0000-000000000000',
  next_at: '-infinity',
}

/**
 * Published events that the consumer has not answered for, after a cursor in their order. Locks nothing. Rejects as a
 * Queryable does.
 */
export function unansweredBy(
  db: Queryable,
  consumer: { name: string; subjects: string[] },
  after: Unanswered,
  limit: number,
): Promise<Unanswered[]> {
  return db.rows(unansweredStatement, [
    consumer.subjects,
    consumer.name,
    after.next_at,
    after.event_id,
    limit,
  ])
}

const lockStatement = sql(
  'outbox_lock',
  'select event_id from outbox where event_id = any($1::uuid[]) order by event_id for update',
)

// `any` in place of a join with the ids: for the join the planner would read all open rows by their partial index and
// compare each with every id.
const answerStatement = sql(
  'outbox_note_answers',
  `with ${asyncCommit}, answer as (
     select event_id, case when event_id = any($2::uuid[]) then 'poisoned' else 'seen' end as state
     from unnest($1::uuid[]) as a(event_id)
   ), recorded as (
     insert into confirmation (event_id, consumer, state)
     select event_id, $3::text, state from answer
     on conflict (event_id, consumer) do update set state = excluded.state
   ), ended as (
     select o.event_id, o.event_id = any($2::uuid[]) or exists (
       select 1 from confirmation c
       where c.event_id = o.event_id and c.consumer <> $3::text and c.state = 'poisoned'
     ) as refused
     from outbox o
     where o.event_id = any($1::uuid[]) and ${pendingRows} and not exists (
       select 1 from unnest($4::text[], $5::text[]) as n(subject, consumer)
       where n.subject = o.subject and n.consumer <> $3::text and not exists (
         select 1 from confirmation c where c.event_id = o.event_id and c.consumer = n.consumer
       )
     )
   )
   update outbox set
     confirmed_at = case when not ended.refused then clock_now() end,
     parked_at = case when ended.refused then clock_now() end,
     last_error = case when ended.refused then 'rejected permanently by a consumer' end
   from ended, async_commit
   where outbox.event_id = ended.event_id and async_commit.commits = 'off'
   returning outbox.parked_at is not null as "isDeadLetter"`,
)

/** A consumer's answer about an event that it knows. */
export type Confirmation = { eventId: string; state: 'seen' | 'poisoned' }

/** A consumer that must confirm the events of a subject. */
export type Need = { subject: string; consumer: string }

/**
 * Records what a consumer answered; events that all their consumers answered end, as confirmed or dead letters. Locks
 * the rows first, in id order, so that of two consumers' last answers the later one sees the earlier. Rejects as a
 * Queryable does.
 */
export async function recordAnswers(
  tx: Queryable,
  consumer: string,
  answers: Confirmation[],
  needs: Need[],
): Promise<{ confirmed: number; deadLettered: number }> {
  const eventIds = answers.map((answer) => answer.eventId)
  await tx.run(lockStatement, [eventIds])
  const ended = await tx.rows<{ isDeadLetter: boolean }>(answerStatement, [
    eventIds,
    answers.filter(({ state }) => state === 'poisoned').map(({ eventId }) => eventId),
    consumer,
    needs.map((need) => need.subject),
    needs.map((need) => need.consumer),
  ])
  const deadLettered = ended.filter((row) => row.isDeadLetter).length
  return { confirmed: ended.length - deadLettered, deadLettered }
}
