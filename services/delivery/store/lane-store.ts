// The statement that stores what a process has learned about lanes: once a second, for other processes and the next start.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Lane } from '../domain/lane.ts'

/** A lane whose state is to be stored. */
export interface LearnedLane {
  endpointId: string
  lane: Lane
  /** The breaker opened or closed since the state was last stored. */
  breakerChanged: boolean
}

/*
 * A breaker is stored by the process in which it opened or closed, and left alone by all others. The version changes with
 * it: a claim that has read the lane before leaves it ready.
 */
const storeStatement = sql(
  'delivery_store_lanes',
  `update endpoint set
     limit_now = n.limit_now, growth = n.growth, connect_failures = n.connect_failures,
     window_started_at = clock_now() - n.window_ms_ago * interval '1 millisecond',
     window_attempts = n.window_attempts, window_failures = n.window_failures,
     answered_at = greatest(answered_at, clock_now() - n.answered_ms_ago * interval '1 millisecond'),
     breaker_opened = n.breaker_opened,
     breaker = coalesce(n.breaker, endpoint.breaker),
     breaker_until = case n.breaker
       when 'open' then clock_now() + n.open_ms * interval '1 millisecond'
       when 'closed' then null
       else breaker_until
     end,
     ready_at = case n.breaker
       when 'open' then clock_now() + n.open_ms * interval '1 millisecond'
       when 'closed' then clock_now()
       else ready_at
     end,
     version = endpoint.version + case when n.breaker is null then 0 else 1 end
   from unnest(
     (select $1::uuid[]), $2::smallint[], $3::smallint[], $4::smallint[], $5::smallint[],
     $6::double precision[], $7::text[], $8::double precision[], $9::double precision[], $10::integer[],
     $11::integer[]
   ) as n(
     endpoint_id, limit_now, growth, connect_failures, breaker_opened, answered_ms_ago, breaker, open_ms,
     window_ms_ago, window_attempts, window_failures
   )
   where endpoint.endpoint_id = n.endpoint_id`,
)

const wakeStatement = sql(
  'delivery_wake_lanes',
  `with late as (
     select endpoint_id from endpoint where endpoint_id = any($1::uuid[]) and ready_at > clock_now()
     order by endpoint_id for no key update
   )
   update endpoint set ready_at = greatest(clock_now(), breaker_until), version = version + 1
   from late where endpoint.endpoint_id = late.endpoint_id`,
)

/**
 * Makes lanes ready from which a process claimed because it knew of their backlog, and will claim no more. Locks them in the order
 * of their ids.
 */
export async function wakeLanes(db: Queryable, endpointIds: readonly string[]): Promise<void> {
  await db.run(wakeStatement, [endpointIds])
}

const maxSmall = 1_000

/** Stores the state of these lanes as of `nowMs`. Locks them one by one, in the order of their ids. */
export async function storeLanes(
  db: Queryable,
  learned: LearnedLane[],
  nowMs: number,
): Promise<void> {
  const sorted = learned.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
  const column = <T>(of: (lane: Lane) => T): T[] => sorted.map(({ lane }) => of(lane))
  await db.run(storeStatement, [
    sorted.map(({ endpointId }) => endpointId),
    column(({ limit }) => limit),
    column(({ growth }) => growth),
    column(({ connectFailures }) => Math.min(connectFailures, maxSmall)),
    column(({ breakerOpened }) => Math.min(breakerOpened, maxSmall)),
    column(({ latest }) => (latest === undefined ? null : nowMs - latest.atMs)),
    sorted.map(({ lane, breakerChanged }) => (breakerChanged ? lane.breaker : null)),
    column(({ breakerUntilMs }) => Math.max(0, breakerUntilMs - nowMs)),
    column(({ window }) => nowMs - window.startedMs),
    column(({ window }) => window.attempts),
    column(({ window }) => window.failures),
  ])
}
