// Response schemas of the /bill_payments routes.
import { Type } from 'typebox'
import { anyText, currencyCode, idText, nullable, paidAmount, word } from '../answer-values.ts'

const receiptId = () =>
  Type.String({ pattern: '^PWBP-[0-9A-Z]{8}$', examples: ['PWBP-7K2M9QXA'], logged: 'value' })
const retryCategory = () => word(['RETRIABLE', 'NON_RETRIABLE', 'CONDITIONAL'])

const references = {
  external_reference: nullable(idText()),
  client_receipt_id: nullable(idText()),
}

/** POST /bill_payments/pay, once the biller has answered. */
export const billPaid = {
  transaction_id: idText(),
  normalized_status: word(['SUCCESS', 'FAILED']),
  receipt_id: nullable(receiptId()),
  ...references,
  failure_code: Type.Optional(idText()),
  retry_category: Type.Optional(retryCategory()),
}

/** POST /bill_payments/pay while the biller has not answered. */
export const billAccepted = {
  transaction_id: idText(),
  normalized_status: Type.Null(),
  receipt_id: Type.Null(),
  ...references,
}

/** GET /bill_payments/status. */
export const billStatusRead = {
  transaction_id: idText(),
  normalized_status: nullable(word(['SUCCESS', 'FAILED'])),
  receipt_id: nullable(receiptId()),
  ...references,
  failure_code: nullable(idText()),
  retry_category: nullable(retryCategory()),
}

/** GET /bill_payments/receipt. */
export const billReceiptRead = {
  transaction_id: idText(),
  receipt_id: receiptId(),
  normalized_status: Type.Literal('SUCCESS'),
  amount: paidAmount(),
  currency: currencyCode(),
  biller_code: idText(),
  product_code: idText(),
  customer_reference: anyText(),
  ...references,
}
