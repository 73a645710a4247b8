// Checks of the outcomes of a payment: each one that a payer of the sandbox causes.
import { detailsOf } from '../../clients/cli/api/client.ts'
import { newNumber, order, payer } from '../../clients/cli/api/order.ts'
import { type Check, demand, demandAnswer, demandRefused, demandShape, groupOf } from './check.ts'
import { anObject } from './shape.ts'

const check = groupOf('outcomes', 'api key', 'sandbox')
const notCancellable = { status: 409, errorCode: 'PAYMENT_NOT_CANCELLABLE' }

export const outcomeChecks: Check[] = [
  check(
    'paid',
    'Person 01 pays: payment and payer become paid, the request succeeded, and nothing remains.',
    async ({ shop }) => {
      const { id } = await shop.create(order({ payers: [payer(1)] }))
      demandAnswer(await shop.becomes(id, 'paid'), 200, {
        transaction_request: { status: 'succeeded' },
        payment_details: {
          status: 'paid',
          payments_status: { paid: '100.00 USD', remaining: '0.00 USD' },
        },
        payers: [{ status: 'paid' }],
      })
      demandRefused(await shop.cancel(id), notCancellable)
    },
  ),
  check(
    'partially-paid',
    'When one of several payers has paid, the payment is Partially_paid and processing, and cannot be cancelled.',
    async ({ shop }) => {
      const payers = [payer(1, { amount: '60.00' }), payer(8, { amount: '40.00' })]
      const { id } = await shop.create(order({ payers }))
      demandAnswer(await shop.becomes(id, 'Partially_paid'), 200, {
        transaction_request: { status: 'processing' },
        payment_details: { payments_status: { paid: '60.00 USD', remaining: '40.00 USD' } },
        payers: [{ status: 'paid' }, { status: 'Pending' }],
      })
      demandRefused(await shop.cancel(id), notCancellable)
    },
  ),
  check(
    'refused-five-times',
    'The fifth refusal of a payer fails the payment, and the shares already paid are refunded.',
    async ({ shop }) => {
      const payers = [payer(1, { amount: '60.00' }), payer(2, { amount: '40.00' })]
      const { id } = await shop.create(order({ payers }))
      await shop.becomes(id, 'Failed')
      demandAnswer(await shop.becomes(id, 'Refunded'), 200, {
        transaction_request: { status: 'failed' },
        payment_details: { status: 'Failed' },
        payers: [{ status: 'Refunded' }, { status: 'Failed' }],
      })
    },
  ),
  check(
    'fraud-blocked',
    'A blocked payer: 200, stored as Failed with fraud_check_status failed; the payers are Failed and have no link.',
    async ({ shop }) => {
      const answer = await shop.request(order({ fraud_check: 1, payers: [payer(6)] }))
      demandAnswer(answer, 200, {
        payment_details: { fraud_check_status: 'failed', payers: [{ status: 'Failed' }] },
      })
      demand(!answer.text.includes('/pay/'), 'a blocked payer has a link')
      const { id } = detailsOf(answer) as { id: string }
      demandShape((await shop.status(id)).body['transaction_request'], { status: 'failed' })
      demandRefused(await shop.cancel(id), notCancellable)
    },
  ),
  check(
    'fraud-ceiling',
    'With fraud_check 1, more than 10,000.00 USD fails; exactly 10,000.00 passes.',
    async ({ shop }) => {
      const payers = [payer(20, { mobile_number: newNumber() })]
      const send = (amount: string) => shop.create(order({ amount, fraud_check: 1, payers }))
      const least = (await send('10000.00')).answer
      demandShape(detailsOf(least)['fraud_check_status'], 'passed', '10,000.00')
      const above = (await send('10000.01')).answer
      demandShape(detailsOf(above)['fraud_check_status'], 'failed', '10,000.01')
    },
  ),
  check(
    'late-money',
    'Money after a cancel is refunded: the payer becomes Refunded, the request stays Cancelled.',
    async ({ shop }) => {
      const { id } = await shop.create(order({ payers: [payer(12)] }))
      await shop.cancel(id)
      demandAnswer(await shop.becomes(id, 'Refunded'), 200, {
        transaction_request: { status: 'cancelled' },
        payment_details: { status: 'Cancelled', payments_status: { paid: '0.00 USD' } },
        observed_client_ip: anObject,
      })
    },
  ),
]
