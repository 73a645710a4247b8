// Checks of the validation of payment requests: each field missing or malformed, and each pair of channel and method.
import type { Json } from '../../clients/cli/api/api-call.ts'
import { order, payer } from '../../clients/cli/api/order.ts'
import {
  type Check,
  demand,
  demandAnswer,
  demandRefused,
  groupOf,
  invalidField,
  missingField,
  type Refusal,
} from './check.ts'

const check = groupOf('request', 'api key')
const at = 'transaction_request'
const payerWith = (more: Json): Json => ({
  payers: [payer(20, { amount: '100.00', ...more })],
})
const payeesOf = (...payees: Json[]): Json => ({ payees })
const payee = { mobile_number: '+12025550130' }
const mismatch: Refusal = { status: 400, errorCode: 'AMOUNT_MISMATCH' }

const rows: [name: string, rule: string, change: Json, refusal: Refusal][] = [
  ['id-missing', 'id is required', { id: undefined }, missingField(`${at}.id`)],
  ['id-long', 'id has at most 64 characters', { id: 'x'.repeat(65) }, invalidField(`${at}.id`)],
  ['id-number', 'id is a text', { id: 17 }, invalidField(`${at}.id`)],
  ['amount-missing', 'amount is required', { amount: undefined }, missingField(`${at}.amount`)],
  [
    'amount-number',
    'amount is a string, never a number',
    { amount: 100 },
    invalidField(`${at}.amount`),
  ],
  ['amount-zero', 'amount is above zero', { amount: '0.00' }, invalidField(`${at}.amount`)],
  ['amount-negative', 'amount has no sign', { amount: '-1.00' }, invalidField(`${at}.amount`)],
  ['amount-exponent', 'amount has no exponent', { amount: '1e2' }, invalidField(`${at}.amount`)],
  ['amount-comma', 'amount has no comma', { amount: '1,00' }, invalidField(`${at}.amount`)],
  [
    'amount-leading-zero',
    'amount has no leading zero',
    { amount: '0100.00' },
    invalidField(`${at}.amount`),
  ],
  ['amount-spaces', 'amount has no spaces', { amount: ' 100.00' }, invalidField(`${at}.amount`)],
  [
    'amount-digits',
    'amount has at most 15 digits before the point',
    { amount: '1'.repeat(16) },
    invalidField(`${at}.amount`),
  ],
  [
    'decimals-usd',
    'an amount has no more decimals than USD',
    { amount: '1.001' },
    invalidField(`${at}.amount`),
  ],
  [
    'decimals-jpy',
    'an amount in JPY has no decimals',
    { amount: '1.0', currency: 'JPY' },
    invalidField(`${at}.amount`),
  ],
  [
    'decimals-bhd',
    'an amount in BHD has at most three',
    { amount: '1.0001', currency: 'BHD' },
    invalidField(`${at}.amount`),
  ],
  [
    'currency-missing',
    'currency is required',
    { currency: undefined },
    missingField(`${at}.currency`),
  ],
  [
    'currency-unknown',
    'currency is an ISO 4217 code',
    { currency: 'ZZZ' },
    invalidField(`${at}.currency`),
  ],
  [
    'currency-lower-case',
    'currency is in upper case',
    { currency: 'usd' },
    invalidField(`${at}.currency`),
  ],
  ['text-nul', 'NUL is in no text', { description: 'a\0b' }, invalidField(`${at}.description`)],
  [
    'text-surrogate',
    'no text has a lone surrogate',
    { description: 'a\ud800' },
    invalidField(`${at}.description`),
  ],
  [
    'text-control',
    'no text has other control characters',
    payerWith({ first_name: 'a\x1b' }),
    invalidField('payers[0].first_name'),
  ],
  [
    'fraud-check',
    'fraud_check is 0 or 1, a number',
    { fraud_check: '1' },
    invalidField(`${at}.fraud_check`),
  ],
  [
    'pays-fees',
    'pays_fees is 0 or 1',
    { fees: { pays_fees: 2 } },
    invalidField(`${at}.fees.pays_fees`),
  ],
  [
    'payer-covers',
    'payer_covers is at most 100',
    { fees: { payer_covers: 101 } },
    invalidField('payer_covers'),
  ],
  ['payers-missing', 'payers is required', { payers: undefined }, missingField(`${at}.payers`)],
  ['payers-none', 'there is at least one payer', { payers: [] }, missingField(`${at}.payers`)],
  [
    'payers-many',
    'there are at most 20 payers',
    { amount: '21.00', payers: Array.from({ length: 21 }, () => payer(20, { amount: '1.00' })) },
    invalidField(`${at}.payers`),
  ],
  [
    'payer-number-missing',
    'each payer has a mobile_number',
    payerWith({ mobile_number: undefined }),
    missingField(`${at}.payers[0].mobile_number`),
  ],
  [
    'payer-number-impossible',
    'a mobile_number is a possible number',
    payerWith({ mobile_number: '+1202555' }),
    invalidField(`${at}.payers[0].mobile_number`),
  ],
  [
    'payer-channel-missing',
    'each payer has a payment_channel',
    payerWith({ payment_channel: undefined }),
    missingField(`${at}.payers[0].payment_channel`),
  ],
  [
    'payer-method-missing',
    'each payer has a payment_method',
    payerWith({ payment_method: undefined }),
    missingField(`${at}.payers[0].payment_method`),
  ],
  [
    'payer-amount-missing',
    'with several payers each has an amount',
    { payers: [payer(20, { amount: '50.00' }), payer(21)] },
    missingField(`${at}.payers[1].amount`),
  ],
  [
    'payers-sum',
    'payer amounts sum to the amount',
    { payers: [payer(20, { amount: '50.00' }), payer(21, { amount: '50.01' })] },
    mismatch,
  ],
  [
    'payees-sum',
    'payee amounts sum to the amount',
    payeesOf({ ...payee, amount: '99.99' }),
    mismatch,
  ],
  [
    'payee-amount-missing',
    'each payee has an amount',
    payeesOf(payee),
    missingField(`${at}.payees[0].amount`),
  ],
  [
    'payee-delay',
    'delay_days is at most 90',
    payeesOf({ ...payee, amount: '100.00', delay_days: 91 }),
    invalidField(`${at}.payees[0].delay_days`),
  ],
  [
    'url-relative',
    'urls are whole URLs',
    { urls: { notify: '/x' } },
    invalidField(`${at}.urls.notify`),
  ],
  [
    'url-scheme',
    'urls are of https',
    { urls: { callback: 'ftp://example.com/' } },
    invalidField('urls.callback'),
  ],
  [
    'url-private',
    'the URL of a push has no private address',
    { urls: { notify: 'https://10.0.0.1/' } },
    invalidField(`${at}.urls.notify`),
  ],
  [
    'url-link-local',
    'the URL of a push has no link-local address',
    { urls: { notify: 'http://169.254.169.254/' } },
    invalidField(`${at}.urls.notify`),
  ],
  [
    'url-long',
    'urls have at most 2,048 characters',
    { urls: { notify: `https://example.com/${'x'.repeat(2029)}` } },
    invalidField(`${at}.urls.notify`),
  ],
  [
    'url-script',
    'a browser target is no script URL',
    { urls: { success: 'javascript:alert(1)' } },
    invalidField(`${at}.urls.success`),
  ],
]

const allowedMethods: Record<string, string[]> = {
  agent: ['cash', 'card'],
  direct_pos: ['wallet', 'card', 'credit', 'debit', 'qr_code'],
  payment_link: ['wallet', 'card', 'credit', 'debit'],
}
const methods = ['cash', 'card', 'wallet', 'credit', 'debit', 'qr_code']

const channelChecks: Check[] = Object.entries(allowedMethods).map(([channel, allowed]) =>
  check(
    `channel-${channel.replace('_', '-')}`,
    `${channel} accepts ${allowed.join(', ')}; any other method is 400 UNSUPPORTED_CHANNEL_METHOD.`,
    async ({ shop }) => {
      for (const method of methods) {
        const payers = [payer(20, { payment_channel: channel, payment_method: method })]
        const answer = await shop.request(order({ payers }))
        const refusal = { status: 400, errorCode: 'UNSUPPORTED_CHANNEL_METHOD' }
        if (allowed.includes(method)) demandAnswer(answer, 200)
        else demandRefused(answer, refusal)
      }
    },
  ),
)

export const refusalChecks: Check[] = [
  ...rows.map(([name, rule, change, refusal]) =>
    check(
      name,
      `Payment request: ${rule}; else ${refusal.status} ${refusal.errorCode}.`,
      async ({ shop }) => {
        demandRefused(await shop.request(order(change)), refusal)
      },
    ),
  ),
  ...channelChecks,
  check('api-key-missing', 'Without api_key a request is 400 and names it.', async ({ shop }) => {
    const answer = await shop.request(order(), { api_key: undefined })
    demandRefused(answer, missingField('api_key'))
  }),
  check('api-key-unknown', 'An unknown api_key is 401 PW_INVALID_API_KEY.', async ({ shop }) => {
    const answer = await shop.request(order(), { api_key: 'x'.repeat(32) })
    demandRefused(answer, { status: 401, errorCode: 'PW_INVALID_API_KEY' })
  }),
  check(
    'api-key-of-other-project',
    'An api_key works with the subscription keys of its own project only.',
    async ({ shop, as }) => {
      const answer = await shop.request(order(), { api_key: as('other').apiKey })
      demandRefused(answer, { status: 401, errorCode: 'PW_INVALID_API_KEY' })
    },
    'sandbox',
  ),
  check(
    'refused-id-is-free',
    'A refused request stores nothing: its id may be used again.',
    async ({ shop }) => {
      const transaction = order()
      demandRefused(await shop.request({ ...transaction, amount: '0' }), invalidField('amount'))
      demandAnswer(await shop.request(transaction), 200)
    },
  ),
  check('unknown-fields', 'Unknown fields are ignored.', async ({ shop }) => {
    const transaction = order({ surprise: [1], payers: [payer(20, { favourite: 'blue' })] })
    demandAnswer(await shop.request(transaction, { more: true }), 200)
  }),
  check(
    'description',
    'A description may contain tabs, newlines and any script.',
    async ({ shop }) => {
      demandAnswer(await shop.request(order({ description: 'Zwei\n\tخريطتان 🎟️' })), 200)
    },
  ),
  check(
    'repeat',
    'The same id with the same body returns the stored response; the order of fields does not matter.',
    async ({ shop }) => {
      const transaction = order({ description: 'One' })
      const first = await shop.create(transaction)
      const turned = Object.fromEntries(Object.entries(transaction).toReversed())
      const again = await shop.create(turned)
      demand(again.id === first.id, 'a repeat made another payment')
      demand(again.urls[0] === first.urls[0], 'a repeat has another link')
    },
  ),
  check('repeat-at-once', 'Repeats at the same time make one payment.', async ({ shop }) => {
    const transaction = order()
    const made = await Promise.all(Array.from({ length: 8 }, () => shop.create(transaction)))
    demand(
      new Set(made.map(({ id }) => id)).size === 1,
      'concurrent repeats created several payments',
    )
  }),
  check(
    'repeat-changed',
    'The same id with another body is 409 DUPLICATE_TRANSACTION_ID; "100" and "100.00" differ.',
    async ({ shop }) => {
      const transaction = order()
      await shop.create(transaction)
      for (const change of [{ description: 'Two' }, { amount: '100' }, { currency: 'TTD' }]) {
        const answer = await shop.request({ ...transaction, ...change })
        demandRefused(answer, { status: 409, errorCode: 'DUPLICATE_TRANSACTION_ID' })
      }
    },
  ),
]
