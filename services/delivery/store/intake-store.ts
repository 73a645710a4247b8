// Statements that store the pushes of new events, those that are sent at once already under their lease.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { DeliveryKind } from '../domain/delivery.ts'
import { urlDigest, urlKey } from '../domain/url-key.ts'
import { insertSignings, type Signing } from './signing-store.ts'

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
  /** Whose payment it is about, and the type of its event; absent for onboarding. */
  merchantId?: string
  eventType?: string
  /** Of an onboarding callback; no other push is signed. */
  signing?: Signing
}

/** Events with their pushes. */
export interface Intake {
  eventIds: string[]
  pushes: readonly NewDelivery[]
  /** Ids of the deliveries that this process sends at once. */
  direct: ReadonlySet<string>
  /** Ids of the lanes that are made ready for the others. */
  makesReady: ReadonlySet<string>
  /** Lease of those. */
  leaseToken: string
  leaseS: number
}

/** What was new. */
export interface Stored {
  /** Ids of the events that were not processed before. */
  newEvents: Set<string>
  /** By id of the delivery, the start of its first attempt: those that this process has to send now. */
  startedAt: Map<string, Date>
}

/*
 * The inbox decides which events are new, so a repeated event stores nothing. A push to a URL that is gone for its subject is
 * born `gone`; one of a lane that is paused waits. Such a lane is locked: a pause that ends meanwhile either is seen, or makes the lane ready
 * after the commit. The first array is a sub-select, so that the statement is planned once and not for each length.
 * "in" is below another operator, or it would become a join that compares each push with each event.
 */
const storeStatement = sql(
  'delivery_store_events',
  `with taken as (
     insert into inbox (event_id)
     select event_id from unnest((select $1::uuid[])) as t(event_id) order by event_id
     on conflict (event_id) do nothing
     returning event_id
   ), paused as materialized (
     select endpoint_id from endpoint where endpoint_id = any ($4::uuid[]) and paused_at is not null
     order by endpoint_id for no key update
   ), stored as (
     insert into delivery (
       delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, occurred_at, traceparent,
       merchant_id, event_type, state, attempts, next_attempt_at, lease_token, lease_until, attempt_started_at, created_at, ended_at
     )
     select delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, occurred_at, traceparent,
       merchant_id, event_type, state,
       case when state = 'sending' then 1 else 0 end,
       case when state = 'pending' then date_trunc('milliseconds', clock_now()) end,
       case when state = 'sending' then $13::uuid end,
       case when state = 'sending' then clock_now() + $14 * interval '1 second' end,
       case when state = 'sending' then date_trunc('milliseconds', clock_now()) end,
       date_trunc('milliseconds', clock_now()),
       case when state = 'gone' then clock_now() end
     from (
       select n.*,
         case when g.project_id is not null then 'gone'
           when is_direct and paused.endpoint_id is null then 'sending' else 'pending' end as state
       from unnest(
         (select $2::uuid[]), $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::bytea[],
         $10::bytea[], $11::timestamptz[], $12::text[], $15::boolean[],
         $16::uuid[], $17::text[]
       ) as n(
         delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, url_sha256, body, occurred_at,
         traceparent, is_direct, merchant_id, event_type
       )
       left join gone_url as g on g.project_id = n.project_id and g.subject_id = n.subject_id
         and g.url_sha256 = n.url_sha256
       left join paused on paused.endpoint_id = n.endpoint_id
     ) as placed
     where (event_id in (select taken.event_id from taken)) is true
     on conflict (delivery_id) do nothing
     returning delivery_id, state, attempt_started_at
   )
   select event_id as "eventId", null::uuid as "deliveryId", null::timestamptz as "startedAt" from taken
   union all
   select null, delivery_id, attempt_started_at from stored where state = 'sending'`,
)

/** Where nothing waits (`infinity`), the new pushes alone say whether the lane is for one URL. */
const makeReadyStatement = sql(
  'delivery_make_lanes_ready',
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

type StoredPush = { eventId: string; deliveryId: null } | { deliveryId: string; startedAt: Date }

/**
 * Stores new events and their pushes, once each. The direct ones are under their lease with their first attempt recorded, but those of
 * a paused lane; the others are due. Lanes that are made ready are locked in id order until the commit. Rejects as a Database does.
 */
export async function storeEvents(db: Database, intake: Intake): Promise<Stored> {
  const { pushes, direct, makesReady } = intake
  const waiting = pushes.filter(
    ({ deliveryId, endpointId }) => !direct.has(deliveryId) && makesReady.has(endpointId),
  )
  const signed = pushes.filter(({ signing }) => signing !== undefined)
  if (waiting.length === 0 && signed.length === 0) {
    return readStored(await db.rows<StoredPush>(storeStatement, columns(intake)))
  }
  return db.transaction(async (tx) => {
    // One round trip: they run in this order on the connection of the transaction.
    const [rows] = await Promise.all([
      tx.rows<StoredPush>(storeStatement, columns(intake)),
      waiting.length === 0 ? undefined : makeLanesReady(tx, waiting),
    ])
    const stored = readStored(rows)
    const signings = signed.filter(({ eventId }) => stored.newEvents.has(eventId))
    await insertSignings(
      tx,
      signings.flatMap(({ deliveryId, signing }) => (signing ? [{ deliveryId, ...signing }] : [])),
    )
    return stored
  })
}

function columns({ eventIds, pushes, direct, leaseToken, leaseS }: Intake): unknown[] {
  const column = (type: ArrayType, value: (push: NewDelivery) => unknown) =>
    arrayParameter(type, pushes.map(value))
  return [
    arrayParameter('uuid', eventIds),
    column('uuid', ({ deliveryId }) => deliveryId),
    column('uuid', ({ projectId }) => projectId),
    column('uuid', ({ endpointId }) => endpointId),
    column('uuid', ({ eventId }) => eventId),
    column('text', ({ kind }) => kind),
    column('text', ({ subjectId }) => subjectId),
    column('text', ({ url }) => url),
    column('bytea', ({ url }) => urlDigest(url)),
    column('bytea', ({ body }) => body),
    column('timestamptz', ({ occurredAt }) => occurredAt),
    column('text', ({ traceparent }) => traceparent),
    leaseToken,
    leaseS,
    column('boolean', ({ deliveryId }) => direct.has(deliveryId)),
    column('uuid', ({ merchantId }) => merchantId),
    column('text', ({ eventType }) => eventType),
  ]
}

function readStored(rows: StoredPush[]): Stored {
  const stored: Stored = { newEvents: new Set(), startedAt: new Map() }
  for (const row of rows) {
    if (row.deliveryId === null) stored.newEvents.add(row.eventId)
    else stored.startedAt.set(row.deliveryId, row.startedAt)
  }
  return stored
}

async function makeLanesReady(tx: Queryable, waiting: NewDelivery[]): Promise<void> {
  const lanes = lanesOf(waiting)
  await tx.run(makeReadyStatement, [
    lanes.map(({ endpointId }) => endpointId),
    lanes.map(({ projectId }) => projectId),
    lanes.map(({ origin }) => origin),
    lanes.map(({ hostname }) => hostname),
    lanes.map(({ kind }) => kind),
    lanes.map(({ onlyUrl }) => (onlyUrl === undefined ? null : urlKey(onlyUrl))),
  ])
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
