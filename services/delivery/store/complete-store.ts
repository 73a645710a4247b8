// Statements that record the outcome of attempts. The verdict is decided by the caller.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { asyncCommit } from '#platform/db/async-commit.ts'
import { byKey } from '#platform/db/by-key.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { Claimed, DeliveryState, PostEnd, Verdict } from '../domain/delivery.ts'
import { urlDigest, urlKey } from '../domain/url-key.ts'

/** An attempt that has ended, with what follows. */
export interface Completion {
  claimed: Claimed
  end: PostEnd
  verdict: Verdict
  /** The lane has slots for some of its backlog: a claim should follow soon. */
  makesReady?: boolean
}

/** A delivery that a completion moved. One that is missing was fenced off: its lease was lost. */
export interface Completed {
  deliveryId: string
  state: DeliveryState
  nextAttemptAt: Date | null
}

/*
 * The lease token fences: a worker that lost its lease changes nothing, but for a 2xx, which counts as
 * long as the delivery's round has not ended: a batch whose commit got no answer is recorded again, and a later round may
 * have begun by then. The row in `attempt` records what happened in any case. Lanes are touched only where a push comes again.
 *
 * It commits asynchronously. Should the server crash within the next moment, the delivery is under its lease again, and the
 * instance, which lives and no longer has it in memory, releases it: the receiver gets the push once more.
 *
 * The first array is a sub-select, so that the planner does not see how long it is: or it would plan this
 * anew for each batch, which takes longer than to run it. Nor does it know how many were moved: a join with those would
 * compare each with every other, "in" looks them up.
 */
const completeStatement = sql(
  'delivery_complete',
  `with ${asyncCommit}, result as (
     select delivery_id, endpoint_id, number, started_at, lease_token, outcome, status, resolve_ms,
       connect_ms, first_byte_ms, total_ms, peer_address, error, retry_after_s, answer, round,
       case when state = 'pending' and exists (
         select 1 from gone_url
         where ${byKey('gone_url.project_id', 'r.project_id')}
           and gone_url.subject_id = r.subject_id and gone_url.url_sha256 = r.url_sha256
       ) then 'gone' else state end as state,
       date_trunc('milliseconds', clock_now() + delay_ms * interval '1 millisecond') as next_attempt_at
     from unnest(
       (select $1::uuid[]), $2::uuid[], $3::integer[], $4::timestamptz[], $5::uuid[], $6::text[],
       $7::smallint[], $8::integer[], $9::integer[], $10::integer[], $11::integer[], $12::text[],
       $13::text[], $14::integer[], $15::bytea[], $16::text[], $17::bigint[], $18::integer[], $19::uuid[],
       $20::text[], $21::bytea[]
     ) as r(
       delivery_id, endpoint_id, number, started_at, lease_token, outcome, status, resolve_ms,
       connect_ms, first_byte_ms, total_ms, peer_address, error, retry_after_s, answer, state, delay_ms, round,
       project_id, subject_id, url_sha256
     ), async_commit where async_commit.commits = 'off'
   ), moved as (
     update delivery set
       state = result.state,
       failures = failures + case when result.outcome in ('delivered', 'unknown', 'unsigned') then 0 else 1 end,
       next_attempt_at = case when result.state = 'pending' then result.next_attempt_at end,
       lease_token = null, lease_until = null,
       ended_at = case when result.state <> 'pending' then clock_now() end
     from result
     where ${byKey('delivery.delivery_id', 'result.delivery_id')} and (
       (delivery.state = 'sending' and delivery.lease_token = result.lease_token)
       or (result.outcome = 'delivered' and delivery.state in ('pending', 'sending')
         and delivery.round = result.round)
     )
     returning delivery.delivery_id, delivery.state, delivery.next_attempt_at
   ), recorded as (
     insert into attempt (
       delivery_id, number, started_at, endpoint_id, round, outcome, status, resolve_ms, connect_ms, first_byte_ms,
       total_ms, peer_address, error, retry_after_s, answer, next_attempt_at
     )
     select delivery_id, number, started_at, endpoint_id, round, outcome, status, resolve_ms, connect_ms,
       first_byte_ms, total_ms, peer_address, error, retry_after_s, answer,
       case when result.delivery_id in (
         select moved.delivery_id from moved where moved.state = 'pending'
       ) then result.next_attempt_at end
     from result
     on conflict (delivery_id, number, started_at) do update set
       outcome = excluded.outcome, status = excluded.status, resolve_ms = excluded.resolve_ms,
       connect_ms = excluded.connect_ms, first_byte_ms = excluded.first_byte_ms,
       total_ms = excluded.total_ms, peer_address = excluded.peer_address, error = excluded.error,
       retry_after_s = excluded.retry_after_s, answer = excluded.answer,
       next_attempt_at = excluded.next_attempt_at
     where attempt.outcome in ('started', 'unknown')
   ), waiting as (
     select endpoint_id, delay_ms, only_url
     from unnest((select $22::uuid[]), $23::bigint[], $24::bytea[]) as w(endpoint_id, delay_ms, only_url)
   ), made_ready as (
     update endpoint set
       version = version + 1,
       ready_at = greatest(
         least(ready_at, clock_now() + waiting.delay_ms * interval '1 millisecond'), breaker_until
       ),
       only_url = case
         when ready_at = 'infinity' or endpoint.only_url = waiting.only_url then waiting.only_url
       end
     from waiting where endpoint.endpoint_id = waiting.endpoint_id
   )
   select delivery_id as "deliveryId", state, next_attempt_at as "nextAttemptAt" from moved`,
)

const goneStatement = sql(
  'delivery_mark_gone',
  `with ended as (
     select project_id, subject_id, url
     from unnest($1::uuid[], $2::text[], $3::text[]) as e(project_id, subject_id, url)
   ), marked as (
     insert into gone_url (project_id, subject_id, url_sha256, gone_at)
     select distinct project_id, subject_id, sha256(convert_to(url, 'UTF8')), clock_now() from ended
     on conflict do nothing
   )
   update delivery set state = 'gone', next_attempt_at = null, ended_at = clock_now()
   from ended
   where delivery.project_id = ended.project_id and delivery.subject_id = ended.subject_id
     and delivery.url = ended.url and delivery.state = 'pending'`,
)

/**
 * Records a batch: deliveries move on and attempts get their rows, in one statement. A 410 also ends what waits for the same
 * subject and URL. Each delivery may be in the batch once. Locks the deliveries, then in id order the lanes in which
 * something waits.
 */
export function complete(db: Database, batch: Completion[]): Promise<Completed[]> {
  const gone = batch.filter(({ verdict }) => verdict.state === 'gone')
  if (gone.length === 0) return db.rows<Completed>(completeStatement, columns(batch))
  return db.transaction(async (tx) => {
    await markGone(tx, gone)
    return tx.rows<Completed>(completeStatement, columns(batch))
  })
}

async function markGone(tx: Queryable, gone: Completion[]): Promise<void> {
  await tx.run(goneStatement, [
    gone.map(({ claimed }) => claimed.projectId),
    gone.map(({ claimed }) => claimed.subjectId),
    gone.map(({ claimed }) => claimed.url),
  ])
}

function columns(batch: Completion[]): unknown[] {
  const waiting = waitingLanes(batch)
  const column = (type: ArrayType, value: (completion: Completion) => unknown) =>
    arrayParameter(type, batch.map(value))
  const ifPending = (type: ArrayType, value: (claimed: Claimed) => unknown) =>
    column(type, ({ claimed, verdict }) =>
      verdict.state === 'pending' ? value(claimed) : undefined,
    )
  return [
    column('uuid', ({ claimed }) => claimed.deliveryId),
    column('uuid', ({ claimed }) => claimed.endpointId),
    column('integer', ({ claimed }) => claimed.number),
    column('timestamptz', ({ claimed }) => claimed.startedAt),
    column('uuid', ({ claimed }) => claimed.leaseToken),
    column('text', ({ end }) => end.outcome),
    column('smallint', ({ end }) => end.status),
    column('integer', ({ end }) => end.resolveMs),
    column('integer', ({ end }) => end.connectMs),
    column('integer', ({ end }) => end.firstByteMs),
    column('integer', ({ end }) => end.totalMs),
    column('text', ({ end }) => end.peerAddress),
    column('text', ({ end }) => end.error),
    column('integer', ({ end }) => end.retryAfterS),
    column('bytea', ({ end }) => end.answer),
    column('text', ({ verdict }) => verdict.state),
    // A pause may be longer than the 24 days that an integer has room for.
    column('bigint', ({ verdict: { delayMs } }) =>
      delayMs === undefined ? undefined : BigInt(delayMs),
    ),
    column('integer', ({ claimed }) => claimed.round),
    ifPending('uuid', ({ projectId }) => projectId),
    ifPending('text', ({ subjectId }) => subjectId),
    ifPending('bytea', ({ url }) => urlDigest(url)),
    arrayParameter(
      'uuid',
      waiting.map(({ endpointId }) => endpointId),
    ),
    arrayParameter(
      'bigint',
      waiting.map(({ delayMs }) => BigInt(delayMs)),
    ),
    arrayParameter(
      'bytea',
      waiting.map(({ retried: [url, another] }) =>
        url === undefined || another !== undefined ? undefined : urlKey(url),
      ),
    ),
  ]
}

/** A lane that becomes ready for pushes that come again, with their URLs. */
type WaitingLane = { endpointId: string; delayMs: number; retried: string[] }

/** The lanes of pushes that come again, in the order of their ids. */
function waitingLanes(batch: Completion[]): WaitingLane[] {
  const lanes = new Map<string, WaitingLane>()
  for (const { claimed, verdict } of batch) {
    if (verdict.state !== 'pending') continue
    const { endpointId, url } = claimed
    const { delayMs = 0 } = verdict
    const lane = lanes.get(endpointId) ?? { endpointId, delayMs, retried: [] }
    lane.delayMs = Math.min(lane.delayMs, delayMs)
    if (!lane.retried.includes(url)) lane.retried.push(url)
    lanes.set(endpointId, lane)
  }
  return [...lanes.values()].toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
}
