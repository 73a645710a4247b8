// The merchant routes of payments: list them, read the history of one, refund one.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { renderDetails } from '#core/payment/snapshot.ts'
import { numberOf, paymentStates, wordOf } from '#core/payment/words.ts'
import { formatDateTime } from '#core/text/time.ts'
import type { PaymentSummary } from '#gen/payweave/payments/v1/payments_pb.js'
import { withProject } from '#platform/rpc/client/client.ts'
import { cursorOf, pageTokenIn } from '../../http/cursor.ts'
import { refusal, toPublicError } from '../../http/envelope.ts'
import { type Input, route } from '../../http/route.ts'
import { compileCheck, compileQuery, readId, readQueriedPhone } from '../../http/validate.ts'
import { viewOf } from '../payments/routes.ts'
import { versionQuery } from '../schema-values.ts'
import { readPage } from './filters.ts'
import {
  type PaymentListQuery,
  paymentEventsQuery,
  paymentListQuery,
  paymentRefundBody,
} from './schemas.ts'
import { renderTimeline } from './timeline.ts'

const version = '2026-12-01'
const queryOfVersion = compileQuery(versionQuery, version)
const queryOfList = compileQuery(paymentListQuery, version)
const queryOfEvents = compileQuery(paymentEventsQuery, version)
const bodyOfRefund = compileCheck(paymentRefundBody)
const common = { version, envelope: 'full' } as const

/** GET /payments/list, GET /payments/events, POST /payments/refund. */
export const merchantPaymentRoutes = [
  route({
    ...common,
    method: 'GET',
    path: '/payments/list',
    query: queryOfList,
    read: readListing,
    credential: { kind: 'api_key', of: ({ query }) => query.api_key },
    async operate({ cursor, filters, ...request }, { services, projectId, merchantId }) {
      const scope = { route: 'GET /payments/list', projectId, merchantId, filters }
      const pageToken = pageTokenIn(services.cursorKeys, scope, cursor)
      const { payments, nextPageToken } = await services.payments
        .listPayments({ ...request, projectId, merchantId, pageToken }, withProject(projectId))
        .catch(toPublicError())
      const next_cursor = cursorOf(services.cursorKeys, scope, nextPageToken)
      const fields = {
        payments: payments.map(renderSummary),
        has_more: next_cursor !== null,
        next_cursor,
      }
      return { code: 200, message: 'Payments retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/payments/events',
    query: queryOfEvents,
    read: ({ query }) => query.payment_details_id,
    credential: { kind: 'api_key', of: ({ query }) => query.api_key },
    async operate(sentId, { services, projectId, merchantId }) {
      const paymentId = readId(sentId, 'PAYMENT_NOT_FOUND')
      const request = { projectId, merchantId, paymentId }
      const [{ events, currency }, { deliveries }] = await Promise.all([
        services.payments.listPaymentEvents(request, withProject(projectId)),
        services.deliveries.listPaymentPushes(request, withProject(projectId)),
      ]).catch(toPublicError())
      const fields = { events: renderTimeline(events, currency, deliveries) }
      return { code: 200, message: 'Payment events retrieved successfully.', fields }
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/payments/refund',
    query: queryOfVersion,
    body: bodyOfRefund,
    read: ({ body }) => body,
    credential: { kind: 'api_key', of: ({ body }) => body.api_key },
    async operate(body, { services, settings, projectId, merchantId }) {
      const paymentId = readId(body.payment_details_id, 'PAYMENT_NOT_FOUND')
      const request = { projectId, merchantId, paymentId, reason: body.reason ?? '' }
      const { payment } = await services.payments
        .refundPayment(request, withProject(projectId))
        .catch(toPublicError())
      const payment_details = renderDetails(viewOf(payment), settings.publicBaseUrl)
      return { code: 200, message: 'Payment refunded.', fields: { payment_details } }
    },
  }),
]

function readListing({ query, originCountry }: Input<PaymentListQuery, unknown>) {
  const { transaction_id = '', mobile_number, status, created_from, created_to } = query
  const mobileNumberE164 =
    mobile_number === undefined ? '' : readQueriedPhone(mobile_number, originCountry)
  return {
    ...readPage(query),
    transactionId: transaction_id,
    mobileNumberE164,
    state: status === undefined ? 0 : numberOf(paymentStates, status),
    cursor: query.cursor,
    filters: [transaction_id, mobileNumberE164, status, created_from, created_to],
  }
}

function renderSummary(payment: PaymentSummary) {
  const { currency, createTime, updateTime } = payment
  const status = wordOf(paymentStates, payment.state)
  if (status === undefined || createTime === undefined || updateTime === undefined) {
    throw refusal('INTERNAL_ERROR')
  }
  return {
    payment_details_id: payment.paymentId,
    transaction_id: payment.transactionId,
    amount: formatAmount(payment.amountMinor, currency),
    currency,
    description: payment.description,
    status,
    paid: formatAmount(payment.paidMinor, currency),
    created_time: formatDateTime(timestampDate(createTime)),
    updated_time: formatDateTime(timestampDate(updateTime)),
  }
}
