// Documentation of the /payments routes; inputs are described by their schemas.

import { demo, type Operations } from '../../openapi/operation.ts'
import { paymentCancelled, paymentCreated, paymentSnapshot } from './answers.ts'

const tag = 'Payment requests'
const ofPayment = { api_key: demo.apiKey, payment_details_id: '$PAYMENT_ID' }

/** The three routes under /payments. */
export const paymentOperations: Operations = {
  'POST /payments/request': {
    id: 'createPaymentRequest',
    tag,
    summary: 'Create a payment request',
    description:
      'Creates a request for 1 to 20 payers, each with a link. A repeat of `transaction_request.id` with the same body returns the stored request; with another body it is 409. `agent` offers cash and card; `direct_pos` wallet, card, credit, debit and qr_code; `payment_link` wallet, card, credit and debit. With several payers each has an `amount`, and the amounts sum to the total. Without `payees` you receive the total.',
    successes: {
      200: {
        says: 'The request is stored. If the fraud check stopped it, its payers are `Failed` and have no link.',
        fields: paymentCreated,
      },
    },
    reasons: ['UNSUPPORTED_CHANNEL_METHOD', 'AMOUNT_MISMATCH', 'DUPLICATE_TRANSACTION_ID'],
    examples: {
      'One payer, who pays after a second': {
        body: {
          api_key: demo.apiKey,
          transaction_request: {
            id: `order-${demo.unique}`,
            amount: '25.00',
            currency: 'USD',
            description: 'Two tickets',
            payers: [
              {
                mobile_number: '+12025550101',
                first_name: 'Kofi',
                last_name: 'Boateng',
                email: 'kofi@example.com',
                payment_channel: 'payment_link',
                payment_method: 'wallet',
                amount: '25.00',
              },
            ],
            urls: {
              notify: '$SIMULATOR_URL/receivers/ok/a-secret-tag-of-your-own',
              callback: '$SIMULATOR_URL/receivers/ok/a-secret-tag-of-your-own',
            },
          },
        },
      },
      'One payer, who pays by hand': {
        body: {
          api_key: demo.apiKey,
          transaction_request: {
            id: `order-${demo.unique}`,
            amount: '25.00',
            currency: 'USD',
            payers: [
              {
                mobile_number: '+12025550120',
                payment_channel: 'payment_link',
                payment_method: 'card',
              },
            ],
          },
        },
      },
    },
  },
  'GET /payments/status': {
    id: 'getPaymentStatus',
    tag,
    summary: 'Read a payment request',
    description:
      'Returns the current state of a payment request. Pushes can be late, repeated or out of order, so reconcile with this call.',
    successes: { 200: { says: 'The request as it is now.', fields: paymentSnapshot } },
    reasons: ['PAYMENT_NOT_FOUND'],
    examples: { 'Status of a new request': { needs: ['PAYMENT_ID'], query: ofPayment } },
  },
  'POST /payments/cancel': {
    id: 'cancelPaymentRequest',
    tag,
    summary: 'Cancel a payment request',
    description:
      'Cancels a request unless a payer has paid or is paying. A repeat returns 200 with the same snapshot. Money that arrives later is refunded to its payer.',
    successes: { 200: { says: 'The request is cancelled.', fields: paymentCancelled } },
    reasons: ['PAYMENT_NOT_FOUND', 'PAYMENT_NOT_CANCELLABLE'],
    examples: { 'Cancel a new request': { needs: ['PAYMENT_ID'], body: ofPayment } },
  },
}
