// Statements that show the lanes of receivers: limits, breakers and backlog. They change and lock nothing.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { DeliveryKind } from '../domain/delivery.ts'
import type { Breaker } from '../domain/lane.ts'

/** A lane as it is shown. */
export interface EndpointRow {
  endpointId: string
  projectId: string
  origin: string
  /** Null: the lane of an earlier release, for pushes of all kinds. */
  kind: DeliveryKind | null
  limitNow: number
  breaker: Breaker
  breakerUntil: Date | null
  /** Counted up to a bound. */
  pending: number
  sending: number
  oldestDueAt: Date | null
  pausedAt: Date | null
  createdAt: Date
}

/** Deliveries that are counted at most: a dead receiver may have millions. */
const countedPending = 10_000

/** When the oldest push of each queue of a lane `e` is due: the lane's own and those of URLs. */
export const oldestWaiting = `select least(
       (select min(next_attempt_at) from delivery
        where endpoint_id = e.endpoint_id and url_queue = queue.key and state = 'pending' and attempts < 1),
       (select min(next_attempt_at) from delivery
        where endpoint_id = e.endpoint_id and url_queue = queue.key and state = 'pending' and attempts <> 0)
     ) as next_attempt_at
     from unnest(''::bytea || e.url_queues) as queue(key)`

/** What waits is counted in the two partial indexes that claims use, so that no row is read. */
const shown = `e.endpoint_id as "endpointId", project_id as "projectId", origin, lane_kind as kind, limit_now as "limitNow",
  breaker, breaker_until as "breakerUntil", created_at as "createdAt", paused_at as "pausedAt",
  (select count(*) from (
     (select 1 from delivery where endpoint_id = e.endpoint_id and state = 'pending' and attempts < 1
      limit ${countedPending})
     union all
     (select 1 from delivery where endpoint_id = e.endpoint_id and state = 'pending' and attempts <> 0
      limit ${countedPending})
     limit ${countedPending}
   ) as waiting)::integer as pending,
  (select count(*) from delivery where endpoint_id = e.endpoint_id and state = 'sending')::integer
    as sending,
  (select min(oldest.next_attempt_at) from (${oldestWaiting}) as oldest
   where oldest.next_attempt_at <= clock_now()) as "oldestDueAt"`

const findStatement = sql(
  'endpoint_find',
  `select ${shown} from endpoint as e where project_id = $1 and endpoint_id = $2`,
)

/** A project's lane. */
export function findEndpoint(
  db: Queryable,
  projectId: string,
  endpointId: string,
): Promise<EndpointRow | undefined> {
  return db.row(findStatement, [projectId, endpointId])
}

/** A breaker that is not closed is named in the text: the few such lanes are found by the partial indexes that hold them. */
const conditions = {
  any: '',
  closed: "and breaker = 'closed'",
  open: "and breaker <> 'closed' and breaker = 'open'",
  half_open: "and breaker <> 'closed' and breaker = 'half_open'",
  paused: 'and paused_at is not null and ($5::text is null or breaker = $5)',
} as const

type Which = keyof typeof conditions

const list = (which: Which) =>
  sql(
    `endpoint_list_${which}`,
    `select ${shown} from endpoint as e
     where project_id = $1 and (origin, coalesce(lane_kind, '')) > ($2, $3) ${conditions[which]}
     order by origin, coalesce(lane_kind, '')
     limit $4`,
  )

const listStatements = {
  any: list('any'),
  closed: list('closed'),
  open: list('open'),
  half_open: list('half_open'),
  paused: list('paused'),
}

/** The cursor of a project's lanes: by origin, then by kind. */
export interface LaneCursor {
  origin: string
  kind: DeliveryKind | null
}

/** A project's lanes in that order, those after `after`; in one state of the breaker or in any, only paused ones or all. */
export function listEndpoints(
  db: Queryable,
  projectId: string,
  after: LaneCursor | undefined,
  limit: number,
  { breaker, onlyPaused = false }: { breaker?: Breaker | undefined; onlyPaused?: boolean } = {},
): Promise<EndpointRow[]> {
  const values = [projectId, after?.origin ?? '', after?.kind ?? '', limit]
  if (onlyPaused) return db.rows(listStatements.paused, [...values, breaker ?? null])
  return db.rows(listStatements[breaker ?? 'any'], values)
}

/** The same among the lanes of all projects: by origin, project and kind. */
export interface LaneCursorOfAll extends LaneCursor {
  projectId: string
}

const listAll = (which: Which) =>
  sql(
    `endpoint_list_all_${which}`,
    `select ${shown} from endpoint as e
     where (origin, project_id, coalesce(lane_kind, '')) > ($1, $2, $3) ${conditions[which]}
     order by origin, project_id, coalesce(lane_kind, '')
     limit $4`,
  )

const listAllStatements = {
  any: listAll('any'),
  closed: listAll('closed'),
  open: listAll('open'),
  half_open: listAll('half_open'),
  paused: listAll('paused'),
}

const firstId = '00000000-0000-0000-0000-000000000000'

/** The lanes of all projects in that order, those after `after`; in one state of the breaker or in any, only paused ones or all. */
export function listAllEndpoints(
  db: Queryable,
  breaker: Breaker | undefined,
  after: LaneCursorOfAll | undefined,
  limit: number,
  onlyPaused = false,
): Promise<EndpointRow[]> {
  const { origin = '', projectId = firstId, kind } = after ?? {}
  const values = [origin, projectId, kind ?? '', limit]
  if (onlyPaused) return db.rows(listAllStatements.paused, [...values, breaker ?? null])
  return db.rows(listAllStatements[breaker ?? 'any'], values)
}
