// Statements that insert new deliveries.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { DeliveryKind } from '../domain/delivery.ts'
import { urlDigest, urlKey } from '../domain/url-key.ts'

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

/** Where nothing waits (`infinity`), the new pushes alone say whether the lane is for one URL. */
const wakeStatement = sql(
  'delivery_wake_endpoints',
  `insert into endpoint (
     endpoint_id, project_id, origin, hostname, lane_kind, only_url, ready_at, window_started_at,
     created_at
   )
   select endpoint_id, project_id, origin, hostname, kind, only_url, clock_now(), clock_now(), clock_now()
   from unnest((select $1::uuid[]), $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bytea[])
     as n(endpoint_id, project_id, origin, hostname, kind, only_url)
   order by endpoint_id
   on conflict (endpoint_id) do update set
     version = endpoint.version + 1,
     only_url = case
       when endpoint.ready_at = 'infinity' or endpoint.only_url = excluded.only_url then excluded.only_url
     end,
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
  const endpoints = lanesOf(deliveries)
  const woken = tx.run(wakeStatement, [
    endpoints.map(({ endpointId }) => endpointId),
    endpoints.map(({ projectId }) => projectId),
    endpoints.map(({ origin }) => origin),
    endpoints.map(({ hostname }) => hostname),
    endpoints.map(({ kind }) => kind),
    endpoints.map(({ onlyUrl }) => (onlyUrl === undefined ? null : urlKey(onlyUrl))),
  ])
  // One round trip: they run in this order on the connection of the transaction.
  await Promise.all([inserted, woken])
}

/** One of the deliveries for each lane, with the URL that all of that lane are for, when it is one. */
function lanesOf(deliveries: NewDelivery[]): (NewDelivery & { onlyUrl: string | undefined })[] {
  const lanes = new Map<string, NewDelivery & { onlyUrl: string | undefined }>()
  for (const delivery of deliveries) {
    const known = lanes.get(delivery.endpointId)
    if (known === undefined) lanes.set(delivery.endpointId, { ...delivery, onlyUrl: delivery.url })
    else if (known.onlyUrl !== delivery.url) known.onlyUrl = undefined
  }
  return [...lanes.values()]
}
