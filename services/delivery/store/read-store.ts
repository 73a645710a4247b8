// Statements that read deliveries for people and for metrics. They change and lock nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import {
  type AttemptOutcome,
  type DeliveryKind,
  type DeliveryState,
  deliveryMachine,
} from '../domain/delivery.ts'
import { oldestWaiting } from './endpoint-store.ts'

/** A delivery as it is shown: without URL and body. */
export interface DeliveryRow {
  deliveryId: string
  projectId: string
  kind: DeliveryKind
  subjectId: string
  origin: string
  state: DeliveryState
  attempts: number
  nextAttemptAt: Date | null
  createdAt: Date
  round: number
  eventId: string
  endpointId: string
  occurredAt: Date
  endedAt: Date | null
  bodyBytes: number
}

/** An attempt as it is shown. */
export interface AttemptRow {
  number: number
  startedAt: Date
  outcome: AttemptOutcome
  status: number | null
  totalMs: number | null
  peerAddress: string | null
  error: string | null
  round: number
  resolveMs: number | null
  connectMs: number | null
  firstByteMs: number | null
  retryAfterS: number | null
  answer: Buffer | null
  nextAttemptAt: Date | null
}

/** Which deliveries to list; unset fields take any. */
export interface DeliveryFilter {
  projectId: string
  subjectId?: string | undefined
  kind?: DeliveryKind | undefined
  state?: DeliveryState | undefined
  /** First time of creation. */
  startTime?: Date | undefined
  /** Only those older than this one. */
  before?: { createdAt: Date; deliveryId: string } | undefined
  limit: number
}

/** Columns of a `DeliveryRow`, of `delivery as d` and its endpoint. */
export const shownColumns = `d.delivery_id as "deliveryId", d.project_id as "projectId", kind,
  subject_id as "subjectId", origin, state, attempts, next_attempt_at as "nextAttemptAt",
  d.created_at as "createdAt", round, event_id as "eventId", d.endpoint_id as "endpointId",
  occurred_at as "occurredAt", ended_at as "endedAt", octet_length(body) as "bodyBytes"`

const page = `and ($2::text is null or kind = $2) and d.created_at >= $6 and (d.created_at, d.delivery_id) < ($3, $4)
  order by d.created_at desc, d.delivery_id desc
  limit $5`

const listStatement = sql(
  'delivery_list',
  `select ${shownColumns} from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
   where d.project_id = $1 ${page}`,
)

/** One a state, named in its text: a rare one is found by the partial index that holds it. */
const listInStateStatements = Object.fromEntries(
  Object.keys(deliveryMachine).map((state) => [
    state,
    sql(
      `delivery_list_${state}`,
      `select ${shownColumns} from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
       where d.project_id = $1 and state = '${state}' ${page}`,
    ),
  ]),
) as Record<DeliveryState, Sql>

const listOfSubjectStatement = sql(
  'delivery_list_of_subject',
  `select ${shownColumns} from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
   where d.project_id = $1 and subject_id = $7 and ($8::text is null or state = $8) ${page}`,
)

const noLowerBound = new Date(0)
const farFuture = new Date('9999-12-31T00:00:00Z')
const lastUuid = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** A project's deliveries, newest first. */
export function listDeliveries(db: Queryable, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const values = [
    filter.projectId,
    filter.kind ?? null,
    filter.before?.createdAt ?? farFuture,
    filter.before?.deliveryId ?? lastUuid,
    filter.limit,
    filter.startTime ?? noLowerBound,
  ]
  const { subjectId, state } = filter
  if (subjectId !== undefined) {
    return db.rows(listOfSubjectStatement, [...values, subjectId, state ?? null])
  }
  return db.rows(state === undefined ? listStatement : listInStateStatements[state], values)
}

const findStatement = sql(
  'delivery_find',
  `select ${shownColumns}, url, body from delivery as d join endpoint on endpoint.endpoint_id = d.endpoint_id
   where d.project_id = $1 and d.delivery_id = $2`,
)

/** A project's delivery with what is posted, and where. */
export function findDelivery(
  db: Queryable,
  projectId: string,
  deliveryId: string,
): Promise<(DeliveryRow & { url: string; body: Buffer }) | undefined> {
  return db.row(findStatement, [projectId, deliveryId])
}

/** Attempts that a page or a message shows, with their responses; the number of attempts of a delivery has no limit. */
export const maxShownAttempts = 100

const attemptsStatement = sql(
  'delivery_attempts',
  `(select number, started_at as "startedAt", outcome, status, total_ms as "totalMs",
     peer_address as "peerAddress", error, round, resolve_ms as "resolveMs",
     connect_ms as "connectMs", first_byte_ms as "firstByteMs", retry_after_s as "retryAfterS",
     answer, next_attempt_at as "nextAttemptAt"
   from attempt
   where delivery_id = $1
   order by number desc limit ${maxShownAttempts})
   union all
   select attempts, attempt_started_at, 'started', null, null, null, null, round, null, null, null, null, null, null
   from delivery
   where delivery_id = $1 and state in ('sending', 'delivered', 'cancelled') and attempt_started_at is not null
     and not exists (
       select 1 from attempt where attempt.delivery_id = $1 and attempt.number = delivery.attempts
     )
   order by number`,
)

/** The newest 100 attempts of a delivery, oldest first. One in flight is in the delivery's own row until it ends. */
export function listAttempts(db: Queryable, deliveryId: string): Promise<AttemptRow[]> {
  return db.rows(attemptsStatement, [deliveryId])
}

/** Numbers of what waits and what was given up. */
export interface Backlog {
  oldestDueS: number
  /** How long the lane that a claim should look at first has waited for one. */
  oldestReadyS: number
  exhausted: number
  blocked: number
  openBreakers: number
  pausedLanes: number
}

/**
 * The oldest is asked of each receiver that is not paused: an index across them would lead claims to other receivers' rows.
 * A lane is ready when a push of it may be sent, and each claim that looks at it moves that time: it is old only if no claim does.
 */
const backlogStatement = sql(
  'delivery_backlog',
  `select
     coalesce((
       select greatest(extract(epoch from clock_now() - min(oldest.next_attempt_at)), 0)
       from endpoint as e cross join lateral (${oldestWaiting}) as oldest where e.paused_at is null
     ), 0)::double precision as "oldestDueS",
     coalesce((
       select extract(epoch from clock_now() - min(greatest(ready_at, breaker_until))) from endpoint
       where ready_at <= clock_now() and (breaker_until is null or breaker_until <= clock_now())
         and paused_at is null
     ), 0)::double precision as "oldestReadyS",
     (select count(*) from delivery where state = 'exhausted')::integer as exhausted,
     (select count(*) from delivery where state = 'blocked')::integer as blocked,
     (select count(*) from endpoint where breaker <> 'closed')::integer as "openBreakers",
     (select count(*) from endpoint where paused_at is not null)::integer as "pausedLanes"`,
)

/** Reads those numbers, each from a small index. */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const none = { exhausted: 0, blocked: 0, openBreakers: 0, pausedLanes: 0 }
  return (
    (await db.row<Backlog>(backlogStatement, [])) ?? { oldestDueS: 0, oldestReadyS: 0, ...none }
  )
}
