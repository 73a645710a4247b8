// Statements that make deliveries due again whose worker is gone, and lanes ready that were left. They wait for no receiver.
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { leaseTokensOf } from '#platform/instances/lease-token.ts'
import type { Claimed } from '../domain/delivery.ts'
import { listWaitingLanes } from './backlog-store.ts'
import { oldestWaiting } from './endpoint-store.ts'

/** Whether the URL of a delivery is gone for its subject: then nothing more is sent there, but for a replay. */
const isGone = `round = 1 and exists (
         select 1 from gone_url
         where ${byKey('gone_url.project_id', 'delivery.project_id')}
           and gone_url.subject_id = delivery.subject_id
           and gone_url.url_sha256 = sha256(convert_to(delivery.url, 'UTF8'))
       )`

/**
 * Makes deliveries due again that are being sent under leases for which the condition holds, and their attempts unknown. Those whose URL
 * is gone end instead.
 */
const release = (name: string, condition: string, error: string) =>
  sql(
    name,
    `with lost as (
       select delivery_id, endpoint_id, attempts, attempt_started_at, round, ${isGone} as is_gone
       from delivery
       where state = 'sending' and ${condition}
       order by lease_until
       limit $1
       for update skip locked
     ), freed as (
       update delivery set
         state = case when is_gone then 'gone' else 'pending' end,
         next_attempt_at = case when not is_gone then date_trunc('milliseconds', clock_now()) end,
         ended_at = case when is_gone then clock_now() end,
         lease_token = null, lease_until = null, url_queue = ''
       from lost
       where delivery.delivery_id = lost.delivery_id
     ), recorded as (
       insert into attempt (delivery_id, number, started_at, endpoint_id, round, outcome, error)
       select delivery_id, attempts, attempt_started_at, endpoint_id, round, 'unknown', '${error}' from lost
       on conflict (delivery_id, number, started_at) do update set
         outcome = excluded.outcome, error = excluded.error
       where attempt.outcome = 'started'
     ), held as (
       select endpoint_id from endpoint
       where endpoint_id in (select endpoint_id from lost)
       order by endpoint_id
       for update
     ), woken as (
       update endpoint set
         ready_at = greatest(clock_now(), breaker_until), version = version + 1, only_url = null
       from held
       where endpoint.endpoint_id = held.endpoint_id
     )
     select delivery_id from lost`,
  )

const expireStatement = release(
  'delivery_expire_leases',
  "lease_until between clock_now() - $2 * interval '1 second' and clock_now()",
  'lease_expired',
)

const tenYearsS = 315_360_000

/**
 * Makes deliveries due again whose lease has run out, in the last `withinS` seconds if set, and marks their attempts unknown; returns how
 * many. Without that bound it walks the index over all pushes since the last vacuum. Locks those rows (skipping locked ones) and then
 * their receivers.
 */
export async function expireLeases(
  db: Queryable,
  limit: number,
  withinS = tenYearsS,
): Promise<number> {
  return (await db.rows(expireStatement, [limit, withinS])).length
}

const instanceStatement = release(
  'delivery_release_instance_leases',
  'lease_token between $2 and $3',
  'instance_lost',
)

/** The same for the leases of one instance, which has died. */
export async function releaseInstanceLeases(
  db: Queryable,
  instanceId: string,
  limit: number,
): Promise<number> {
  const { first, last } = leaseTokensOf(instanceId)
  return (await db.rows(instanceStatement, [limit, first, last])).length
}

const existStatement = sql(
  'delivery_has_instance_leases',
  `select exists (
     select from delivery where state = 'sending' and lease_token between $1 and $2
   ) as "hasLeases"`,
)

/** Whether the instance has leases. Locks nothing. */
export async function hasInstanceLeases(db: Queryable, instanceId: string): Promise<boolean> {
  const { first, last } = leaseTokensOf(instanceId)
  const found = await db.row<{ hasLeases: boolean }>(existStatement, [first, last])
  return found?.hasLeases === true
}

/** The lease of a delivery. */
export type Lease = Pick<Claimed, 'deliveryId' | 'leaseToken'>

const listStatement = sql(
  'delivery_list_leases',
  `select delivery_id as "deliveryId", lease_token as "leaseToken" from delivery
   where state = 'sending' and exists (
     select from unnest($1::uuid[], $2::uuid[]) as owner(first, last)
     where lease_token between owner.first and owner.last
   )
   order by lease_until`,
)

/** All leases of these instances, the first to expire first. Locks nothing. */
export function listLeases(db: Queryable, instanceIds: readonly string[]): Promise<Lease[]> {
  const owners = instanceIds.map(leaseTokensOf)
  return db.rows(listStatement, [owners.map(({ first }) => first), owners.map(({ last }) => last)])
}

const unheldStatement = release(
  'delivery_release_leases',
  `delivery_id = any($2::uuid[])
         and lease_token = ($3::uuid[])[array_position($2::uuid[], delivery_id)]`,
  'outcome_lost',
)

/** Releases these leases in the same way, as far as they still exist. */
export async function releaseLeases(db: Queryable, leases: readonly Lease[]): Promise<number> {
  const released = await db.rows(unheldStatement, [
    leases.length,
    leases.map(({ deliveryId }) => deliveryId),
    leases.map(({ leaseToken }) => leaseToken),
  ])
  return released.length
}

/** A push that was never tried has been due since it was stored: it keeps its place before those that came later. */
const releaseUnsentStatement = sql(
  'delivery_put_back',
  `with unsent as (
     select delivery.delivery_id, $3 or ${isGone} as is_gone,
       case
         when attempts = 1 and round = 1 then created_at else date_trunc('milliseconds', clock_now())
       end as due_at
     from unnest((select $1::uuid[]), $2::uuid[]) as u(delivery_id, lease_token)
       join delivery on ${byKey('delivery.delivery_id', 'u.delivery_id')}
     where delivery.state = 'sending' and delivery.lease_token = u.lease_token
     for update of delivery
   ), freed as (
     update delivery set
       state = case when is_gone then 'gone' else 'pending' end,
       attempts = attempts - 1, attempt_started_at = null,
       next_attempt_at = case when not is_gone then due_at end,
       ended_at = case when is_gone then clock_now() end,
       lease_token = null, lease_until = null
     from unsent
     where ${byKey('delivery.delivery_id', 'unsent.delivery_id')}
     returning delivery.endpoint_id
   ), held as (
     select endpoint_id from endpoint
     where endpoint_id in (select endpoint_id from freed)
     order by endpoint_id
     for update
   )
   update endpoint set
     version = version + 1, only_url = null,
     ready_at = greatest(least(ready_at, clock_now()), breaker_until)
   from held
   where endpoint.endpoint_id = held.endpoint_id`,
)

/**
 * Makes leased deliveries due again whose POST has not begun: the attempt is not counted. Those whose URL is gone end instead; with
 * `areGone` all do. Locks them, then their lanes in the order of their ids.
 */
export async function releaseUnsentLeases(
  db: Queryable,
  leased: readonly Lease[],
  areGone = false,
): Promise<void> {
  await db.run(releaseUnsentStatement, [
    leased.map(({ deliveryId }) => deliveryId),
    leased.map(({ leaseToken }) => leaseToken),
    areGone,
  ])
}

/*
 * While pushes of a lane are being sent, the process that sends them mostly knows of its backlog and claims soon. It may be another
 * process whose pushes go past what waits, so the lane gets longer, but not for ever.
 */
const wakeStatement = sql(
  'delivery_wake_forgotten',
  `with forgotten as (
     select endpoint_id from endpoint as e
     where endpoint_id = any($1::uuid[]) and ready_at > clock_now() + interval '5 seconds'
       and (breaker_until is null or breaker_until <= clock_now()) and paused_at is null
       and (select min(oldest.next_attempt_at) from (${oldestWaiting}) as oldest)
         < clock_now() - case when exists (
           select 1 from delivery
           where delivery.endpoint_id = e.endpoint_id and state = 'sending'
         ) then interval '30 seconds' else interval '5 seconds' end
     order by endpoint_id
     for update skip locked
   )
   update endpoint set ready_at = clock_now(), version = version + 1, only_url = null
   from forgotten
   where endpoint.endpoint_id = forgotten.endpoint_id`,
)

const reopenStatement = sql(
  'delivery_reopen_url_queues',
  `with lost as (
     select e.endpoint_id, coalesce(
       (select url_queue from delivery
        where delivery.endpoint_id = e.endpoint_id and url_queue > '' and state = 'pending' and attempts < 1
        order by url_queue limit 1),
       (select url_queue from delivery
        where delivery.endpoint_id = e.endpoint_id and url_queue > '' and state = 'pending' and attempts <> 0
        order by url_queue limit 1)
     ) as url_queue
     from endpoint as e where endpoint_id = any($1::uuid[]) and url_queues = '{}'
   ), held as (
     select endpoint.endpoint_id, lost.url_queue
     from endpoint join lost on lost.endpoint_id = endpoint.endpoint_id
     where lost.url_queue is not null and endpoint.url_queues = '{}'
     order by endpoint.endpoint_id
     for update of endpoint skip locked
   )
   update endpoint set
     url_queues = array[held.url_queue],
     ready_at = greatest(least(ready_at, clock_now()), breaker_until), version = version + 1
   from held
   where endpoint.endpoint_id = held.endpoint_id`,
)

/**
 * Makes lanes ready that have overdue pushes and yet are not, and names queues of URLs in lanes that name none. A process that was killed
 * leaves lanes so from which it claimed because it knew of their backlog; an instance of the previous release knows no such queues. Looks at
 * the lanes in which pushes wait, `lanes` in a statement, and locks those that it changes; returns how many.
 */
export async function scheduleForgottenLanes(db: Queryable, lanes: number): Promise<number> {
  let scheduled = 0
  let after: string | undefined
  for (;;) {
    const waiting = await listWaitingLanes(db, lanes, after)
    if (waiting.length > 0) {
      scheduled += await db.run(wakeStatement, [waiting])
      scheduled += await db.run(reopenStatement, [waiting])
    }
    if (waiting.length < lanes) return scheduled
    after = waiting.at(-1)
  }
}
