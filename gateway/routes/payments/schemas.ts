// Bodies and queries of the /payments routes.
import type { Static } from 'typebox'
import {
  amount,
  credential,
  currency,
  emailOrEmpty,
  idText,
  integer,
  list,
  mobileNumber,
  multilineText,
  oneOf,
  optional,
  record,
  text,
  zeroOrOne,
} from '../schema-values.ts'

/** Maximum number of payers of a request. */
export const maxPayers = 20

const payer = record({
  mobile_number: mobileNumber(),
  first_name: optional(text(0, 100)),
  last_name: optional(text(0, 100)),
  email: optional(emailOrEmpty()),
  payment_channel: oneOf('agent', 'direct_pos', 'payment_link'),
  payment_method: oneOf('cash', 'card', 'wallet', 'credit', 'debit', 'qr_code'),
  amount: optional(amount()),
})

const payee = record({
  mobile_number: mobileNumber(),
  amount: amount(),
  delay_days: optional(integer(0, 90)),
})

/** Body of POST /payments/request. */
export const paymentRequestBody = record({
  api_key: credential(),
  fraud_check: optional(zeroOrOne()),
  transaction_request: record({
    id: idText(1, 64),
    amount: amount(),
    currency: currency(),
    description: optional(multilineText(1000)),
    fraud_check: optional(zeroOrOne()),
    fees: optional(
      record({ pays_fees: optional(zeroOrOne()), payer_covers: optional(integer(0, 100)) }),
    ),
    payees: optional(list(payee, 0, 20)),
    payers: list(payer, 1, maxPayers),
    urls: optional(
      record({
        success: optional(text(0, 2048)),
        notify: optional(text(0, 2048)),
        error: optional(text(0, 2048)),
        callback: optional(text(0, 2048)),
      }),
    ),
  }),
})

/** Query of GET /payments/status. */
export const paymentStatusQuery = record({
  version: idText(1, 20),
  api_key: credential(),
  payment_details_id: idText(1, 255),
})

/** Body of POST /payments/cancel. */
export const paymentCancelBody = record({
  api_key: credential(),
  payment_details_id: idText(1, 255),
})

export type PaymentRequestBody = Static<typeof paymentRequestBody>
