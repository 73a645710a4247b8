// Statements that read deliveries for people. They change and lock nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import {
  type AttemptOutcome,
  type DeliveryKind,
  type DeliveryState,
  deliveryMachine,
} from '../domain/delivery.ts'

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

/** Columns of an `AttemptRow` without its answer, of `attempt`. */
export const attemptColumns = `number, started_at as "startedAt", outcome, status, total_ms as "totalMs",
  peer_address as "peerAddress", error, round, resolve_ms as "resolveMs", connect_ms as "connectMs",
  first_byte_ms as "firstByteMs", retry_after_s as "retryAfterS", next_attempt_at as "nextAttemptAt"`

const attemptsStatement = sql(
  'delivery_attempts',
  `(select ${attemptColumns}, answer from attempt
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
