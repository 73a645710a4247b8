// Statements that lay down new deliveries. They must not render a body.
import { type Queryable, sql } from '#runtime/db.ts'
import { urlDigest } from './complete-store.ts'
import type { DeliveryKind } from './delivery.ts'

/** A push that an event calls for. */
export interface NewDelivery {
  deliveryId: string
  endpointId: string
  projectId: string
  eventId: string
  kind: DeliveryKind
  subjectId: string
  url: string
  origin: string
  hostname: string
  body: Buffer
  occurredAt: Date
  /** The trace that its POSTs belong to, while traces are recorded. */
  traceparent?: string | null
}

// The first array of each is a sub-select, so that the statement is planned once and not for each length.
const insertStatement = sql(
  'delivery_insert',
  `insert into delivery (
     delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, occurred_at, state,
     next_attempt_at, created_at, ended_at, traceparent
   )
   select delivery_id, n.project_id, endpoint_id, event_id, kind, n.subject_id, url, body, occurred_at,
     case when g.project_id is null then 'pending' else 'gone' end,
     case when g.project_id is null then date_trunc('milliseconds', clock_now()) end,
     date_trunc('milliseconds', clock_now()),
     case when g.project_id is not null then clock_now() end, traceparent
   from unnest(
     (select $1::uuid[]), $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::bytea[],
     $9::bytea[], $10::timestamptz[], $11::text[]
   ) as n(
     delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, url_sha256, body, occurred_at,
     traceparent
   )
   left join gone_url as g on g.project_id = n.project_id and g.subject_id = n.subject_id
     and g.url_sha256 = n.url_sha256
   on conflict (delivery_id) do nothing`,
)

const wakeStatement = sql(
  'delivery_wake_endpoints',
  `insert into endpoint (
     endpoint_id, project_id, origin, hostname, lane_kind, ready_at, window_started_at, created_at
   )
   select endpoint_id, project_id, origin, hostname, kind, clock_now(), clock_now(), clock_now()
   from unnest((select $1::uuid[]), $2::uuid[], $3::text[], $4::text[], $5::text[])
     as n(endpoint_id, project_id, origin, hostname, kind)
   order by endpoint_id
   on conflict (endpoint_id) do update set
     version = endpoint.version + 1,
     ready_at = greatest(least(endpoint.ready_at, excluded.ready_at), endpoint.breaker_until)`,
)

/**
 * Lays down deliveries, once each, and makes their receivers ready. One to a URL that is gone for its
 * subject is born `gone`. Locks the receivers, in id order, until the transaction ends.
 */
export async function insertDeliveries(tx: Queryable, deliveries: NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return
  const inserted = tx.run(insertStatement, [
    deliveries.map(({ deliveryId }) => deliveryId),
    deliveries.map(({ projectId }) => projectId),
    deliveries.map(({ endpointId }) => endpointId),
    deliveries.map(({ eventId }) => eventId),
    deliveries.map(({ kind }) => kind),
    deliveries.map(({ subjectId }) => subjectId),
    deliveries.map(({ url }) => url),
    deliveries.map(({ url }) => urlDigest(url)),
    deliveries.map(({ body }) => body),
    deliveries.map(({ occurredAt }) => occurredAt),
    deliveries.map(({ traceparent }) => traceparent ?? null),
  ])
  const endpoints = [...new Map(deliveries.map((one) => [one.endpointId, one])).values()]
  const woken = tx.run(wakeStatement, [
    endpoints.map(({ endpointId }) => endpointId),
    endpoints.map(({ projectId }) => projectId),
    endpoints.map(({ origin }) => origin),
    endpoints.map(({ hostname }) => hostname),
    endpoints.map(({ kind }) => kind),
  ])
  // One round trip: they run in this order on the connection of the transaction.
  await Promise.all([inserted, woken])
}
