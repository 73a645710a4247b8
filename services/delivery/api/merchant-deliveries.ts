// Maps MerchantDeliveryService to the pushes of one merchant and back.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { pageSizeOf, timeCursorIn, tokenOf } from '#core/paging.ts'
import type {
  ListMerchantDeliveriesRequest,
  MerchantDeliveryService,
} from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import type { Database } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import {
  findMerchantDelivery,
  listMerchantDeliveries,
  listPaymentPushes,
  type MerchantDelivery,
  type MerchantDeliveryFilter,
  type MerchantKey,
  notTheirs,
  resendMerchantDelivery,
} from '../store/merchant-store.ts'
import { listAttempts } from '../store/read-store.ts'
import { wireAttempt, wireKinds, wireStates, wordOf } from './messages.ts'

/** What the handlers need. */
export interface MerchantDeliveryOptions {
  db: Database
  /** Called when a delivery became due. */
  onDue: () => void
}

const defaultPageSize = 25
const maxResponseBytes = 1_024

/**
 * The handlers of MerchantDeliveryService. All reject as `projectOf` does. `listMerchantDeliveries` refuses unknown words
 * and page tokens with INVALID_PARAMETER; `getMerchantDelivery` and `resendMerchantDelivery` refuse a delivery that the
 * merchant does not have with DELIVERY_NOT_FOUND, the latter also a request id of another delivery with
 * IDEMPOTENCY_KEY_CONFLICT.
 */
export function merchantDeliveryService({
  db,
  onDue,
}: MerchantDeliveryOptions): ServiceImpl<typeof MerchantDeliveryService> {
  async function whole(key: MerchantKey, deliveryId: string) {
    const row = await findMerchantDelivery(db, key, deliveryId)
    if (row === undefined) throw notTheirs()
    const attempts = (await listAttempts(db, deliveryId)).map((attempt) => ({
      ...wireAttempt(attempt),
      answer: attempt.answer?.subarray(0, maxResponseBytes) ?? new Uint8Array(),
    }))
    return { delivery: { ...message(row), attempts, body: row.body } }
  }

  return {
    async listMerchantDeliveries(request, context) {
      const filter = filterOf(request, projectOf(context, request.projectId))
      const { deliveries, next } = await listMerchantDeliveries(db, filter)
      return {
        deliveries: deliveries.map(message),
        nextPageToken: next === undefined ? '' : tokenOf(next.createdAt.getTime(), next.deliveryId),
      }
    },
    async getMerchantDelivery({ merchantId, deliveryId, ...request }, context) {
      return await whole(
        { projectId: projectOf(context, request.projectId), merchantId },
        deliveryId,
      )
    },
    async resendMerchantDelivery({ merchantId, deliveryId, requestId, ...request }, context) {
      const key = { projectId: projectOf(context, request.projectId), merchantId }
      await resendMerchantDelivery(db, key, deliveryId, requestId)
      onDue()
      return await whole(key, deliveryId)
    },
    async listPaymentPushes({ merchantId, paymentId, ...request }, context) {
      const key = { projectId: projectOf(context, request.projectId), merchantId }
      const { deliveries, attempts } = await listPaymentPushes(db, key, paymentId)
      return {
        deliveries: deliveries.map((row) => ({
          ...message(row),
          attempts: attempts
            .filter(({ deliveryId }) => deliveryId === row.deliveryId)
            .toReversed()
            .map(wireAttempt),
        })),
      }
    },
  }
}

const lastTime = new Date('9999-12-31T00:00:00Z')
/** The cursor before all deliveries of one moment: the newest come first. */
const firstId = '00000000-0000-0000-0000-000000000000'

function filterOf(
  request: ListMerchantDeliveriesRequest,
  projectId: string,
): MerchantDeliveryFilter {
  const { merchantId, paymentId, eventType, pageSize } = request
  const createdAt = timeOf(request.endTime) ?? lastTime
  const end = { createdAt, deliveryId: firstId }
  const cursor = timeCursorIn(request.pageToken)
  return {
    projectId,
    merchantId,
    paymentId: paymentId || undefined,
    eventType: eventType || undefined,
    state: wordOf(wireStates, request.state, 'state'),
    startTime: timeOf(request.startTime),
    before:
      cursor && cursor.time < createdAt ? { createdAt: cursor.time, deliveryId: cursor.id } : end,
    limit: pageSizeOf(pageSize, defaultPageSize),
  }
}

function timeOf(time: Timestamp | undefined): Date | undefined {
  return time === undefined ? undefined : timestampDate(time)
}

function message(row: MerchantDelivery) {
  return {
    deliveryId: row.deliveryId,
    eventId: row.eventId,
    eventType: row.eventType,
    kind: wireKinds[row.kind],
    url: row.url,
    state: wireStates[row.state],
    attemptCount: row.attempts,
    createTime: timestampFromDate(row.createdAt),
    paymentId: row.paymentId,
  }
}
