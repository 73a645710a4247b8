// Checks of payments: what create, status and cancel answer, amounts and fees, and every outcome of the sandbox's payers.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { detailsOf } from '../../clients/cli/api/client.ts'
import { newNumber, order, payer, person } from '../../clients/cli/api/order.ts'
import {
  type Check,
  demand,
  demandAnswer,
  demandRefused,
  demandShape,
  fullEnvelope,
  groupOf,
} from './check.ts'
import { anId, aText, dateTime, exactly, isoTime, twoDecimals } from './shape.ts'

const check = groupOf('payments', 'api key')
const notFound = { status: 404, errorCode: 'PAYMENT_NOT_FOUND' }

const feesShape = {
  total: twoDecimals,
  card_processing: twoDecimals,
  platform_processing: twoDecimals,
  agent_processing: twoDecimals,
  payer_pays: twoDecimals,
  payee_pays: twoDecimals,
  merchant_pays: twoDecimals,
  convenience: twoDecimals,
}

const timestampsShape = { created_time: dateTime, updated_time: dateTime, expire_time: dateTime }

/** Minor units of a text with two decimals. */
const cents = (amount: unknown) => Math.round(Number(amount) * 100)

const shapeChecks: Check[] = [
  check(
    'create',
    'POST /payments/request returns id, transaction_id, amount, fraud_check_status and for each payer amount, status Pending and url, and no other field.',
    async ({ shop }) => {
      const transaction = order()
      const answer = await shop.request(transaction)
      demandAnswer(
        answer,
        200,
        exactly({
          status: 'success',
          code: 200,
          ...fullEnvelope,
          payment_details: exactly({
            id: anId,
            transaction_id: transaction.id,
            amount: '100.00',
            fraud_check_status: 'skipped',
            payers: [
              exactly({ amount: '100.00', status: 'Pending', url: /^https?:\/\/\S+\/pay\/\S+$/ }),
            ],
          }),
        }),
      )
    },
  ),
  check(
    'status',
    'GET /payments/status returns transaction_request, payment_details and payers of the stored payment.',
    async ({ shop }) => {
      const transaction = order()
      const { id } = await shop.create(transaction)
      demandAnswer(await shop.status(id), 200, {
        ...fullEnvelope,
        transaction_request: exactly({ id: transaction.id, status: 'pending' }),
        payment_details: {
          id,
          transaction_id: transaction.id,
          status: 'Pending',
          currency: 'USD',
          amount: '100.00',
          fraud_check_status: 'skipped',
          payments_status: { paid: '0.00 USD', remaining: '100.00 USD', metadata: [] },
          fees: feesShape,
          timestamps: timestampsShape,
        },
        payers: [
          exactly({
            mobile_number: person(20),
            payment_channel: 'payment_link',
            payment_method: 'wallet',
            status: 'Pending',
          }),
        ],
      })
    },
  ),
  check(
    'cancel',
    'POST /payments/cancel returns the whole payment_details with status Cancelled and nothing paid.',
    async ({ shop }) => {
      const { id, urls } = await shop.create(order())
      const answer = await shop.cancel(id)
      demandAnswer(answer, 200, {
        ...fullEnvelope,
        message: /cancel/i,
        payment_details: {
          id,
          status: 'Cancelled',
          currency: 'USD',
          payments_status: { paid: '0.00 USD', remaining: '100.00 USD', metadata: [] },
          fees: exactly(feesShape),
          timestamps: exactly(timestampsShape),
          payers: [
            {
              mobile_number: person(20),
              amount: '100.00',
              fee: twoDecimals,
              tip: '0.00',
              tax: '0.00',
              convenience_fee: '0.00',
              status: 'Cancelled',
              metadata: '',
              url: urls[0],
              expire_time: dateTime,
              expire_date_time: isoTime,
            },
          ],
          payees: [
            { mobile_number: aText, amount: '100.00', delay_days: 0, fees_covered: 1, fee: '0.00' },
          ],
        },
      })
      const status = await shop.status(id)
      demandShape(status.body, {
        transaction_request: { status: 'cancelled' },
        payers: [{ status: 'Cancelled' }],
      })
    },
  ),
  check('cancel-again', 'Cancelling again is 200 with the same snapshot.', async ({ shop }) => {
    const { id } = await shop.create(order())
    const [first, again] = [await shop.cancel(id), await shop.cancel(id)]
    demandAnswer(again, 200)
    demandShape(JSON.stringify(detailsOf(again)), JSON.stringify(detailsOf(first)), 'the snapshot')
  }),
  check(
    'expire-times',
    'expire_time and expire_date_time of a payer are the same time.',
    async ({ shop }) => {
      const { id } = await shop.create(order())
      const [payer] = detailsOf(await shop.cancel(id))['payers'] as Json[]
      const iso = String(payer?.['expire_date_time']).slice(0, 19).replace('T', ' ')
      demandShape(payer?.['expire_time'], iso, 'expire_time')
    },
  ),
  check(
    'unknown-id',
    'An unknown payment_details_id is 404 PAYMENT_NOT_FOUND.',
    async ({ shop }) => {
      for (const id of ['unknown', crypto.randomUUID()]) {
        demandRefused(await shop.status(id), notFound)
        demandRefused(await shop.cancel(id), notFound)
      }
    },
  ),
  check(
    'id-of-other-merchant',
    'A payment of another project is 404, exactly like an unknown one.',
    async ({ shop, as }) => {
      const { id } = await shop.create(order())
      demandRefused(await as('other').status(id), notFound)
      demandRefused(await as('other').cancel(id), notFound)
    },
    'sandbox',
  ),
  check(
    'mobile-number-echoed',
    'A mobile number is accepted with or without "+" and in national form, and echoed as it was sent.',
    async ({ shop }) => {
      for (const mobile_number of ['+12025550120', '12025550120', '(202) 555-0120']) {
        const { id } = await shop.create(order({ payers: [payer(20, { mobile_number })] }))
        demandShape((await shop.status(id)).body['payers'], [{ mobile_number }], 'payers')
      }
    },
  ),
]

const amounts: [currency: string, sent: string, shown: string][] = [
  ['USD', '7', '7.00'],
  ['TTD', '7.5', '7.50'],
  ['JPY', '700', '700'],
  ['BHD', '7.5', '7.500'],
  ['EUR', '999999999999999.99', '999999999999999.99'],
]

const moneyChecks: Check[] = [
  ...amounts.map(([currency, amount, shown]) =>
    check(
      `amount-${currency.toLowerCase()}`,
      `${amount} ${currency} is returned as "${shown}": all decimals of its currency, and no digit lost.`,
      async ({ shop }) => {
        const { id, answer } = await shop.create(order({ amount, currency }))
        demandShape(detailsOf(answer)['amount'], shown, 'amount')
        demandShape(detailsOf(await shop.status(id)), {
          amount: shown,
          currency,
          payments_status: { remaining: `${shown} ${currency}` },
        })
      },
    ),
  ),
  check(
    'fees-sum',
    'Fee components sum to the total, and so do the shares of payers, payees and merchant.',
    async ({ shop }) => {
      const payers = [33.33, 33.33, 33.34].map((amount, index) =>
        payer(20 + index, { amount: amount.toFixed(2), payment_method: 'card' }),
      )
      const { id } = await shop.create(order({ payers, fees: { pays_fees: 1, payer_covers: 50 } }))
      const details = detailsOf(await shop.cancel(id))
      const fees = details['fees'] as Record<string, string>
      const sum = (...names: string[]) => names.reduce((all, name) => all + cents(fees[name]), 0)
      const parts = ['card_processing', 'platform_processing', 'agent_processing', 'convenience']
      demand(sum(...parts) === cents(fees['total']), 'the components do not sum to the total')
      const shares = sum('payer_pays', 'payee_pays', 'merchant_pays')
      demand(shares === cents(fees['total']), 'the shares do not sum to the total')
      const ofPayers = (details['payers'] as Json[]).reduce(
        (all, one) => all + cents(one['fee']),
        0,
      )
      demand(ofPayers === cents(fees['payer_pays']), 'payers[].fee do not sum to payer_pays')
    },
  ),
  check('fees-default', 'By default the merchant bears the fees.', async ({ shop }) => {
    const { id } = await shop.create(order())
    const { fees } = detailsOf(await shop.cancel(id)) as { fees: Record<string, string> }
    demandShape(fees, { payer_pays: '0.00', payee_pays: '0.00', merchant_pays: fees['total'] })
  }),
  check(
    'links-differ',
    'Each payer has a separate link, and the response has each share.',
    async ({ shop }) => {
      const payers = [payer(20, { amount: '60.00' }), payer(21, { amount: '40.00' })]
      const { answer, urls } = await shop.create(order({ payers }))
      demandShape(detailsOf(answer)['payers'], [{ amount: '60.00' }, { amount: '40.00' }], 'payers')
      demand(new Set(urls).size === 2, 'two payers have one link')
    },
  ),
  check(
    'fraud-check-passed',
    'fraud_check 1 has the status passed, and the top-level field counts only if the one in transaction_request is absent.',
    async ({ shop }) => {
      const payers = [payer(20, { mobile_number: newNumber() })]
      const checked = await shop.create(order({ fraud_check: 1, payers }))
      demandShape(detailsOf(checked.answer)['fraud_check_status'], 'passed', 'inner 1')
      const top = await shop.create(order({ payers }), { fraud_check: 1 })
      demandShape(detailsOf(top.answer)['fraud_check_status'], 'passed', 'top 1')
      const both = await shop.create(order({ fraud_check: 0 }), { fraud_check: 1 })
      demandShape(detailsOf(both.answer)['fraud_check_status'], 'skipped', 'inner 0, top 1')
    },
  ),
]

export const paymentChecks: Check[] = [...shapeChecks, ...moneyChecks]
