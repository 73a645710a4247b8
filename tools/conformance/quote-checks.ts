// Checks of quotes, of /quote and of the institution's: terms, limits, refusals.
import { sessionOf } from '../../clients/cli/api/client.ts'
import { closedBankName, person } from '../../clients/cli/api/order.ts'
import {
  type Check,
  demand,
  demandAnswer,
  demandExactly,
  demandPlainlyRefused,
  demandRefused,
  demandShape,
  fullEnvelope,
  groupOf,
} from './check.ts'
import { absent, aDate, anId, aRate, dateTime, holding, twoDecimals } from './shape.ts'

const check = groupOf('quotes', 'sandbox')

const noFees = { total: '0.00', convenience: '0.00', sender_pays: '0.00', recipient_pays: '0.00' }

const seconds = (text: unknown) => Date.parse(`${String(text).replace(' ', 'T')}Z`) / 1_000

const exchanges: [name: string, currency: string, rate: string, quoted: string][] = [
  ['ttd', 'TTD', '6.7829', '67.82'],
  ['jpy', 'JPY', '149.3500', '1493'],
  ['bhd', 'BHD', '0.3760', '3.760'],
]

export const quoteChecks: Check[] = [
  check(
    'create',
    'POST /quote returns quote_id, rate, amount_quoted, quote_date and expire_date, 300 s apart, and no request id.',
    async ({ shop }) => {
      const answer = await shop.quote(await sessionOf(shop, 0))
      demandExactly(answer, 200, {
        quote_id: anId,
        rate: aRate,
        amount_quoted: twoDecimals,
        quote_date: dateTime,
        expire_date: dateTime,
      })
      const { quote_date, expire_date } = answer.body
      demand(seconds(expire_date) - seconds(quote_date) === 300, 'the quote does not live 300 s')
    },
  ),
  ...exchanges.map(([name, currency, rate, amount_quoted]) =>
    check(
      `in-${name}`,
      `10.00 USD for a credit party in ${currency} is ${amount_quoted}, rounded down, in the decimals of the currency.`,
      async ({ shop }) => {
        const token = await sessionOf(shop, 0)
        const answer = await shop.quote(token, { credit_party: { currency } })
        demandAnswer(answer, 200, { rate, amount_quoted })
      },
    ),
  ),
  check('of-account', 'Without a currency the credit party account has it.', async ({ shop }) => {
    const credit_party = { mobile_number: person(5) }
    const answer = await shop.quote(await sessionOf(shop, 0), { credit_party })
    demandAnswer(answer, 200, { rate: '6.7829', amount_quoted: '67.82' })
  }),
  check('read', 'GET /quote returns the quote and request_date.', async ({ shop }) => {
    const { body } = await shop.quote(await sessionOf(shop, 0))
    const answer = await shop.readQuote(body['quote_id'])
    demandExactly(answer, 200, {
      rate: body['rate'],
      request_date: aDate,
      quote_date: body['quote_date'],
      amount_quoted: body['amount_quoted'],
      expire_date: body['expire_date'],
    })
  }),
  check(
    'unknown',
    'An unknown quote, or one of another project, is 404 with status, code and message alone.',
    async ({ shop, as }) => {
      const { body } = await shop.quote(await sessionOf(shop, 0))
      demandPlainlyRefused(await shop.readQuote('unknown'), 404, 'quote')
      demandPlainlyRefused(await as('other').readQuote(body['quote_id']), 404, 'quote')
    },
  ),
  check(
    'limits',
    'A quote over the user limits is 403 and its message says so; an amount exactly at the limit passes.',
    async ({ shop }) => {
      const token = await sessionOf(shop, 3)
      demandAnswer(await shop.quote(token, { request_amount: '73.71' }), 200)
      const above = await shop.quote(token, { request_amount: '73.72' })
      demandPlainlyRefused(above, 403, 'user limits')
    },
  ),
  check(
    'session',
    'An unknown session token, or one of another project, is 401.',
    async ({ shop, as }) => {
      demandPlainlyRefused(await shop.quote('pws_unknown'), 401, 'session')
      demandPlainlyRefused(await as('other').quote(await sessionOf(shop, 0)), 401, 'session')
    },
  ),
  check('session-not-spent', 'A quote does not spend the session.', async ({ shop }) => {
    const token = await sessionOf(shop, 0)
    demandAnswer(await shop.quote(token), 200)
    demandAnswer(await shop.quote(token), 200)
  }),
  check(
    'amount',
    'request_amount is a string above zero with no more decimals than its currency.',
    async ({ shop }) => {
      const token = await sessionOf(shop, 0)
      const bad = [
        { request_amount: 10 },
        { request_amount: '0.00' },
        { request_amount: '1.5', request_currency: 'JPY' },
      ]
      for (const more of bad) {
        demandPlainlyRefused(await shop.quote(token, more), 400, 'request_amount')
      }
    },
  ),
  check('currency', 'A currency without a rate is 400.', async ({ shop }) => {
    const answer = await shop.quote(await sessionOf(shop, 0), { request_currency: 'MXN' })
    demandPlainlyRefused(answer, 400, 'request_currency')
  }),
  check(
    'institution-create',
    "POST /institution/quote returns the terms with fees, in the currency of the session's account.",
    async ({ shop }) => {
      const answer = await shop.institutionQuote(await sessionOf(shop, 5))
      demandAnswer(answer, 200, {
        ...fullEnvelope,
        quote_id: anId,
        rate: '6.7829',
        request_amount: '10.00',
        request_currency: 'USD',
        amount_quoted: '67.82',
        quoted_currency: 'TTD',
        fees: noFees,
        quote_date: dateTime,
        expire_date: dateTime,
      })
    },
  ),
  check(
    'institution-read',
    'GET /institution/post returns the quote with quote_status active; the fields of its transaction are null until it is used.',
    async ({ shop }) => {
      const { body } = await shop.institutionQuote(await sessionOf(shop, 0))
      demandAnswer(await shop.readInstitutionQuote(body['quote_id']), 200, {
        ...fullEnvelope,
        quote_id: body['quote_id'],
        request_date: aDate,
        quote_status: 'active',
        transaction_id: null,
        institution_receipt_id: null,
        transaction_status: null,
      })
    },
  ),
  check(
    'institution-not-permitted',
    'An institution that the project has no grant for is 403 PW_INSTITUTION_ENDPOINT_NOT_ALLOWED, at top level.',
    async ({ shop }) => {
      const refusal = { status: 403, errorCode: 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED' }
      const elsewhere = { institution_name: closedBankName }
      demandRefused(await shop.institutionQuote('pws_any', elsewhere), refusal)
      demandRefused(await shop.readInstitutionQuote('any', { query: elsewhere }), refusal)
    },
  ),
  check(
    'institution-refusals',
    'An unknown session is 401 SESSION_INVALID, an unknown quote 404 QUOTE_NOT_FOUND, an amount over the limits 403 LIMIT_EXCEEDED.',
    async ({ shop }) => {
      const invalid = { status: 401, errorCode: 'SESSION_INVALID' }
      demandRefused(await shop.institutionQuote('pws_unknown'), invalid)
      const unknown = { status: 404, errorCode: 'QUOTE_NOT_FOUND' }
      demandRefused(await shop.readInstitutionQuote(crypto.randomUUID()), unknown)
      const large = { request_amount: '3686.00' }
      const answer = await shop.institutionQuote(await sessionOf(shop, 0), large)
      demandRefused(answer, { status: 403, errorCode: 'LIMIT_EXCEEDED', names: 'user limits' })
      demandShape(answer.body, { missing: absent, message: holding('limits') })
    },
  ),
]
