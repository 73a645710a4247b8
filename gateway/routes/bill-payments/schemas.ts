// Body and queries of the /bill_payments routes.
import {
  amount,
  currency,
  freeObject,
  idText,
  multilineText,
  oneOf,
  optional,
  record,
  text,
} from '../schema-values.ts'

/** Body of POST /bill_payments/pay. */
export const billPayBody = record({
  biller_code: idText(1, 64),
  product_code: idText(1, 64),
  amount: amount(),
  currency: currency(),
  customer_reference: text(1, 64),
  customer_mobile_no: optional(text(0, 32)),
  external_reference: optional(idText(0, 255)),
  client_receipt_id: optional(idText(0, 255)),
  id_type: optional(oneOf('DP', 'NID', 'PP', 'OTHER')),
  id_number: optional(text(1, 30)),
  description: optional(multilineText(1000)),
  other_data: optional(multilineText(4000)),
  metadata: optional(freeObject()),
})

/** Query of GET /bill_payments/status and GET /bill_payments/receipt. */
export const billPaymentQuery = record({ version: idText(1, 20), transaction_id: idText(1, 255) })
