// Statements on dead letters of events, in the outbox of a producer and the inbox of a consumer, and on decisions about them.
import type { Cursor } from '#core/paging.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** Where a dead letter is stored. */
export type Side = 'outbox' | 'inbox'

/** A message that waits for a person. */
export type StoredDeadLetter = {
  deadLetterId: string
  side: Side
  /** Null for a message that is no event. */
  eventId: string | null
  subject: string
  projectId: string | null
  reason: string
  consumers: string[]
  /** Since when, in microseconds since 1970. */
  sinceUs: bigint
}

const micros = (column: string) => `(extract(epoch from ${column}) * 1000000)::bigint`
const timeOf = (parameter: string) =>
  `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond')`

const outboxColumns = `o.event_id as "deadLetterId", 'outbox' as side, o.event_id as "eventId", o.subject,
  o.project_id as "projectId", coalesce(o.last_error, '') as reason,
  array(select c.consumer from confirmation c where c.event_id = o.event_id and c.state = 'poisoned'
    order by c.consumer) as consumers, ${micros('o.parked_at')} as "sinceUs"`
const inboxColumns = `p.poison_id as "deadLetterId", 'inbox' as side, p.event_id as "eventId", p.subject,
  null::uuid as "projectId", p.reason, array[]::text[] as consumers, ${micros('p.poisoned_at')} as "sinceUs"`

const lists = {
  outbox: sql(
    'dead_letters_of_outbox',
    `select ${outboxColumns} from outbox o
     where o.parked_at is not null and (o.parked_at, o.event_id) > (${timeOf('$1')}, $2::uuid)
     order by o.parked_at, o.event_id limit $3`,
  ),
  inbox: sql(
    'dead_letters_of_inbox',
    `select ${inboxColumns} from poison p
     where (p.poisoned_at, p.poison_id) > (${timeOf('$1')}, $2::uuid)
     order by p.poisoned_at, p.poison_id limit $3`,
  ),
} as const

/** Dead letters of one side, oldest first, behind a cursor. Locks nothing. Rejects as a Queryable does. */
export function listDeadLetters(
  db: Queryable,
  side: Side,
  after: Cursor,
  limit: number,
): Promise<StoredDeadLetter[]> {
  return db.rows(lists[side], [after.at, after.id, limit])
}

const ofEvent = {
  outbox: sql(
    'dead_letter_of_outbox_event',
    `select ${outboxColumns} from outbox o where o.event_id = $1 and o.parked_at is not null`,
  ),
  inbox: sql(
    'dead_letter_of_inbox_event',
    `select ${inboxColumns} from poison p where p.event_id = $1`,
  ),
} as const

/** The dead letter of an event on one side. Locks nothing. Rejects as a Queryable does. */
export function findDeadLetter(
  db: Queryable,
  side: Side,
  eventId: string,
): Promise<StoredDeadLetter | undefined> {
  return db.row(ofEvent[side], [eventId])
}

const takes = {
  outbox: sql(
    'dead_letter_take_outbox',
    `select ${outboxColumns} from outbox o where o.event_id = $1 and o.parked_at is not null for update`,
  ),
  inbox: sql(
    'dead_letter_take_inbox',
    `delete from poison p where p.poison_id = $1 returning ${inboxColumns}`,
  ),
} as const

/**
 * Takes a dead letter within a transaction that ends it: locks it in the outbox, removes it from the inbox. Of two who do so at
 * once, the second one gets undefined. Rejects as a Queryable does.
 */
export function takeDeadLetter(
  tx: Queryable,
  side: Side,
  deadLetterId: string,
): Promise<StoredDeadLetter | undefined> {
  return tx.row(takes[side], [deadLetterId])
}

const republishStatement = sql(
  'dead_letter_republish',
  `with answers as (delete from confirmation where event_id = $1 and state = 'poisoned')
   update outbox set parked_at = null, last_error = null, next_at = clock_now() where event_id = $1`,
)

/** Makes an event due for the publisher, and forgets who has rejected it. */
export async function republish(tx: Queryable, eventId: string): Promise<void> {
  await tx.run(republishStatement, [eventId])
}

const confirmStatement = sql(
  'dead_letter_confirm',
  'update outbox set parked_at = null, confirmed_at = clock_now() where event_id = $1',
)
const processedStatement = sql(
  'dead_letter_processed',
  'insert into inbox (event_id) values ($1) on conflict (event_id) do nothing',
)

/** Ends an event: in the outbox it counts as confirmed, in the inbox as processed, so that it is not rejected again. */
export async function endEvent(tx: Queryable, side: Side, eventId: string): Promise<void> {
  await tx.run(side === 'outbox' ? confirmStatement : processedStatement, [eventId])
}

/** What a person decided, and who they are. */
export type Decision = {
  caller: string
  requestId: string | undefined
  isDiscarded: boolean
  note: string
}

const insertStatement = sql(
  'dead_letter_decision_insert',
  `insert into dead_letter_decision (caller, request_id, is_discarded, note, dead_letter_id, side, event_id,
     subject, project_id, reason, consumers, since_time)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${timeOf('$12')})`,
)

/** Writes who decided what, in the transaction that does it. Rejects as a Queryable does. */
export async function insertDecision(
  tx: Queryable,
  decision: Decision,
  letter: StoredDeadLetter,
): Promise<void> {
  const { caller, requestId, isDiscarded, note } = decision
  const { deadLetterId, side, eventId, subject, projectId, reason, consumers, sinceUs } = letter
  const who = [caller, requestId ?? null, isDiscarded, note]
  const what = [deadLetterId, side, eventId, subject, projectId, reason, consumers, sinceUs]
  await tx.run(insertStatement, [...who, ...what])
}

/** A decision as it is read, with the dead letter as it was. */
export type StoredDecision = Omit<Decision, 'requestId'> &
  StoredDeadLetter & { requestId: string | null; decisionId: string; decidedUs: bigint }

const decisions = (name: string, condition: string) =>
  sql(
    name,
    `select decision_id as "decisionId", ${micros('decide_time')} as "decidedUs", caller,
     request_id as "requestId", is_discarded as "isDiscarded", note, dead_letter_id as "deadLetterId", side,
     event_id as "eventId", subject, project_id as "projectId", reason, consumers,
     ${micros('since_time')} as "sinceUs"
   from dead_letter_decision where (decide_time, decision_id) < (${timeOf('$1')}, $2::uuid) ${condition}
   order by decide_time desc, decision_id desc limit $3`,
  )
const decisionsStatement = decisions('dead_letter_decisions', '')
const decisionsOfEventStatement = decisions('dead_letter_decisions_of_event', 'and event_id = $4')

/** Decisions before a cursor, about one event or any, newest first. Locks nothing. Rejects as a Queryable does. */
export function listDecisions(
  db: Queryable,
  before: Cursor,
  limit: number,
  eventId: string | undefined,
): Promise<StoredDecision[]> {
  const page = [before.at, before.id, limit]
  if (eventId === undefined) return db.rows(decisionsStatement, page)
  return db.rows(decisionsOfEventStatement, [...page, eventId])
}
