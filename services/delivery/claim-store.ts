// Statements that take due deliveries and give back those whose worker died. They must not wait for a receiver.
import { type Queryable, sql } from '#runtime/db.ts'
import type { DeliveryKind } from './delivery.ts'

/** A delivery in hand: its attempt is recorded and its lease runs. */
export interface Claimed {
  deliveryId: string
  endpointId: string
  projectId: string
  eventId: string
  subjectId: string
  kind: DeliveryKind
  url: string
  body: Buffer
  failures: number
  /** Number of the attempt, from 1. */
  number: number
  /** Attempts of the rounds before this one. */
  earlierAttempts: number
  startedAt: Date
  occurredAt: Date
  leaseToken: string
  /** Round of the delivery, from 1: each replay begins one. */
  round: number
  hostname: string
  /** The trace that the POST belongs to, while traces are recorded. */
  traceparent: string | null
}

/** What one claim may take. */
export interface ClaimLimits {
  /** Receivers to look at. */
  endpoints: number
  /** Deliveries to take. */
  deliveries: number
  /** How long nobody else takes them. */
  leaseS: number
  /** Deliveries that this process may have in hand for one hostname, whatever the project; none when unset. */
  hostLimit?: number
  /** How many it has in hand already, by hostname. */
  inHandByHost?: ReadonlyMap<string, number>
}

const unlimited = 2 ** 31 - 1

/*
 * Receivers that are ready, each skipped when another worker has it; from each its due rows up to the
 * room that its limit leaves, four fresh ones to a retry; from all of them in turn until the worker is
 * full, of one hostname no more than the worker may have in hand. A receiver whose row was changed
 * after this statement read its deliveries may have more: it stays ready. One that is full is woken by
 * the next completion, or after the lease at the latest. While a breaker is not closed the newest push is
 * the probe: where only some URLs of a receiver fail, an older one is likely to be for one of those.
 */
const claimStatement = sql(
  'delivery_claim',
  `with host as materialized (
     select hostname, $7 - in_hand as room from unnest($5::text[], $6::integer[]) as h(hostname, in_hand)
   ), candidate as (
     select endpoint_id, version, turn, breaker, limit_now, hostname,
       (select seen.version from endpoint as seen where seen.endpoint_id = e.endpoint_id)
         as seen_version
     from endpoint as e
     where ready_at <= clock_now() and (breaker_until is null or breaker_until <= clock_now())
       and not exists (select 1 from host where host.hostname = e.hostname and host.room <= 0)
     order by ready_at
     limit $1
     for update of e skip locked
   ), roomy as (
     select endpoint_id, version, seen_version, turn, hostname, breaker,
       case breaker when 'closed' then limit_now else 1 end - (
         select count(*) from delivery
         where delivery.endpoint_id = candidate.endpoint_id and state = 'sending'
       ) as room
     from candidate
   ), due as (
     select roomy.endpoint_id, roomy.hostname, roomy.room, found.delivery_id, found.place,
       row_number() over (partition by roomy.endpoint_id order by found.place) as nth
     from roomy cross join lateral (
       select delivery_id, -1 as place
       from (
         select delivery_id from delivery
         where endpoint_id = roomy.endpoint_id and state = 'pending' and attempts = 0
           and next_attempt_at <= clock_now() and roomy.breaker <> 'closed'
         order by next_attempt_at desc limit greatest(roomy.room, 0)
         for update skip locked
       ) as probe
       union all
       select delivery_id, (roomy.turn + n) + (roomy.turn + n) / 4
       from (
         select delivery_id, row_number() over (order by next_attempt_at) - 1 as n
         from (
           select delivery_id, next_attempt_at from delivery
           where endpoint_id = roomy.endpoint_id and state = 'pending' and attempts = 0
             and next_attempt_at <= clock_now() and roomy.breaker = 'closed'
           order by next_attempt_at limit greatest(roomy.room, 0)
           for update skip locked
         ) as fresh
       ) as numbered
       union all
       select delivery_id, 5 * n + 4
       from (
         select delivery_id, row_number() over (order by next_attempt_at) - 1 as n
         from (
           select delivery_id, next_attempt_at from delivery
           where endpoint_id = roomy.endpoint_id and state = 'pending' and attempts > 0
             and next_attempt_at <= clock_now()
           order by next_attempt_at limit greatest(roomy.room, 0)
           for update skip locked
         ) as retry
       ) as numbered
     ) as found
   ), hosted as (
     select due.endpoint_id, due.hostname, due.delivery_id, due.place, due.nth,
       row_number() over (partition by due.hostname order by due.nth, due.place) as host_nth
     from due where nth <= room
   ), picked as (
     select hosted.endpoint_id, hosted.hostname, hosted.delivery_id, hosted.place
     from hosted left join host on host.hostname = hosted.hostname
     where hosted.host_nth <= coalesce(host.room, $7)
     order by hosted.nth, hosted.place limit $2
   ), claimed as (
     update delivery set
       state = 'sending', attempts = attempts + 1, next_attempt_at = null,
       lease_token = $3, lease_until = clock_now() + $4 * interval '1 second',
       attempt_started_at = date_trunc('milliseconds', clock_now())
     from picked
     where delivery.delivery_id = picked.delivery_id
     returning delivery.delivery_id, delivery.endpoint_id, project_id, event_id, subject_id, kind, url, body,
       failures, attempts, earlier_attempts, round, attempt_started_at, occurred_at, picked.hostname,
       traceparent
   ), begun as (
     insert into attempt (delivery_id, number, started_at, endpoint_id, round)
     select delivery_id, attempts, attempt_started_at, endpoint_id, round from claimed
   ), offer as (
     select endpoint_id, count(*) as found from due group by endpoint_id
   ), share as (
     select endpoint_id, count(*) as taken, max(place) as last_place from picked group by endpoint_id
   ), tally as (
     select roomy.endpoint_id, roomy.version, roomy.seen_version, roomy.room,
       coalesce(found, 0) as found, coalesce(taken, 0) as taken, last_place
     from roomy
       left join offer on offer.endpoint_id = roomy.endpoint_id
       left join share on share.endpoint_id = roomy.endpoint_id
   ), looked_at as (
     update endpoint set
       version = endpoint.version + 1,
       turn = coalesce((tally.last_place + 1) % 5, endpoint.turn),
       breaker = case when breaker = 'open' and tally.taken > 0 then 'half_open' else breaker end,
       ready_at = case
         when tally.version <> tally.seen_version then clock_now()
         when tally.taken < least(tally.found, tally.room) then clock_now()
         when tally.taken >= tally.room then clock_now() + $4 * interval '1 second'
         else coalesce(least(
           (select min(next_attempt_at) from delivery
            where endpoint_id = tally.endpoint_id and state = 'pending' and attempts = 0
              and next_attempt_at > clock_now()),
           (select min(next_attempt_at) from delivery
            where endpoint_id = tally.endpoint_id and state = 'pending' and attempts > 0
              and next_attempt_at > clock_now())
         ), 'infinity')
       end
     from tally
     where endpoint.endpoint_id = tally.endpoint_id
   )
   select delivery_id as "deliveryId", endpoint_id as "endpointId", project_id as "projectId",
     event_id as "eventId", subject_id as "subjectId", kind, url, body, failures, attempts as number,
     earlier_attempts as "earlierAttempts", attempt_started_at as "startedAt",
     occurred_at as "occurredAt", $3::uuid as "leaseToken", round, hostname,
     traceparent
   from claimed`,
)

/**
 * Takes due deliveries under one lease and records an attempt for each, all in one statement. Locks the
 * receivers that it looks at (skipping locked ones) and their due rows.
 */
export function claimDue(
  db: Queryable,
  leaseToken: string,
  limits: ClaimLimits,
): Promise<Claimed[]> {
  const { endpoints, deliveries, leaseS, hostLimit = unlimited, inHandByHost } = limits
  return db.rows<Claimed>(claimStatement, [
    endpoints,
    deliveries,
    leaseToken,
    leaseS,
    [...(inHandByHost?.keys() ?? [])],
    [...(inHandByHost?.values() ?? [])],
    hostLimit,
  ])
}

const expireStatement = sql(
  'delivery_expire_leases',
  `with lost as (
     select delivery_id, endpoint_id, attempts, attempt_started_at from delivery
     where state = 'sending' and lease_until <= clock_now()
     order by lease_until
     limit $1
     for update skip locked
   ), freed as (
     update delivery set
       state = 'pending', next_attempt_at = date_trunc('milliseconds', clock_now()),
       lease_token = null, lease_until = null
     from lost
     where delivery.delivery_id = lost.delivery_id
   ), noted as (
     update attempt set outcome = 'unknown', error = 'lease_expired'
     from lost
     where attempt.delivery_id = lost.delivery_id and attempt.number = lost.attempts
       and attempt.started_at = lost.attempt_started_at and attempt.outcome = 'started'
   ), held as (
     select endpoint_id from endpoint
     where endpoint_id in (select endpoint_id from lost)
     order by endpoint_id
     for update
   ), woken as (
     update endpoint set ready_at = clock_now(), version = version + 1
     from held
     where endpoint.endpoint_id = held.endpoint_id
   )
   select delivery_id from lost`,
)

/**
 * Makes deliveries due again whose lease has run out and marks their attempts unknown; returns how many.
 * Locks those rows (skipping locked ones) and then their receivers.
 */
export async function expireLeases(db: Queryable, limit: number): Promise<number> {
  return (await db.rows(expireStatement, [limit])).length
}

const wakeStatement = sql(
  'delivery_wake_forgotten',
  `with forgotten as (
     select endpoint_id from endpoint as e
     where ready_at > clock_now() + interval '5 seconds'
       and (breaker_until is null or breaker_until <= clock_now())
       and (
         exists (
           select 1 from delivery
           where delivery.endpoint_id = e.endpoint_id and state = 'pending' and attempts = 0
             and next_attempt_at < clock_now() - interval '5 seconds'
         ) or exists (
           select 1 from delivery
           where delivery.endpoint_id = e.endpoint_id and state = 'pending' and attempts > 0
             and next_attempt_at < clock_now() - interval '5 seconds'
         )
       )
       and not exists (
         select 1 from delivery
         where delivery.endpoint_id = e.endpoint_id and state = 'sending'
       )
     order by endpoint_id
     limit $1
     for update skip locked
   )
   update endpoint set ready_at = clock_now(), version = version + 1
   from forgotten
   where endpoint.endpoint_id = forgotten.endpoint_id`,
)

/**
 * Makes receivers ready that have overdue rows and nothing under way and yet are not: nothing should
 * leave them so, and nothing may be lost if it does. Locks those receivers; returns how many.
 */
export function wakeForgotten(db: Queryable, limit: number): Promise<number> {
  return db.run(wakeStatement, [limit])
}
