// Response schemas of the /bill_payments routes.
import { Type } from 'typebox'
import { anyText, currencyCode, nullable, paidAmount, word } from '../answer-values.ts'

const receiptId = () => Type.String({ pattern: '^PWBP-[0-9A-Z]{8}$', examples: ['PWBP-7K2M9QXA'] })
const retryCategory = () => word(['RETRIABLE', 'NON_RETRIABLE', 'CONDITIONAL'])

const references = {
  external_reference: nullable(anyText()),
  client_receipt_id: nullable(anyText()),
}

/** POST /bill_payments/pay, once the biller has answered. */
export const billPaid = {
  transaction_id: anyText(),
  normalized_status: word(['SUCCESS', 'FAILED']),
  receipt_id: nullable(receiptId()),
  ...references,
  failure_code: Type.Optional(anyText()),
  retry_category: Type.Optional(retryCategory()),
}

/** POST /bill_payments/pay while the biller has not answered. */
export const billAccepted = {
  transaction_id: anyText(),
  normalized_status: Type.Null(),
  receipt_id: Type.Null(),
  ...references,
}

/** GET /bill_payments/status. */
export const billStatusRead = {
  transaction_id: anyText(),
  normalized_status: nullable(word(['SUCCESS', 'FAILED'])),
  receipt_id: nullable(receiptId()),
  ...references,
  failure_code: nullable(anyText()),
  retry_category: nullable(retryCategory()),
}

/** GET /bill_payments/receipt. */
export const billReceiptRead = {
  transaction_id: anyText(),
  receipt_id: receiptId(),
  normalized_status: Type.Literal('SUCCESS'),
  amount: paidAmount(),
  currency: currencyCode(),
  biller_code: anyText(),
  product_code: anyText(),
  customer_reference: anyText(),
  ...references,
}
