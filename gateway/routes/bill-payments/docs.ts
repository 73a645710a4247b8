// Documentation of the /bill_payments routes; inputs are described by their schemas.

import type { Operations } from '../../openapi/operation.ts'
import { billAccepted, billPaid, billReceiptRead, billStatusRead } from './answers.ts'

const tag = 'Bill payments'
const ofBill = { needs: ['BILL_ID' as const], query: { transaction_id: '$BILL_ID' } }

/** The three routes under /bill_payments. */
export const billOperations: Operations = {
  'POST /bill_payments/pay': {
    id: 'payBill',
    tag,
    summary: 'Pay a bill from the float of your project',
    description:
      'An `Idempotency-Key` creates at most one payment, permanently: a repeat with the same body returns the stored outcome, with another body it is 409. We assign `receipt_id`; a request with it is refused. A refusal before acceptance stores nothing, and you may use the key again.',
    successes: {
      201: {
        says: 'The outcome is final. If it is `FAILED`, no money has moved; `failure_code` has the reason, and `retry_category` whether to retry under a new key.',
        fields: billPaid,
        headers: ['Idempotency-Replayed'],
      },
      202: {
        says: 'The biller has not responded. Do not pay again: read the status, or repeat the call with the same key.',
        fields: billAccepted,
        headers: ['Idempotency-Replayed'],
      },
    },
    reasons: [
      'RECEIPT_ID_NOT_ACCEPTED',
      'CUSTOMER_REFERENCE_INVALID',
      'AMOUNT_OUT_OF_RANGE',
      'CURRENCY_NOT_SUPPORTED',
      'BILLER_NOT_FOUND',
      'PRODUCT_NOT_FOUND',
      'INSUFFICIENT_FUNDS',
      'IDEMPOTENCY_KEY_CONFLICT',
      'IDEMPOTENCY_KEY_IN_PROGRESS',
    ],
    examples: {
      'A water bill': {
        body: {
          biller_code: 'DEMO_WATER',
          product_code: 'BILL',
          amount: '25.00',
          currency: 'USD',
          customer_reference: 'W1234567',
        },
      },
    },
  },
  'GET /bill_payments/status': {
    id: 'getBillPaymentStatus',
    tag,
    summary: 'Read a bill payment',
    description: 'Returns the current state of the payment.',
    successes: { 200: { says: 'The payment as it is now.', fields: billStatusRead } },
    reasons: ['BILL_PAYMENT_NOT_FOUND'],
    examples: { 'A new bill payment': ofBill },
  },
  'GET /bill_payments/receipt': {
    id: 'getBillPaymentReceipt',
    tag,
    summary: 'Read the receipt of a bill payment',
    description: 'A payment has a receipt once it is `SUCCESS`.',
    successes: { 200: { says: 'The receipt.', fields: billReceiptRead, withoutMessage: true } },
    reasons: ['BILL_PAYMENT_NOT_FOUND', 'RECEIPT_NOT_AVAILABLE'],
    examples: { 'Receipt of a new bill payment': ofBill },
  },
}
