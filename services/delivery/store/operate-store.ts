// Statements by which operators repeat or stop deliveries.
import { Failure } from '#core/errors/errors.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import { endedStates } from '../domain/delivery.ts'
import { type DeliveryRow, findDelivery } from './read-store.ts'

const beginStatement = sql(
  'delivery_begin_round',
  `with ended as (
     select delivery_id from delivery
     where project_id = $1 and delivery_id = any($2::uuid[]) and state = any($3::text[])
     order by delivery_id
     for update
   ), replayed as (
     update delivery set
       state = 'pending', round = round + 1, failures = 0, earlier_attempts = attempts, url_queue = '',
       ended_at = null, next_attempt_at = date_trunc('milliseconds', clock_now())
     from ended
     where delivery.delivery_id = ended.delivery_id
     returning delivery.endpoint_id
   ), held as (
     select endpoint_id from endpoint
     where endpoint_id in (select endpoint_id from replayed)
     order by endpoint_id
     for update
   ), woken as (
     update endpoint set
       version = version + 1, only_url = null,
       ready_at = greatest(least(ready_at, clock_now()), breaker_until)
     from held
     where endpoint.endpoint_id = held.endpoint_id
   )
   select count(*)::integer as begun from replayed`,
)

/**
 * Begins the next round of a project's deliveries as far as they are in one of `states`; returns how many. Locks
 * them and then their receivers, both in id order.
 */
export async function beginRound(
  tx: Queryable,
  projectId: string,
  deliveryIds: string[],
  states: readonly string[],
): Promise<number> {
  const values = [projectId, deliveryIds, states]
  return (await tx.row<{ begun: number }>(beginStatement, values))?.begun ?? 0
}

const recordStatement = sql(
  'delivery_note_replay_request',
  `insert into replay_request (project_id, request_id, delivery_id, created_at)
   values ($1, $2, $3, clock_now())
   on conflict do nothing`,
)

const recordedStatement = sql(
  'delivery_noted_replay_request',
  'select delivery_id as "deliveryId" from replay_request where project_id = $1 and request_id = $2',
)

/**
 * Begins the next round of a delivery, once for each request id, and returns it as it is then. Locks the
 * delivery and then its receiver.
 */
export function replayDelivery(
  db: Database,
  projectId: string,
  deliveryId: string,
  requestId: string,
): Promise<DeliveryRow> {
  return db.transaction(async (tx) => {
    const isNew = await recordReplayRequest(tx, projectId, deliveryId, requestId)
    const begun = isNew && (await beginRound(tx, projectId, [deliveryId], endedStates)) === 1
    const row = await known(tx, projectId, deliveryId)
    if (isNew && !begun) throw new Failure('DELIVERY_NOT_ENDED', `the delivery is ${row.state}`)
    return row
  })
}

/**
 * Records a request to send a delivery again; false for a repeat of it. Throws IDEMPOTENCY_KEY_CONFLICT for a request id
 * that was used for another delivery.
 */
export async function recordReplayRequest(
  tx: Queryable,
  projectId: string,
  deliveryId: string,
  requestId: string,
): Promise<boolean> {
  if ((await tx.run(recordStatement, [projectId, requestId, deliveryId])) === 1) return true
  const recorded = await tx.row<{ deliveryId: string }>(recordedStatement, [projectId, requestId])
  if (recorded?.deliveryId === deliveryId) return false
  throw new Failure('IDEMPOTENCY_KEY_CONFLICT', 'the request id was used for another delivery')
}

const cancelStatement = sql(
  'delivery_cancel',
  `update delivery set
     state = 'cancelled', next_attempt_at = null, lease_token = null, lease_until = null,
     ended_at = clock_now()
   where project_id = $1 and delivery_id = $2 and state in ('pending', 'sending')`,
)

/**
 * Ends a delivery that is pending or sending and returns it; one that is cancelled already stays so. Locks
 * the delivery. Its receiver needs no notification: each claim and each completion reads its rows anew.
 */
export function cancelDelivery(
  db: Database,
  projectId: string,
  deliveryId: string,
): Promise<DeliveryRow> {
  return db.transaction(async (tx) => {
    await tx.run(cancelStatement, [projectId, deliveryId])
    const row = await known(tx, projectId, deliveryId)
    if (row.state === 'cancelled') return row
    throw new Failure('DELIVERY_ENDED', `the delivery is ${row.state}`)
  })
}

async function known(tx: Queryable, projectId: string, deliveryId: string): Promise<DeliveryRow> {
  const row = await findDelivery(tx, projectId, deliveryId)
  if (row === undefined) {
    throw new Failure('DELIVERY_NOT_FOUND', 'the project has no such delivery')
  }
  return row
}

const forgetStatement = sql(
  'delivery_forget_replays',
  `with jobs as (
     delete from replay_job where ended_at < clock_now() - interval '90 days'
   )
   delete from replay_request where created_at < clock_now() - interval '90 days'`,
)

/** Forgets replays that ended or were asked for 90 days ago, which is when the last deliveries go. */
export function forgetReplays(db: Queryable): Promise<number> {
  return db.run(forgetStatement, [])
}
