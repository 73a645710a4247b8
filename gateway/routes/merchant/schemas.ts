// Queries and bodies of the merchant routes.
import { type Static, Type } from 'typebox'
import { noticeKinds, paymentStates } from '#core/payment/words.ts'
import {
  credential,
  idText,
  mobileNumber,
  oneOf,
  optional,
  record,
  text,
} from '../schema-values.ts'

/** What a time of a filter must be. */
const timeRule = 'must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00"'

/** A time by form; that it is real is checked by `readTimes`. */
function time() {
  return Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2} \\d{2}:\\d{2}:\\d{2}$',
    examples: ['2026-03-01 14:30:00'],
    rule: timeRule,
    logged: 'value',
  })
}

function limit() {
  return Type.String({
    pattern: '^([1-9]\\d?|100)$',
    examples: ['25'],
    description: 'Maximum number of items on a page; default 25.',
    rule: 'must be an integer from 1 to 100',
    logged: 'value',
  })
}

/** Words for the state of a delivery, in the order of the enum of payweave.delivery.v1. */
export const deliveryStates = [
  'pending',
  'sending',
  'delivered',
  'exhausted',
  'gone',
  'blocked',
  'cancelled',
] as const

const window = { created_from: optional(time()), created_to: optional(time()) }
const page = { limit: optional(limit()), cursor: optional(text(1, 512)) }
const key = { version: idText(1, 20), api_key: credential() }

/** Query of GET /payments/list. */
export const paymentListQuery = record({
  ...key,
  transaction_id: optional(idText(1, 64)),
  mobile_number: optional(mobileNumber()),
  status: optional(oneOf(...paymentStates)),
  ...window,
  ...page,
})

/** Query of GET /payments/events. */
export const paymentEventsQuery = record({ ...key, payment_details_id: idText(1, 255) })

/** Body of POST /payments/refund. */
export const paymentRefundBody = record({
  api_key: credential(),
  payment_details_id: idText(1, 255),
  reason: optional(text(0, 200)),
})

/** Query of GET /deliveries/list. */
export const deliveryListQuery = record({
  ...key,
  payment_details_id: optional(idText(1, 255)),
  event_type: optional(oneOf(...noticeKinds)),
  status: optional(oneOf(...deliveryStates)),
  ...window,
  ...page,
})

/** Query of GET /deliveries/delivery. */
export const deliveryQuery = record({ ...key, delivery_id: idText(1, 255) })

/** Body of POST /deliveries/resend. */
export const deliveryResendBody = record({ api_key: credential(), delivery_id: idText(1, 255) })

export type PaymentListQuery = Static<typeof paymentListQuery>
export type DeliveryListQuery = Static<typeof deliveryListQuery>
