// Response schemas of the merchant routes.
import { Type } from 'typebox'
import { noticeKinds, paymentStates, refusalReasons } from '#core/payment/words.ts'
import {
  anyText,
  count,
  currencyCode,
  dateTime,
  fieldsOf,
  idText,
  isoTime,
  listOf,
  nullable,
  paidAmount,
  uuid,
  word,
} from '../answer-values.ts'
import { deliveryStates } from './schemas.ts'
import { paymentEventTypes, pushTypes } from './timeline.ts'

const page = { has_more: Type.Boolean(), next_cursor: nullable(anyText()) }

/** GET /payments/list. */
export const paymentList = {
  payments: listOf(
    fieldsOf({
      payment_details_id: uuid(),
      transaction_id: idText(),
      amount: paidAmount(),
      currency: currencyCode(),
      description: anyText(),
      status: word(paymentStates),
      paid: paidAmount(),
      created_time: dateTime(),
      updated_time: dateTime(),
    }),
  ),
  ...page,
}

const party = () => Type.Optional(fieldsOf({ mobile_number: anyText() }))

/** GET /payments/events. */
export const paymentEvents = {
  events: listOf(
    fieldsOf({
      event_id: uuid(),
      type: word([...paymentEventTypes, ...pushTypes]),
      time: isoTime(),
      payer: party(),
      payee: party(),
      details: fieldsOf({
        amount: Type.Optional(paidAmount()),
        currency: Type.Optional(currencyCode()),
        attempt_id: Type.Optional(idText()),
        reason: Type.Optional(anyText()),
        refusal_reason: Type.Optional(word(refusalReasons)),
        release_time: Type.Optional(isoTime()),
        delivery_id: Type.Optional(uuid()),
        event_type: Type.Optional(word(noticeKinds)),
        kind: Type.Optional(word(['notify', 'callback'])),
        attempt: Type.Optional(count({ minimum: 1 })),
        http_status: Type.Optional(nullable(Type.Integer({ logged: 'value' }))),
        error: Type.Optional(nullable(idText())),
      }),
    }),
  ),
}

const delivery = {
  delivery_id: uuid(),
  event_id: uuid(),
  event_type: word(noticeKinds),
  kind: word(['notify', 'callback']),
  url: anyText(),
  status: word(deliveryStates),
}

/** GET /deliveries/list. */
export const deliveryList = {
  deliveries: listOf(
    fieldsOf({
      ...delivery,
      attempts: count(),
      created_time: dateTime(),
      payment_details_id: uuid(),
    }),
  ),
  ...page,
}

/** GET /deliveries/delivery and POST /deliveries/resend. */
export const deliveryAnswer = {
  delivery: fieldsOf({
    ...delivery,
    attempts: listOf(
      fieldsOf({
        number: count({ minimum: 1 }),
        time: isoTime(),
        duration_ms: count(),
        http_status: nullable(Type.Integer({ logged: 'value' })),
        error: nullable(idText()),
        response: anyText(),
      }),
    ),
    created_time: dateTime(),
    payment_details_id: uuid(),
    body: anyText(),
  }),
}
