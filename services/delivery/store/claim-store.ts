// The statement that claims due deliveries, lane by lane. It skips locked rows.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Claimed } from '../domain/delivery.ts'
import type { Breaker } from '../domain/lane.ts'

/** What one claim may take. */
export interface ClaimLimits {
  /** Lanes to look at. */
  endpoints: number
  /** Deliveries to take. */
  deliveries: number
  /** Duration of the lease. */
  leaseS: number
  /** Deliveries of all projects to take for one hostname; no limit when unset. */
  hostRoom?: number
  /** The same for hostnames of which this process has some leased. */
  roomByHost?: ReadonlyMap<string, number>
  /** Lanes that this process knows; for others the stored limit counts. */
  known?: readonly KnownLane[]
}

/** What a process allows a lane whose breaker is closed. */
export interface KnownLane {
  endpointId: string
  /** Deliveries of all processes that may be leased. */
  slots: number
  /** Deliveries that this process takes now. */
  room: number
  /** Pushes of the lane are known to wait: the claim looks at it, ready or not. */
  hasBacklog: boolean
  /** Pushes to several URLs are known to wait, although its row may name one. */
  isMixed: boolean
}

const unlimited = 2 ** 31 - 1

/** Rank of a push when four fresh ones and one retry take turns; the probe of a breaker comes first. */
const pushRank = `case kind_of when 'probe' then -1 when 'fresh' then (turn + n) + (turn + n) / 4 else 5 * n + 4 end`

/** The due rows of a queue, oldest first. They are locked; rows that are locked already are skipped. */
const dueRows = (queue: string, attempts: '< 1' | '<> 0', rows: string, more = '') => `(
         select delivery_id, url, next_attempt_at from delivery
         where endpoint_id = roomy.endpoint_id and url_queue = ${queue} and state = 'pending'
           and attempts ${attempts} and next_attempt_at <= clock_now() ${more}
         order by next_attempt_at limit ${rows}
         for update skip locked
       )`

const nextOf = (attempts: '< 1' | '<> 0') => `(
           select min(next_attempt_at) from delivery
           where endpoint_id = tally.endpoint_id and url_queue = '' and state = 'pending'
             and attempts ${attempts} and next_attempt_at > clock_now()
         )`

const waitsIn = (attempts: '< 1' | '<> 0') => `(
             select true from delivery
             where endpoint_id = tally.endpoint_id and url_queue = key and state = 'pending'
               and attempts ${attempts} limit 1
           )`

/*
 * Lanes that are ready or known to have a backlog, each skipped when another worker has it; from each its due rows up to the room that its limit
 * leaves, four fresh ones to a retry, and for one URL no more than half of the slots; from all lanes in turn until the worker is
 * full, of one hostname no more than the worker has room for. A lane whose row was changed after this statement read
 * its deliveries may have more: it stays ready. One that is full is claimed from again by the process that knows of its backlog
 * as soon as that has slots, by others after a second. While a breaker is not closed the newest push is the probe: where only some URLs of a lane
 * fail, an older one is likely to be for one of those.
 *
 * A lane that is paused is left alone. One that this process knows is among the lanes of the answer, without more to claim, so that the
 * process forgets its backlog; it is ready when it is resumed.
 *
 * The claim records the attempt in the delivery's own row: its number and its start. Its row in `attempt` follows when it ends.
 *
 * A lane is read from the head of its queue, and beside it the queues of URLs that the lane's row names. It is blocked when the
 * head leaves room unused, because it is for URLs that have their share, and there are more rows behind: see
 * openUrlQueues, which makes it ready at once. A lane of which all pushes are for one URL (`only_url`) has no more room than that URL.
 * Intake does not write the row of a lane whose backlog its process knows: a claim that knows of another URL corrects it.
 */
const claimStatement = sql(
  'delivery_claim',
  `with host as materialized (
     select hostname, room from unnest($5::text[], $6::integer[]) as h(hostname, room)
   ), known as materialized (
     select endpoint_id, slots, room, has_backlog, is_mixed
     from unnest($8::uuid[], $9::integer[], $10::integer[], $11::boolean[], $12::boolean[])
       as k(endpoint_id, slots, room, has_backlog, is_mixed)
   ), candidate as (
     select endpoint_id, version, turn, breaker, limit_now, hostname, only_url, url_queues,
       (select seen.version from endpoint as seen where seen.endpoint_id = e.endpoint_id)
         as seen_version
     from endpoint as e
     where endpoint_id = any(array(
         select endpoint_id from (
           select endpoint_id from endpoint as ready
           where ready_at <= clock_now() and (breaker_until is null or breaker_until <= clock_now())
             and paused_at is null
             and not exists (select 1 from host where host.hostname = ready.hostname and host.room <= 0)
           order by ready_at
           limit $1
         ) as ready
         union
         select endpoint_id from known where has_backlog and room > 0
       ))
       and (breaker_until is null or breaker_until <= clock_now()) and paused_at is null
       and not exists (select 1 from host where host.hostname = e.hostname and host.room <= 0)
     for update of e skip locked
   ), slotted as materialized (
     select candidate.endpoint_id, version, seen_version, turn, hostname, breaker, url_queues,
       case when known.is_mixed then null else only_url end as only_url,
       case breaker when 'closed' then coalesce(known.slots, limit_now) else 1 end as slots,
       case breaker when 'closed' then known.room end as own_room,
       array(
         select url_key(url) from delivery
         where delivery.endpoint_id = candidate.endpoint_id and state = 'sending'
       ) as in_flight
     from candidate left join known on known.endpoint_id = candidate.endpoint_id
   ), shared as materialized (
     select endpoint_id, version, seen_version, turn, hostname, breaker, only_url, url_queues, in_flight,
       greatest(slots / 2, 1) as url_slots, least(slots - cardinality(in_flight), own_room) as free,
       greatest(0, least(
         slots - cardinality(in_flight), own_room,
         case when only_url is not null then
           greatest(slots / 2, 1) - cardinality(array_positions(in_flight, only_url))
         end
       )) as room
     from slotted
   ), roomy as (
     select endpoint_id, version, seen_version, turn, hostname, breaker, only_url, url_queues, in_flight,
       url_slots, room,
       case when room > 0 and room < free then room + 1 else room end as head
     from shared
   ), found as (
     select roomy.endpoint_id, roomy.hostname, roomy.turn, roomy.room, roomy.head, due.delivery_id,
       due.url_key, due.is_queued, due.next_attempt_at, due.kind_of,
       roomy.url_slots - cardinality(array_positions(roomy.in_flight, due.url_key)) as url_room
     from roomy cross join lateral (
       select delivery_id, url_key(url) as url_key, false as is_queued, next_attempt_at,
         'probe' as kind_of
       from (
         select delivery_id, url, next_attempt_at from delivery
         where endpoint_id = roomy.endpoint_id and url_queue = '' and state = 'pending'
           and attempts < 1 and next_attempt_at <= clock_now() and roomy.breaker <> 'closed'
         order by next_attempt_at desc limit roomy.room
         for update skip locked
       ) as probe
       union all
       select delivery_id, url_key(url), false, next_attempt_at, 'fresh'
       from ${dueRows("''", '< 1', 'roomy.head', "and roomy.breaker = 'closed'")} as fresh
       union all
       select delivery_id, url_key(url), false, next_attempt_at, 'retry'
       from ${dueRows("''", '<> 0', 'roomy.head')} as retry
       union all
       select queued.delivery_id, queue.key, true, queued.next_attempt_at, queued.kind_of
       from unnest(roomy.url_queues) as queue(key) cross join lateral (
         select least(
           roomy.room, roomy.url_slots - cardinality(array_positions(roomy.in_flight, queue.key))
         ) as room
       ) as of_url cross join lateral (
         select delivery_id, next_attempt_at, 'fresh' as kind_of
         from ${dueRows('queue.key', '< 1', 'greatest(of_url.room, 0)')} as fresh
         union all
         select delivery_id, next_attempt_at, 'retry'
         from ${dueRows('queue.key', '<> 0', 'greatest(of_url.room, 0)')} as retry
       ) as queued
     ) as due
   ), numbered as (
     select endpoint_id, hostname, turn, room, head, delivery_id, url_key, is_queued, kind_of, url_room,
       row_number() over (
         partition by endpoint_id, url_room > 0, kind_of order by next_attempt_at
       ) - 1 as n
     from found
   ), placed as (
     select endpoint_id, hostname, room, head, delivery_id, is_queued, kind_of, ${pushRank} as push_rank,
       row_number() over (partition by endpoint_id, url_key order by ${pushRank}) <= url_room as fits
     from numbered
   ), due as (
     select endpoint_id, hostname, room, head, delivery_id, is_queued, kind_of, push_rank, fits,
       row_number() over (partition by endpoint_id, fits order by push_rank) as nth
     from placed
   ), hosted as (
     select endpoint_id, hostname, delivery_id, push_rank, nth,
       row_number() over (partition by hostname order by nth, push_rank) as host_nth
     from due where fits and nth <= room
   ), picked as (
     select hosted.endpoint_id, hosted.hostname, hosted.delivery_id, hosted.push_rank
     from hosted left join host on host.hostname = hosted.hostname
     where hosted.host_nth <= coalesce(host.room, $7)
     order by hosted.nth, hosted.push_rank limit $2
   ), claimed as (
     update delivery set
       state = 'sending', attempts = attempts + 1, next_attempt_at = null, url_queue = '',
       lease_token = $3, lease_until = clock_now() + $4 * interval '1 second',
       attempt_started_at = date_trunc('milliseconds', clock_now())
     from picked
     where delivery.delivery_id = picked.delivery_id
     returning delivery.delivery_id, delivery.endpoint_id, project_id, event_id, subject_id, kind, url, body,
       failures, attempts, earlier_attempts, round, attempt_started_at, occurred_at, picked.hostname,
       traceparent
   ), offer as (
     select endpoint_id, count(*) filter (where fits) as fitting, bool_or(not fits) as held_back,
       greatest(
         count(*) filter (where kind_of = 'fresh' and not is_queued),
         count(*) filter (where kind_of = 'retry' and not is_queued)
       ) >= max(head) as goes_on
     from due group by endpoint_id
   ), share as (
     select endpoint_id, count(*) as taken, max(push_rank) as last_rank from picked group by endpoint_id
   ), tally as (
     select roomy.endpoint_id, roomy.version, roomy.seen_version, roomy.room, roomy.in_flight,
       roomy.only_url, roomy.url_queues, coalesce(fitting, 0) as fitting, coalesce(taken, 0) as taken, last_rank,
       coalesce(fitting < roomy.room and goes_on, false) as blocked,
       coalesce(held_back or goes_on or fitting > roomy.room, roomy.room = 0)
         or roomy.url_queues <> '{}' or roomy.breaker <> 'closed' and offer.endpoint_id is not null
         as has_more
     from roomy
       left join offer on offer.endpoint_id = roomy.endpoint_id
       left join share on share.endpoint_id = roomy.endpoint_id
   ), looked_at as (
     update endpoint set
       version = endpoint.version + 1,
       turn = coalesce((tally.last_rank + 1) % 5, endpoint.turn),
       breaker = case when breaker = 'open' and tally.taken > 0 then 'half_open' else breaker end,
       only_url = tally.only_url,
       url_queues = case when tally.url_queues = '{}' then '{}' else array(
         select key from unnest(tally.url_queues) as key
         where tally.version <> tally.seen_version or key = any(tally.in_flight)
           or ${waitsIn('< 1')} or ${waitsIn('<> 0')}
       ) end,
       ready_at = case
         when tally.version <> tally.seen_version then clock_now()
         when tally.taken < least(tally.fitting, tally.room) then clock_now()
         else coalesce(least(
           case when tally.has_more then clock_now() + interval '1 second' end,
           ${nextOf('< 1')},
           ${nextOf('<> 0')}
         ), 'infinity')
       end
     from tally
     where endpoint.endpoint_id = tally.endpoint_id
     returning endpoint.endpoint_id, endpoint.hostname, limit_now, growth, breaker, breaker_opened,
       connect_failures, extract(epoch from clock_now() - answered_at) * 1000 as answered_ms_ago,
       tally.blocked, ready_at < 'infinity' and tally.has_more as has_more, endpoint.only_url
   )
   select delivery_id as "deliveryId", endpoint_id as "endpointId", project_id as "projectId",
     event_id as "eventId", subject_id as "subjectId", kind, url, body, failures, attempts as number,
     earlier_attempts as "earlierAttempts", attempt_started_at as "startedAt",
     occurred_at as "occurredAt", $3::uuid as "leaseToken", round, hostname, traceparent,
     null::smallint as "limit", null::smallint as growth, null as breaker,
     null::smallint as "breakerOpened", null::smallint as "connectFailures",
     null::double precision as "answeredMsAgo", null::boolean as "isBlocked", null::boolean as "hasMore",
     null::bytea as "onlyUrl"
   from claimed
   union all
   select null, endpoint_id, null, null, null, null, null, null, null, null, null, null, null, null, null,
     hostname, null, limit_now, growth, breaker, breaker_opened, connect_failures,
     answered_ms_ago::double precision, blocked, has_more, only_url
   from looked_at
   union all
   select null, paused.endpoint_id, null, null, null, null, null, null, null, null, null, null, null, null, null,
     hostname, null, limit_now, growth, case breaker when 'open' then 'half_open' else breaker end,
     breaker_opened, connect_failures,
     (extract(epoch from clock_now() - answered_at) * 1000)::double precision, false, false, only_url
   from known join endpoint as paused on paused.endpoint_id = known.endpoint_id and paused.paused_at is not null`,
)

/** A lane that a claim has looked at, as it is stored. */
export interface LookedAtLane {
  endpointId: string
  hostname: string
  limit: number
  growth: number
  /** Never `open`: the breaker of a lane from which something was claimed is half open at least. */
  breaker: Breaker
  breakerOpened: number
  connectFailures: number
  /** Null: no answer is known. */
  answeredMsAgo: number | null
  /** It has free slots and pushes to which the claim could not get. */
  isBlocked: boolean
  /** It has more pushes that are due. */
  hasMore: boolean
  /** Key of the URL that all its waiting pushes are for, by its row; null: of several, or not known. */
  onlyUrl: Buffer | null
}

/** What a claim has found. */
export interface Claim {
  deliveries: Claimed[]
  lanes: LookedAtLane[]
}

/**
 * Takes due deliveries under one lease and records an attempt for each, all in one statement. Locks the
 * lanes that it looks at (skipping locked ones) and their due rows.
 */
export async function claimDue(
  db: Queryable,
  leaseToken: string,
  limits: ClaimLimits,
): Promise<Claim> {
  const { endpoints, deliveries, leaseS, hostRoom = unlimited, roomByHost, known = [] } = limits
  const rows = await db.rows<Claimed | (LookedAtLane & { deliveryId: null })>(claimStatement, [
    endpoints,
    deliveries,
    leaseToken,
    leaseS,
    [...(roomByHost?.keys() ?? [])],
    [...(roomByHost?.values() ?? [])],
    hostRoom,
    known.map(({ endpointId }) => endpointId),
    known.map(({ slots }) => slots),
    known.map(({ room }) => room),
    known.map(({ hasBacklog }) => hasBacklog),
    known.map(({ isMixed }) => isMixed),
  ])
  return {
    deliveries: rows.filter((row): row is Claimed => row.deliveryId !== null),
    lanes: rows.filter(
      (row): row is LookedAtLane & { deliveryId: null } => row.deliveryId === null,
    ),
  }
}

const nextDueStatement = sql(
  'delivery_next_due',
  `select extract(epoch from min(ready_at) - clock_now())::double precision * 1000 as "inMs"
   from endpoint where ready_at < 'infinity' and paused_at is null`,
)

/** Milliseconds until the next lane is due, negative when one is; undefined while no push waits. */
export async function nextDueMs(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ inMs: number | null }>(nextDueStatement, []))?.inMs ?? undefined
}
