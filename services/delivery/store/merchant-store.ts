// Statements on the pushes of one merchant's payments: lists, one push, and sending one again.
import { Failure } from '#core/errors/errors.ts'
import { type Database, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import {
  type DeliveryKind,
  type DeliveryState,
  deliveryMachine,
  endedStates,
} from '../domain/delivery.ts'
import { beginRound, recordReplayRequest } from './operate-store.ts'
import { type AttemptRow, attemptColumns, maxShownAttempts } from './read-store.ts'

/** A push as its merchant sees it. */
export type MerchantDelivery = {
  deliveryId: string
  eventId: string
  eventType: string
  kind: Exclude<DeliveryKind, 'onboarding'>
  url: string
  state: DeliveryState
  attempts: number
  createdAt: Date
  paymentId: string
}

/** Whose push is meant. */
export type MerchantKey = { projectId: string; merchantId: string }

/** The cursor of the list. */
export type DeliveryCursor = { createdAt: Date; deliveryId: string }

/** Which pushes to list; unset filters take any. */
export type MerchantDeliveryFilter = MerchantKey & {
  paymentId: string | undefined
  eventType: string | undefined
  state: DeliveryState | undefined
  /** First time of creation. */
  startTime: Date | undefined
  /** Where the page begins: only pushes before this cursor are on it. */
  before: DeliveryCursor
  /** Maximum number of pushes on the page. */
  limit: number
}

const shown = `d.delivery_id as "deliveryId", d.event_id as "eventId", d.event_type as "eventType",
  d.kind, d.url, d.state, d.attempts, d.created_at as "createdAt", d.subject_id as "paymentId"`
const newestFirst = 'order by created_at desc, delivery_id desc'
const ofMerchant = 'd.project_id = $1 and d.merchant_id = $2'
const inWindow = 'created_at >= $3 and (created_at, delivery_id) < ($4, $5)'

/** The newest $6 of these states. A state is named in the text: the partial indexes are by state. */
function newestOf(states: readonly string[]): string {
  const scans = states.map(
    (state) => `(select created_at, delivery_id from delivery
       where merchant_id = $2 and state = '${state}' and ${inWindow} ${newestFirst} limit $6)`,
  )
  return `select created_at, delivery_id from (${scans.join(' union all ')}) scanned
     ${newestFirst} limit $6`
}

function listOf(name: string, states: readonly string[]): { page: Sql; scanEnd: Sql } {
  return {
    page: sql(
      `merchant_delivery_list_${name}`,
      `select ${shown} from (${newestOf(states)}) found
       join delivery d on d.delivery_id = found.delivery_id
       where d.project_id = $1 and ($7::text is null or d.event_type = $7)
       order by found.created_at desc, found.delivery_id desc limit $8`,
    ),
    scanEnd: sql(
      `merchant_delivery_scan_end_${name}`,
      `select created_at as "createdAt", delivery_id as "deliveryId" from (${newestOf(states)}) found
       where $1::uuid is not null ${newestFirst} offset $6 - 1 limit 1`,
    ),
  }
}

const allStates = Object.keys(deliveryMachine) as DeliveryState[]
const listOfAll = listOf('all', allStates)
const listsInState = Object.fromEntries(
  allStates.map((state) => [state, listOf(state, [state])]),
) as Record<DeliveryState, typeof listOfAll>

const listOfPayment = sql(
  'merchant_delivery_list_of_payment',
  `select ${shown} from delivery d
   where ${ofMerchant} and d.subject_id = $8 and ${inWindow}
     and ($7::text is null or d.event_type = $7) and ($9::text is null or d.state = $9)
   ${newestFirst} limit $6`,
)

const noLowerBound = new Date(0)
/** So many pushes are read for one page of one type of events: few of them may be of that type. */
const maxScanned = 1_000

/**
 * A page of a merchant's pushes, newest first, and where the next one begins if there may be one: before the last of the
 * page, or of what was read for it. Locks nothing.
 */
export async function listMerchantDeliveries(
  db: Queryable,
  filter: MerchantDeliveryFilter,
): Promise<{ deliveries: MerchantDelivery[]; next: DeliveryCursor | undefined }> {
  const { projectId, merchantId, paymentId, eventType, state, before, limit } = filter
  const isScan = paymentId === undefined && eventType !== undefined
  const start = filter.startTime ?? noLowerBound
  const listed = [projectId, merchantId, start, before.createdAt, before.deliveryId]
  const scanned = [...listed, isScan ? maxScanned : limit + 1]
  const list = state === undefined ? listOfAll : listsInState[state]
  const found = await (paymentId === undefined
    ? db.rows<MerchantDelivery>(list.page, [...scanned, eventType ?? null, limit + 1])
    : db.rows<MerchantDelivery>(listOfPayment, [
        ...scanned,
        eventType ?? null,
        paymentId,
        state ?? null,
      ]))
  if (found.length > limit) return { deliveries: found.slice(0, limit), next: found[limit - 1] }
  const next = isScan ? await db.row<DeliveryCursor>(list.scanEnd, scanned) : undefined
  return { deliveries: found, next }
}

const findStatement = sql(
  'merchant_delivery_find',
  `select ${shown}, d.body from delivery d where ${ofMerchant} and d.delivery_id = $3`,
)

/** A merchant's push with its body; undefined for any other push. */
export function findMerchantDelivery(
  db: Queryable,
  { projectId, merchantId }: MerchantKey,
  deliveryId: string,
): Promise<(MerchantDelivery & { body: Buffer }) | undefined> {
  return db.row(findStatement, [projectId, merchantId, deliveryId])
}

const dueNowStatement = sql(
  'merchant_delivery_due_now',
  `update delivery set next_attempt_at = date_trunc('milliseconds', clock_now())
   where project_id = $1 and delivery_id = $2 and state = 'pending'`,
)

/** While a breaker is open, its window begins when it opened. */
const probeTime = `case breaker when 'open'
       then least(breaker_until, greatest(clock_now(), window_started_at + interval '10 seconds'))
       else breaker_until end`

const readyNowStatement = sql(
  'merchant_delivery_ready_now',
  `update endpoint set
     version = version + 1, breaker_until = ${probeTime},
     ready_at = greatest(least(ready_at, clock_now()), ${probeTime})
   from delivery d
   where d.delivery_id = $1 and d.state = 'pending' and endpoint.endpoint_id = d.endpoint_id`,
)

/**
 * Sends a merchant's push again, once for each request id: makes a pending one due now, begins the next round of one that
 * has ended, and records that a round follows for one that is being sent. A merchant who has repaired their receiver does not
 * wait for its breaker: the probe is due now, or ten seconds after the breaker opened. Throws DELIVERY_NOT_FOUND, and
 * IDEMPOTENCY_KEY_CONFLICT for a request id of another push. Locks the push and then its receiver.
 */
export function resendMerchantDelivery(
  db: Database,
  key: MerchantKey,
  deliveryId: string,
  requestId: string,
): Promise<void> {
  const { projectId } = key
  return db.transaction(async (tx) => {
    if ((await findMerchantDelivery(tx, key, deliveryId)) === undefined) throw notTheirs()
    if (!(await recordReplayRequest(tx, projectId, deliveryId, requestId))) return
    if (await sendNow(tx, projectId, deliveryId)) return
    await tx.run(awaitEndStatement, [projectId, requestId])
  })
}

/** Makes a pending push due now, or begins the next round of one that has ended; false for one that is being sent. */
async function sendNow(tx: Queryable, projectId: string, deliveryId: string): Promise<boolean> {
  const isSent =
    (await tx.run(dueNowStatement, [projectId, deliveryId])) > 0 ||
    (await beginRound(tx, projectId, [deliveryId], endedStates)) > 0
  if (isSent) await tx.run(readyNowStatement, [deliveryId])
  return isSent
}

const awaitEndStatement = sql(
  'merchant_delivery_await_end',
  'update replay_request set is_waiting = true where project_id = $1 and request_id = $2',
)

/** A push that was deleted, or that an operator has stopped meanwhile, gets no further round. */
const endedAttemptsStatement = sql(
  'merchant_delivery_ended_attempts',
  `with ended as (
     select r.project_id, r.request_id, r.delivery_id, d.state from replay_request r
     left join delivery d on d.project_id = r.project_id and d.delivery_id = r.delivery_id
     where r.is_waiting and d.state is distinct from 'sending'
     order by r.created_at limit $1
     for update of r skip locked
   ), recorded as (
     update replay_request r set is_waiting = false from ended
     where r.project_id = ended.project_id and r.request_id = ended.request_id
   )
   select distinct project_id as "projectId", delivery_id as "deliveryId" from ended
   where state <> 'cancelled' order by delivery_id`,
)

/**
 * Sends pushes again that were being sent when their merchants asked, and whose attempts have ended since; returns how many.
 * Locks the requests (skipping locked ones), then the pushes and their receivers.
 */
export function sendAfterAttempts(db: Database, limit: number): Promise<number> {
  return db.transaction(async (tx) => {
    const ended = await tx.rows<Pick<MerchantKey, 'projectId'> & { deliveryId: string }>(
      endedAttemptsStatement,
      [limit],
    )
    for (const { projectId, deliveryId } of ended) await sendNow(tx, projectId, deliveryId)
    return ended.length
  })
}

/** The one refusal of ids that are unknown, of another merchant, or of an onboarding push. */
export function notTheirs(): Failure {
  return new Failure('DELIVERY_NOT_FOUND', 'the merchant has no such delivery')
}

/** An attempt as the history of a payment shows it. */
export type PushAttempt = Omit<AttemptRow, 'answer'> & { deliveryId: string }

const pushesStatement = sql(
  'merchant_payment_pushes',
  `select ${shown} from delivery d where ${ofMerchant} and d.subject_id = $3
   order by d.created_at, d.delivery_id limit $4`,
)

// Attempts stand in a table for each day; the time of the first push spares a look at the days before it.
const attemptsStatement = sql(
  'merchant_payment_attempts',
  `select push.delivery_id as "deliveryId", shown.*
   from unnest($1::uuid[]) as push(delivery_id) cross join lateral (
     select ${attemptColumns} from attempt
     where attempt.delivery_id = push.delivery_id and started_at >= $2
     order by number desc limit ${maxShownAttempts}
   ) as shown`,
)

/** More than the transitions of 20 payers and 20 payees can make. */
const maxPushes = 1_000

/**
 * The pushes of a merchant's payment, oldest first, and the newest 100 attempts of each, newest first. Locks nothing.
 */
export async function listPaymentPushes(
  db: Queryable,
  { projectId, merchantId }: MerchantKey,
  paymentId: string,
): Promise<{ deliveries: MerchantDelivery[]; attempts: PushAttempt[] }> {
  const values = [projectId, merchantId, paymentId, maxPushes]
  const deliveries = await db.rows<MerchantDelivery>(pushesStatement, values)
  const [first] = deliveries
  if (first === undefined) return { deliveries, attempts: [] }
  const ids = deliveries.map(({ deliveryId }) => deliveryId)
  const attempts = await db.rows<PushAttempt>(attemptsStatement, [ids, first.createdAt])
  return { deliveries, attempts }
}
