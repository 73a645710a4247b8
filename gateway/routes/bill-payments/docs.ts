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
      'An `Idempotency-Key` makes one payment ever: the same body is answered with the stored outcome, another body is 409. `receipt_id` is issued by the service and refused in a request. Refusals before acceptance leave nothing behind, and the key is free again.',
    successes: {
      201: {
        says: 'The outcome is final. After `FAILED` no money has moved; `failure_code` says why and `retry_category` whether to try again under a new key.',
        fields: billPaid,
        headers: ['Idempotency-Replayed'],
      },
      202: {
        says: 'The biller has not answered. Do not pay again: read the status, or repeat the call with its key.',
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
    description: 'The truth about it, at any time.',
    successes: { 200: { says: 'The payment as it is now.', fields: billStatusRead } },
    reasons: ['BILL_PAYMENT_NOT_FOUND'],
    examples: { 'A new bill payment': ofBill },
  },
  'GET /bill_payments/receipt': {
    id: 'getBillPaymentReceipt',
    tag,
    summary: 'Read the receipt of a bill payment',
    description: 'There is one once the payment is `SUCCESS`.',
    successes: { 200: { says: 'The receipt.', fields: billReceiptRead, withoutMessage: true } },
    reasons: ['BILL_PAYMENT_NOT_FOUND', 'RECEIPT_NOT_AVAILABLE'],
    examples: { 'Receipt of a new bill payment': ofBill },
  },
}
