// What clients do in the load: a payment with all its pushes, a bill payment, a quote, a transfer between two people.
import { type Api, institutionName } from './api.ts'
import type { Receiver } from './receiver.ts'
import type { Kind, Operation } from './records.ts'

/** Pays a second after the charge was announced. */
const payer = '+12025550101'
const sender = '+12025550100'
const recipient = '+12025550101'

/** The pushes of one payment that is paid: four notifies, and a callback. */
export const pushesOfPayment = [
  'callback',
  'payment_completed',
  'payment_initiated',
  'payout_completed',
  'payout_scheduled',
]

/** What a bill payment costs, in US cents. */
export const billMinor = 125
const transferMinor = 10

const textOf = (minor: number) => (minor / 100).toFixed(2)

/** By kind: carries an operation out, and returns the id that the system gave it. */
export const carryOut: Record<
  Kind,
  (api: Api, operation: Operation, receiver: Receiver) => Promise<string>
> = {
  async create(api, operation, { urls }) {
    const body = await api.clear(operation, {
      method: 'POST',
      path: '/payments/request',
      body: {
        api_key: api.apiKey,
        transaction_request: {
          id: operation.id,
          amount: '100.00',
          currency: 'TTD',
          payers: [
            { mobile_number: payer, payment_channel: 'payment_link', payment_method: 'wallet' },
          ],
          urls,
        },
      },
    })
    return (body['payment_details'] as { id: string }).id
  },

  async bill(api, operation) {
    const body = await api.clear(operation, {
      method: 'POST',
      path: '/bill_payments/pay',
      version: '2026-07-01',
      headers: { 'Idempotency-Key': operation.id },
      body: {
        biller_code: 'DEMO_POWER',
        product_code: 'PREPAID',
        amount: textOf(billMinor),
        currency: 'USD',
        customer_reference: '12345678',
      },
    })
    return String(body['transaction_id'])
  },

  async quote(api, operation) {
    const { token } = await api.session(operation, sender)
    const body = await api.clear(operation, {
      method: 'POST',
      path: '/quote',
      body: {
        session_token: token,
        institution_name: institutionName,
        request_amount: '10.00',
        request_currency: 'USD',
        debit_party: { mobile_number: sender },
        credit_party: { mobile_number: '+12025550105', currency: 'TTD' },
      },
    })
    return String(body['quote_id'])
  },

  async transfer(api, operation) {
    const { sealed } = await api.session(operation, sender)
    const body = await api.clear(operation, {
      method: 'POST',
      path: '/institution/transaction',
      body: {
        session_token_enc: sealed,
        transaction_id: operation.id,
        amount: textOf(transferMinor),
        transaction_type: 'p2p',
        debit_party: { mobile_number: sender },
        credit_party: { mobile_number: recipient },
        transfer_information: { institution_name: institutionName },
      },
    })
    return String(body['institution_receipt_id'])
  },
}
