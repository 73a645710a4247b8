// Statements that record the outcome of attempts. The verdict is decided by the caller.
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { Claimed, DeliveryState, PostEnd, Verdict } from '../domain/delivery.ts'
import { type LaneReport, laneReports } from '../domain/lane-report.ts'
import { urlKey } from '../domain/url-key.ts'

/** An attempt that has ended, with what follows. */
export interface Completion {
  claimed: Claimed
  end: PostEnd
  verdict: Verdict
}

/** How long a breaker stays open: the first time, and at most. */
export interface BreakerTerms {
  openS: number
  maxS: number
}

/** A delivery that a completion moved. One that is missing was fenced off: its lease was lost. */
export interface Completed {
  deliveryId: string
  state: DeliveryState
  nextAttemptAt: Date | null
}

/*
 * The lease token fences: a worker that lost its lease changes nothing, but for a 2xx, which counts as
 * long as the delivery has not ended. The attempt's own row records what happened in any case. The
 * lane learns from the batch as a whole. Its limit grows by one for each 20 successes and is halved when
 * connecting fails, by 429 and 503, and by a time-out during which no other URL of the lane answered; it stays at 2 or
 * more while the receiver answers, and goes 2, 4 after its breaker closes. Other errors may be about one order, and
 * count in the window of the breaker alone. A time-out while others answer counts nowhere. A lane that was not full and has
 * nothing more to send stays idle, so that no claim reads it in vain.
 *
 * The first array is a sub-select, so that the planner does not see how long it is: or it would plan this
 * anew for each batch, which takes longer than to run it. Nor does it know how many were moved: a join with those would
 * compare each with every other, "in" looks them up. The times of the first and the last attempt leave
 * out the days that have none of them before the statement begins.
 */
const completeStatement = sql(
  'delivery_complete',
  `with result as (
     select delivery_id, endpoint_id, number, started_at, lease_token, outcome, status, resolve_ms,
       connect_ms, first_byte_ms, total_ms, peer_address, error, retry_after_s, answer, state, delay_ms
     from unnest(
       (select $1::uuid[]), $2::uuid[], $3::integer[], $4::timestamptz[], $5::uuid[], $6::text[],
       $7::smallint[], $8::integer[], $9::integer[], $10::integer[], $11::integer[], $12::text[],
       $13::text[], $14::integer[], $15::bytea[], $16::text[], $17::integer[]
     ) as r(
       delivery_id, endpoint_id, number, started_at, lease_token, outcome, status, resolve_ms,
       connect_ms, first_byte_ms, total_ms, peer_address, error, retry_after_s, answer, state, delay_ms
     )
   ), judged as (
     select result.delivery_id, result.outcome, result.lease_token, result.delay_ms,
       case
         when result.state = 'pending' and exists (
           select 1 from gone_url
           where gone_url.project_id = delivery.project_id
             and gone_url.subject_id = delivery.subject_id
             and url_sha256 = sha256(convert_to(delivery.url, 'UTF8'))
         ) then 'gone'
         else result.state
       end as state
     from result join delivery on delivery.delivery_id = result.delivery_id
   ), moved as (
     update delivery set
       state = judged.state,
       failures = failures + case when judged.outcome in ('delivered', 'unknown', 'unsigned') then 0 else 1 end,
       next_attempt_at = case when judged.state = 'pending' then
         date_trunc('milliseconds', clock_now() + judged.delay_ms * interval '1 millisecond')
       end,
       lease_token = null, lease_until = null,
       ended_at = case when judged.state <> 'pending' then clock_now() end
     from judged
     where delivery.delivery_id = judged.delivery_id and (
       (delivery.state = 'sending' and delivery.lease_token = judged.lease_token)
       or (judged.outcome = 'delivered' and delivery.state in ('pending', 'sending'))
     )
     returning delivery.delivery_id, delivery.state, delivery.next_attempt_at
   ), noted as (
     update attempt set
       outcome = result.outcome, status = result.status, resolve_ms = result.resolve_ms,
       connect_ms = result.connect_ms, first_byte_ms = result.first_byte_ms,
       total_ms = result.total_ms, peer_address = result.peer_address, error = result.error,
       retry_after_s = result.retry_after_s, answer = result.answer,
       next_attempt_at = case when result.delivery_id in (
         select moved.delivery_id from moved where moved.state = 'pending'
       ) then date_trunc('milliseconds', clock_now() + result.delay_ms * interval '1 millisecond') end
     from result
     where attempt.delivery_id = result.delivery_id and attempt.number = result.number
       and attempt.started_at = result.started_at and attempt.outcome in ('started', 'unknown')
       and attempt.started_at between $20 and $21
   ), report as (
     select endpoint_id, delivered, failed, unconnected, overloaded, sent, retries, retried_url,
       new_url, new_at, new_other_at
     from unnest(
       (select $22::uuid[]), $23::integer[], $24::integer[], $25::integer[], $26::integer[],
       $27::integer[], $28::boolean[], $35::bytea[], $29::bytea[], $30::timestamptz[], $31::timestamptz[]
     ) as r(
       endpoint_id, delivered, failed, unconnected, overloaded, sent, retries, retried_url,
       new_url, new_at, new_other_at
     )
   ), held as (
     select e.endpoint_id, e.breaker, e.breaker_opened, e.limit_now, e.growth, e.window_attempts,
       e.window_failures, e.window_started_at < clock_now() - interval '60 seconds' as window_over,
       e.answered_at, e.answered_url, e.other_answered_at, new_url, new_at, new_other_at,
       delivered, failed, unconnected, overloaded, retries, retried_url,
       case when unconnected = sent then e.connect_failures + unconnected else 0 end
         as connect_failures,
       (select count(*) from unnest($32::uuid[], $33::bytea[], $34::timestamptz[])
          as late(endpoint_id, url_key, started_at)
        where late.endpoint_id = e.endpoint_id and coalesce(late.started_at > case e.answered_url
          when late.url_key then e.other_answered_at else e.answered_at
        end, true)) as time_outs
     from endpoint as e join report on report.endpoint_id = e.endpoint_id
     order by e.endpoint_id
     for update of e
   ), counted as (
     select endpoint_id, breaker, breaker_opened, limit_now, growth, delivered as good,
       failed + time_outs as bad, unconnected + overloaded + time_outs > 0 as overloaded,
       connect_failures, window_over, retries, retried_url,
       delivered + failed + time_outs + case when window_over then 0 else window_attempts end
         as attempts,
       failed + time_outs + case when window_over then 0 else window_failures end as failures,
       case when new_at is null or new_at < answered_at then answered_url else new_url end
         as answered_url,
       greatest(new_at, answered_at) as answered_at,
       case
         when new_url = answered_url then greatest(new_other_at, other_answered_at)
         when new_at < answered_at then greatest(new_at, other_answered_at)
         when new_at >= answered_at then greatest(new_other_at, answered_at)
         else coalesce(new_other_at, other_answered_at)
       end as other_answered_at
     from held
   ), learnt as (
     select endpoint_id, breaker, breaker_opened, limit_now, growth, good, overloaded,
       connect_failures, window_over, attempts, failures, retries, retried_url,
       answered_at, answered_url, other_answered_at,
       case when answered_at > clock_now() - interval '10 minutes' then 2 else 1 end as min_limit,
       breaker = 'half_open' and good > 0 as closes,
       (breaker = 'half_open' and good = 0 and bad > 0)
         or (breaker = 'closed'
             and (connect_failures >= 5 or (attempts >= 10 and failures * 5 >= attempts * 4)))
         as opens
     from counted
   ), taught as (
     update endpoint set
       version = version + 1,
       ready_at = case
         when learnt.opens then clock_now() + least($18 * 2 ^ least(learnt.breaker_opened, 20), $19) * interval '1 second'
         when endpoint.ready_at = 'infinity' and not (learnt.retries or learnt.closes) then 'infinity'
         else greatest(clock_now(), breaker_until)
       end,
       breaker = case
         when learnt.opens then 'open' when learnt.closes then 'closed' else endpoint.breaker
       end,
       breaker_until = case
         when learnt.opens then clock_now() + least($18 * 2 ^ least(learnt.breaker_opened, 20), $19) * interval '1 second'
         when learnt.closes then null
         else breaker_until
       end,
       breaker_opened = case
         when learnt.opens then least(learnt.breaker_opened + 1, 100)
         when learnt.breaker = 'closed' and learnt.limit_now >= 4 and learnt.good > 0 then 0
         else learnt.breaker_opened
       end,
       limit_now = greatest(learnt.min_limit, case
         when learnt.opens or learnt.closes then 2
         when learnt.overloaded then learnt.limit_now / 2
         when learnt.good > 0 and learnt.breaker_opened > 0 then least(4, learnt.limit_now * 2)
         else least(16, learnt.limit_now + (learnt.growth + learnt.good) / 20)
       end),
       growth = case when learnt.overloaded then 0 else (learnt.growth + learnt.good) % 20 end,
       connect_failures = case when learnt.opens then 0 else least(learnt.connect_failures, 1000) end,
       window_started_at = case
         when learnt.window_over or learnt.opens then clock_now() else window_started_at
       end,
       window_attempts = case when learnt.opens or learnt.closes then 0 else learnt.attempts end,
       window_failures = case when learnt.opens or learnt.closes then 0 else learnt.failures end,
       only_url = case when not learnt.retries or learnt.retried_url = only_url then only_url end,
       answered_at = learnt.answered_at,
       answered_url = learnt.answered_url,
       other_answered_at = learnt.other_answered_at
     from learnt
     where endpoint.endpoint_id = learnt.endpoint_id
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
 * Records a batch: deliveries move on, attempts get their facts, receivers learn, in one statement. A 410
 * also ends what waits for the same subject and URL. Each delivery may be in the batch once. Locks
 * the deliveries, then their receivers in id order.
 */
export function complete(
  db: Database,
  batch: Completion[],
  breaker: BreakerTerms,
): Promise<Completed[]> {
  const gone = batch.filter(({ verdict }) => verdict.state === 'gone')
  if (gone.length === 0) return db.rows<Completed>(completeStatement, columns(batch, breaker))
  return db.transaction(async (tx) => {
    await markGone(tx, gone)
    return tx.rows<Completed>(completeStatement, columns(batch, breaker))
  })
}

async function markGone(tx: Queryable, gone: Completion[]): Promise<void> {
  await tx.run(goneStatement, [
    gone.map(({ claimed }) => claimed.projectId),
    gone.map(({ claimed }) => claimed.subjectId),
    gone.map(({ claimed }) => claimed.url),
  ])
}

function columns(batch: Completion[], { openS, maxS }: BreakerTerms): unknown[] {
  const startedMs = batch.map(({ claimed }) => claimed.startedAt.getTime())
  return [
    batch.map(({ claimed }) => claimed.deliveryId),
    batch.map(({ claimed }) => claimed.endpointId),
    batch.map(({ claimed }) => claimed.number),
    batch.map(({ claimed }) => claimed.startedAt),
    batch.map(({ claimed }) => claimed.leaseToken),
    batch.map(({ end }) => end.outcome),
    batch.map(({ end }) => end.status ?? null),
    batch.map(({ end }) => end.resolveMs ?? null),
    batch.map(({ end }) => end.connectMs ?? null),
    batch.map(({ end }) => end.firstByteMs ?? null),
    batch.map(({ end }) => end.totalMs),
    batch.map(({ end }) => end.peerAddress ?? null),
    batch.map(({ end }) => end.error ?? null),
    batch.map(({ end }) => end.retryAfterS ?? null),
    batch.map(({ end }) => end.answer ?? null),
    batch.map(({ verdict }) => verdict.state),
    batch.map(({ verdict }) => verdict.delayMs ?? null),
    openS,
    maxS,
    new Date(Math.min(...startedMs)),
    new Date(Math.max(...startedMs)),
    ...reportColumns(laneReports(batch)),
  ]
}

function reportColumns(reports: LaneReport[]): unknown[] {
  const timeOuts = reports.flatMap(({ endpointId, timeOuts }) =>
    timeOuts.map((timeOut) => ({ endpointId, ...timeOut })),
  )
  return [
    reports.map(({ endpointId }) => endpointId),
    reports.map(({ delivered }) => delivered),
    reports.map(({ failed }) => failed),
    reports.map(({ unconnected }) => unconnected),
    reports.map(({ overloaded }) => overloaded),
    reports.map(({ sent }) => sent),
    reports.map(({ retries }) => retries),
    reports.map(({ answeredUrl }) => (answeredUrl === undefined ? null : urlKey(answeredUrl))),
    reports.map(({ answeredAt }) => answeredAt ?? null),
    reports.map(({ otherAnsweredAt }) => otherAnsweredAt ?? null),
    timeOuts.map(({ endpointId }) => endpointId),
    timeOuts.map(({ url }) => urlKey(url)),
    timeOuts.map(({ startedAt }) => startedAt),
    reports.map(({ retriedUrl }) => (retriedUrl === undefined ? null : urlKey(retriedUrl))),
  ]
}
