// Statements that read what waits, for metrics and to find it again. They change and lock nothing, and idle lanes cost them nothing.
import { type Queryable, sql } from '#platform/db/db.ts'
import { oldestWaiting } from './endpoint-store.ts'

const nextLane = (after: string) => `least(
       (select endpoint_id from delivery where state = 'pending' and attempts < 1 and endpoint_id > ${after}
        order by endpoint_id limit 1),
       (select endpoint_id from delivery where state = 'pending' and attempts <> 0 and endpoint_id > ${after}
        order by endpoint_id limit 1)
     )`

/**
 * Lanes in which pushes wait, in the order of their ids: those after `after`, `limit` at most, then one of null if there are fewer.
 * Each is one step in the indexes that claims use, however much waits in it.
 */
const waiting = (after: string, limit: string) => `waiting (endpoint_id, position) as (
     select ${nextLane(after)}, 1
     union all
     select ${nextLane('waiting.endpoint_id')}, position + 1
     from waiting where endpoint_id is not null and position < ${limit}
   )`

const firstId = '00000000-0000-0000-0000-000000000000'

const waitingStatement = sql(
  'delivery_list_waiting_lanes',
  `with recursive ${waiting('$1', '$2')}
   select endpoint_id as "endpointId" from waiting where endpoint_id is not null order by endpoint_id`,
)

/** Ids of lanes in which pushes wait, `limit` at most: the first, or those after `after`. */
export async function listWaitingLanes(
  db: Queryable,
  limit: number,
  after: string = firstId,
): Promise<string[]> {
  const lanes = await db.rows<{ endpointId: string }>(waitingStatement, [after, limit])
  return lanes.map(({ endpointId }) => endpointId)
}

const oldestDueStatement = sql(
  'delivery_oldest_due',
  `with recursive ${waiting(`'${firstId}'`, '$1')}
   select greatest(extract(epoch from clock_now() - min(oldest.next_attempt_at)), 0)::double precision as s
   from waiting join endpoint as e on e.endpoint_id = waiting.endpoint_id
     cross join lateral (${oldestWaiting}) as oldest
   where e.paused_at is null`,
)

/**
 * Age in seconds of the oldest due push of lanes that are not paused, 0 without any. It is asked of each lane in which pushes wait, of
 * `maxLanes` at most: an index across lanes would lead claims to rows of others.
 */
export async function readOldestDueS(db: Queryable, maxLanes: number): Promise<number> {
  return (await db.row<{ s: number }>(oldestDueStatement, [maxLanes]))?.s ?? 0
}

/** Lanes to look at, of those that are ready for longest: one whose breaker was open until later has waited for less than it is ready. */
const readyLanes = 1_000

const oldestReadyStatement = sql(
  'delivery_oldest_ready',
  `select greatest(extract(epoch from clock_now() - min(greatest(ready_at, breaker_until))), 0)::double precision as s
   from (
     select ready_at, breaker_until from endpoint
     where ready_at <= clock_now() and (breaker_until is null or breaker_until <= clock_now())
       and paused_at is null
     order by ready_at limit ${readyLanes}
   ) as ready`,
)

/**
 * For how many seconds the lane that a claim should look at first has waited for one. A lane is ready when a push of it may be sent, and
 * each claim that looks at it moves that time: it is old only if no claim does.
 */
export async function readOldestReadyS(db: Queryable): Promise<number> {
  return (await db.row<{ s: number }>(oldestReadyStatement, []))?.s ?? 0
}

const givenUp = (state: 'exhausted' | 'blocked') => `(
     select count(*) from (
       select 1 from delivery where state = '${state}' order by ended_at limit $1
     ) as counted
   )::integer as ${state}`

const givenUpStatement = sql(
  'delivery_count_given_up',
  `select ${givenUp('exhausted')}, ${givenUp('blocked')}`,
)

/** Pushes that were given up, by state. */
export type GivenUp = { exhausted: number; blocked: number }

/** Counts them, `limit` of each state at most: they are kept for 90 days. */
export async function countGivenUp(db: Queryable, limit: number): Promise<GivenUp> {
  return (await db.row<GivenUp>(givenUpStatement, [limit])) ?? { exhausted: 0, blocked: 0 }
}

const countLanes = (name: string, condition: string) =>
  sql(
    name,
    `select count(*)::integer as n from (select 1 from endpoint where ${condition} limit $1) as counted`,
  )

const countStatements = {
  open: countLanes('delivery_count_open_breakers', "breaker <> 'closed'"),
  paused: countLanes('delivery_count_paused_lanes', 'paused_at is not null'),
}

/** Counts lanes whose breaker is not closed (`open`) or that are paused, `limit` at most. */
export async function countLanesThat(
  db: Queryable,
  are: keyof typeof countStatements,
  limit: number,
): Promise<number> {
  return (await db.row<{ n: number }>(countStatements[are], [limit]))?.n ?? 0
}
