// The merchant routes of pushes: list them, read one with its attempts, send one again.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { isUuid, namedUuid, randomId } from '#core/identity/id.ts'
import { numberOf, wordOf } from '#core/payment/words.ts'
import { formatDateTime, formatIso } from '#core/text/time.ts'
import { type Attempt, DeliveryKind } from '#gen/payweave/delivery/v1/delivery_pb.js'
import type { MerchantDelivery } from '#gen/payweave/delivery/v1/merchant_delivery_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { cursorOf, pageTokenIn } from '../../http/cursor.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import { compileCheck, compileQuery, readId } from '../../http/validate.ts'
import { versionQuery } from '../schema-values.ts'
import { readPage } from './filters.ts'
import {
  type DeliveryListQuery,
  deliveryListQuery,
  deliveryQuery,
  deliveryResendBody,
  deliveryStates,
} from './schemas.ts'

const version = '2026-12-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfList = compileQuery(deliveryListQuery, version)
const queryOfDelivery = compileQuery(deliveryQuery, version)
const bodyOfResend = compileCheck(deliveryResendBody)
const common = { version, envelope: 'full' } as const

/** GET /deliveries/list, GET /deliveries/delivery, POST /deliveries/resend. */
export const merchantDeliveryRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/deliveries/list',
    query: queryOfList,
    read: readListing,
    credential: { kind: 'api_key', of: ({ query }) => query.api_key },
    async operate({ cursor, filters, ...request }, { services, projectId, merchantId }) {
      const scope = { route: 'GET /deliveries/list', projectId, merchantId, filters }
      const pageToken = pageTokenIn(services.cursorKeys, scope, cursor)
      const { paymentId } = request
      // Like an id that is unknown: no payment of anybody's has it.
      const isNone = paymentId !== '' && !isUuid(paymentId)
      const { deliveries, nextPageToken } = isNone
        ? { deliveries: [], nextPageToken: '' }
        : await services.deliveries
            .listMerchantDeliveries(
              { ...request, projectId, merchantId, pageToken },
              withProject(projectId),
            )
            .catch(toPublicError())
      const next_cursor = cursorOf(services.cursorKeys, scope, nextPageToken)
      const fields = {
        deliveries: deliveries.map((delivery) => renderDelivery(delivery, delivery.attemptCount)),
        has_more: next_cursor !== null,
        next_cursor,
      }
      return { code: 200, message: 'Deliveries retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/deliveries/delivery',
    query: queryOfDelivery,
    read: ({ query }) => query.delivery_id,
    credential: { kind: 'api_key', of: ({ query }) => query.api_key },
    async operate(sentId, { services, projectId, merchantId }) {
      const deliveryId = readId(sentId, 'DELIVERY_NOT_FOUND')
      const { delivery } = await services.deliveries
        .getMerchantDelivery({ projectId, merchantId, deliveryId }, withProject(projectId))
        .catch(toPublicError())
      const fields = { delivery: renderWhole(delivery) }
      return { code: 200, message: 'Delivery retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/deliveries/resend',
    idempotencyKey: 'optional',
    query: queryOfVersion,
    body: bodyOfResend,
    read: ({ body }) => body.delivery_id,
    credential: { kind: 'api_key', of: ({ body }) => body.api_key },
    async operate(sentId, { services, projectId, merchantId, idempotencyKey: key }) {
      const deliveryId = readId(sentId, 'DELIVERY_NOT_FOUND')
      // Not the client's request id: some clients send the same one each time.
      const requestId = key === '' ? randomId() : namedUuid('resend', merchantId, key)
      const request = { projectId, merchantId, deliveryId, requestId }
      const { delivery } = await services.deliveries
        .resendMerchantDelivery(request, withProject(projectId))
        .catch(toPublicError())
      const fields = { delivery: renderWhole(delivery) }
      return { code: 200, message: 'Delivery will be sent again.', fields }
    },
  }),
]

function readListing({ query }: Input<DeliveryListQuery, unknown>) {
  const { payment_details_id = '', event_type = '', status, created_from, created_to } = query
  return {
    ...readPage(query),
    paymentId: payment_details_id,
    eventType: event_type,
    state: status === undefined ? 0 : numberOf(deliveryStates, status),
    cursor: query.cursor,
    filters: [payment_details_id, event_type, status, created_from, created_to],
  }
}

/** A delivery as lists show it, `attempts` being their number, or as a whole, `attempts` being themselves. */
function renderDelivery(delivery: MerchantDelivery, attempts: unknown) {
  const { createTime } = delivery
  const status = wordOf(deliveryStates, delivery.state)
  if (status === undefined || createTime === undefined) throw refusal('INTERNAL_ERROR')
  return {
    delivery_id: delivery.deliveryId,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    kind: kindOf(delivery.kind),
    url: delivery.url,
    status,
    attempts,
    created_time: formatDateTime(timestampDate(createTime)),
    payment_details_id: delivery.paymentId,
  }
}

function renderWhole(delivery: MerchantDelivery | undefined) {
  if (delivery === undefined) throw refusal('INTERNAL_ERROR')
  return {
    ...renderDelivery(delivery, delivery.attempts.map(renderAttempt)),
    body: Buffer.from(delivery.body).toString(),
  }
}

function renderAttempt({ number, startTime, durationMs, status, error, answer }: Attempt) {
  if (startTime === undefined) throw refusal('INTERNAL_ERROR')
  return {
    number,
    time: formatIso(timestampDate(startTime)),
    duration_ms: durationMs,
    http_status: status === 0 ? null : status,
    error: error === '' ? null : error,
    response: Buffer.from(answer).toString(),
  }
}

/** The word for a kind. */
export function kindOf(kind: DeliveryKind): 'notify' | 'callback' {
  return kind === DeliveryKind.CALLBACK ? 'callback' : 'notify'
}
