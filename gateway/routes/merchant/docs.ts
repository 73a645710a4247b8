// Documentation of the merchant routes; inputs are described by their schemas.
import { demo, type Operations } from '../../openapi/operation.ts'
import { paymentCancelled } from '../payments/answers.ts'
import { deliveryAnswer, deliveryList, paymentEvents, paymentList } from './answers.ts'

const payments = 'Payments of a merchant'
const pushes = 'Pushes of a merchant'
const ofPaid = { api_key: demo.apiKey, payment_details_id: '$PAID_PAYMENT_ID' }
const ofDelivery = { api_key: demo.apiKey, delivery_id: '$DELIVERY_ID' }
const aboutPages =
  'While `has_more` is true, repeat the call with `cursor` set to `next_cursor` and the same filters. A page of a filtered list may have fewer items than `limit` although more follow.'

/** The routes beyond the contract. */
export const merchantOperations: Operations = {
  'GET /payments/list': {
    id: 'listPayments',
    tag: payments,
    summary: 'List payment requests',
    description: `Lists the payment requests of the \`api_key\`, newest first. A request that was answered before is in the list. ${aboutPages}`,
    successes: { 200: { says: 'One page of payment requests.', fields: paymentList } },
    reasons: [],
    examples: {
      'The newest payments': { query: { api_key: demo.apiKey } },
      'Paid payments, ten on a page': {
        query: { api_key: demo.apiKey, status: 'paid', limit: '10' },
      },
    },
  },
  'GET /payments/events': {
    id: 'listPaymentEvents',
    tag: payments,
    summary: 'Read the history of a payment request',
    description:
      'Returns what happened to a payment request, oldest first: creation, attempts, changes of state, refunds, payouts, and its pushes, each with its newest 100 attempts. Amounts of attempts are shares; amounts of money that was received or refunded include the fees of the payer. Pushes are kept for 30 days after they were delivered, or 90 days after they were given up.',
    successes: { 200: { says: 'The whole history.', fields: paymentEvents } },
    reasons: ['PAYMENT_NOT_FOUND'],
    examples: { 'History of a paid request': { needs: ['PAID_PAYMENT_ID'], query: ofPaid } },
  },
  'POST /payments/refund': {
    id: 'refundPayment',
    tag: payments,
    summary: 'Refund a paid payment request',
    description:
      'Refunds all payers of a paid request, fees included. A request that is refunded already returns 200 with the same snapshot; every other state is 409. The money moves after the response: follow it by the events of the request or by the `payment_refunded` push.',
    successes: { 200: { says: 'The request is refunded.', fields: paymentCancelled } },
    reasons: ['PAYMENT_NOT_FOUND', 'PAYMENT_NOT_REFUNDABLE'],
    examples: {
      'Refund a paid request': {
        needs: ['PAID_PAYMENT_ID'],
        body: { ...ofPaid, reason: 'Out of stock' },
      },
    },
  },
  'GET /deliveries/list': {
    id: 'listDeliveries',
    tag: pushes,
    summary: 'List pushes',
    description: `Lists the notifies and callbacks of the payment requests of the \`api_key\`, newest first. Onboarding callbacks are never listed. ${aboutPages}`,
    successes: { 200: { says: 'One page of pushes.', fields: deliveryList } },
    reasons: [],
    examples: { 'Pushes of a payment request': { needs: ['PAID_PAYMENT_ID'], query: ofPaid } },
  },
  'GET /deliveries/delivery': {
    id: 'getDelivery',
    tag: pushes,
    summary: 'Read a push with its attempts',
    description:
      'Returns a push with its body and its newest 100 attempts, each with the first 1 KiB of the response of your receiver.',
    successes: { 200: { says: 'The push.', fields: deliveryAnswer } },
    reasons: ['DELIVERY_NOT_FOUND'],
    examples: {
      'A push with its attempts': { needs: ['PAID_PAYMENT_ID', 'DELIVERY_ID'], query: ofDelivery },
    },
  },
  'POST /deliveries/resend': {
    id: 'resendDelivery',
    tag: pushes,
    summary: 'Send a push again',
    description:
      'Sends a push that waits for its next attempt now, and begins a new round of attempts for one that has ended. Id and body stay the same, and `PW-delivery-attempt` goes on counting. The response does not wait for your receiver. A repeat with the same `Idempotency-Key` begins no further round; with another `delivery_id` it is 409.',
    successes: { 200: { says: 'The push is due.', fields: deliveryAnswer } },
    reasons: ['DELIVERY_NOT_FOUND', 'IDEMPOTENCY_KEY_CONFLICT'],
    examples: {
      'Send a push again': { needs: ['PAID_PAYMENT_ID', 'DELIVERY_ID'], body: ofDelivery },
    },
  },
}
