// Quotes through the whole system: what each route answers, and every refusal that a client can bring about.
import { describe, expect, it } from 'vitest'
import { client } from '../accounts/customer.ts'
import { type ApiResponse, dateTimePattern, type Json, person, sharedMesh } from '../harness.ts'
import { expectRefused, invalid, missingField } from '../refusals/refusal.ts'

const mesh = sharedMesh()
const demo = client(mesh)
const other = client(mesh, 'other')

/** The whole of an answer of /quote that refuses. */
function expectPlainlyRefused(
  { status, body, text }: ApiResponse,
  code: number,
  names: string,
): void {
  expect(body, text).toEqual({ status: 'error', code, message: expect.stringContaining(names) })
  expect(status).toBe(code)
}

function timeMs(text: unknown): number {
  return Date.parse(`${String(text).replace(' ', 'T')}Z`)
}

describe('POST /quote', () => {
  it('POST /quote answers the terms of a quote that lives for five minutes', async () => {
    const token = await demo.session(0)
    const askedMs = Date.now()
    const answer = await demo.quote(token, { credit_party: { currency: 'TTD' } })
    const answeredMs = Date.now()
    expect(answer.body, answer.text).toEqual({
      status: 'success',
      code: 200,
      message: expect.any(String),
      quote_id: expect.any(String),
      rate: '6.7829',
      amount_quoted: '67.82',
      quote_date: expect.stringMatching(dateTimePattern),
      expire_date: expect.stringMatching(dateTimePattern),
    })
    const { quote_date, expire_date } = answer.body
    expect(timeMs(expire_date) - timeMs(quote_date)).toBe(300_000)
    // It has whole seconds.
    expect(timeMs(quote_date)).toBeGreaterThan(askedMs - 1_000)
    expect(timeMs(quote_date)).toBeLessThanOrEqual(answeredMs)
  })

  it.each([
    [
      'the currency that the credit party names',
      { currency: 'JPY', mobile_number: person(5) },
      '149.3500',
      '1493',
    ],
    ['that of the account that it names', { mobile_number: person(5) }, '6.7829', '67.82'],
    [
      'the session’s when it names nobody known',
      { mobile_number: '+18683501234' },
      '1.0000',
      '10.00',
    ],
    ['three decimals where the currency has them', { currency: 'BHD' }, '0.3760', '3.760'],
  ])('POST /quote makes a quote in %s', async (_, credit_party, rate, amount_quoted) => {
    const answer = await demo.quote(await demo.session(0), { credit_party })
    expect(answer.body, answer.text).toMatchObject({ rate, amount_quoted })
  })

  it('POST /quote does not spend the session', async () => {
    const token = await demo.session(0)
    for (let round = 0; round < 3; round += 1) expect((await demo.quote(token)).status).toBe(200)
  })

  it('POST /quote takes what is exactly within the limits of the user and refuses a cent more', async () => {
    // Level 0: 500.00 TTD at once, which are 73.71 USD and a little.
    const token = await demo.session(3)
    expect((await demo.quote(token, { request_amount: '73.71' })).status).toBe(200)
    expectPlainlyRefused(await demo.quote(token, { request_amount: '73.72' }), 403, 'user limits')
  })

  it('POST /quote refuses a session that is unknown, of another project or another institution', async () => {
    expectPlainlyRefused(await demo.quote('pws_unknown'), 401, 'session token')
    const token = await demo.session(0)
    expectPlainlyRefused(await other.quote(token), 401, 'session token')
    const elsewhere = { institution_name: 'Restricted Bank' }
    expectPlainlyRefused(await demo.quote(token, elsewhere), 401, 'session token')
  })

  it.each([
    ['without a token', { session_token: undefined }, 'session_token is required'],
    ['without an institution', { institution_name: '' }, 'institution_name is required'],
    ['without an amount', { request_amount: undefined }, 'request_amount is required'],
    ['without a currency', { request_currency: undefined }, 'request_currency is required'],
    ['with a number as amount', { request_amount: 10 }, 'request_amount'],
    ['with nothing as amount', { request_amount: '0.00' }, 'request_amount'],
    [
      'with too many decimals',
      { request_amount: '1.5', request_currency: 'JPY' },
      'request_amount',
    ],
    ['in no currency', { request_currency: 'XXX' }, 'request_currency'],
    ['in a currency without rate', { request_currency: 'MXN' }, 'request_currency'],
    ['for a currency without rate', { credit_party: { currency: 'MXN' } }, 'credit_party.currency'],
    [
      'for an amount that is worth less than a minor unit',
      { request_amount: '0.06', request_currency: 'TTD' },
      'request_amount is worth less than 0.01 USD',
    ],
    [
      'to an invalid number',
      { credit_party: { mobile_number: '12' } },
      'credit_party.mobile_number',
    ],
  ])('POST /quote refuses a request %s', async (_, change, names) => {
    expectPlainlyRefused(await demo.quote(await demo.session(0), change), 400, names)
  })

  it('a quote cannot choose the currency of a number with two accounts', async () => {
    const credit_party = { mobile_number: person(9) }
    const answer = await demo.quote(await demo.session(0), { credit_party })
    expectPlainlyRefused(answer, 409, 'credit_party')
  })

  it('POST /quote refuses another version and another key in the same plain form', async () => {
    const query = { version: '2026-07-01' }
    expectPlainlyRefused(await demo.call('POST', '/quote', { query, body: {} }), 400, 'version')
    const headers = { 'PW-subscription-key': 'x'.repeat(32) }
    expectPlainlyRefused(await demo.call('POST', '/quote', { headers, body: {} }), 401, 'key')
  })
})

describe('GET /quote', () => {
  it('GET /quote returns a quote again', async () => {
    const { body } = await demo.quote(await demo.session(0), { credit_party: { currency: 'TTD' } })
    const answer = await demo.readQuote(body['quote_id'])
    expect(answer.body, answer.text).toEqual({
      status: 'success',
      code: 200,
      message: expect.any(String),
      rate: body['rate'],
      request_date: String(body['quote_date']).slice(0, 10),
      quote_date: body['quote_date'],
      amount_quoted: body['amount_quoted'],
      expire_date: body['expire_date'],
    })
  })

  it('GET /quote knows no quote of another project or institution, and none of any other id', async () => {
    const { quote_id } = (await demo.quote(await demo.session(0))).body
    expectPlainlyRefused(await other.readQuote(quote_id), 404, 'no such quote')
    const elsewhere = { institution_name: 'Restricted Bank' }
    expectPlainlyRefused(await demo.readQuote(quote_id, elsewhere), 404, 'no such quote')
    for (const id of ['unknown', crypto.randomUUID(), "'; --"]) {
      expectPlainlyRefused(await demo.readQuote(id), 404, 'no such quote')
    }
  })

  it('GET /quote names what is missing', async () => {
    const query = { version: undefined }
    const { status, body } = await demo.call('GET', '/quote', { query })
    expect(status).toBe(400)
    expect(body).toEqual({
      status: 'error',
      code: 400,
      message: expect.any(String),
      missing: ['version', 'quote_id', 'institution_name'],
    })
  })
})

describe('the quotes of an institution', () => {
  const make = (token: string, more: Json = {}) => demo.quote(token, more, '/institution/quote')
  const read = (id: unknown, more = {}) => demo.readQuote(id, more, '/institution/post')

  it('the quotes of an institution are in the currency of the session’s account and read back with their outcome', async () => {
    const answer = await make(await demo.session(5))
    const terms = {
      quote_id: expect.any(String),
      rate: '6.7829',
      request_amount: '10.00',
      request_currency: 'USD',
      amount_quoted: '67.82',
      quoted_currency: 'TTD',
      fees: { total: '0.00', convenience: '0.00', sender_pays: '0.00', recipient_pays: '0.00' },
      quote_date: expect.stringMatching(dateTimePattern),
      expire_date: expect.stringMatching(dateTimePattern),
    }
    expect(answer.body, answer.text).toMatchObject({ status: 'success', code: 200, ...terms })
    const again = await read(answer.body['quote_id'])
    expect(again.body, again.text).toMatchObject({
      ...terms,
      quote_id: answer.body['quote_id'],
      request_date: String(answer.body['quote_date']).slice(0, 10),
      quote_status: 'active',
      transaction_id: null,
      institution_receipt_id: null,
      transaction_status: null,
    })
  })

  it('the quotes of an institution are refused without a grant', async () => {
    const elsewhere = { institution_name: 'Restricted Bank' }
    const refused = { status: 403, errorCode: 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED' }
    expectRefused(await make(await demo.session(0), elsewhere), refused)
    expectRefused(await read('unknown', elsewhere), refused)
  })

  it('the quotes of an institution are refused for a bad session, field or amount, and above the limits', async () => {
    const token = await demo.session(0)
    for (const wrong of ['pws_unknown', 'x'.repeat(16_384)]) {
      expectRefused(await make(wrong), { status: 401, errorCode: 'SESSION_INVALID' })
    }
    expectRefused(await make(token, { session_token: undefined }), missingField('session_token'))
    expectRefused(await make(token, { request_amount: '-1' }), invalid('request_amount'))
    expectRefused(await make(token, { request_currency: 'MXN' }), {
      status: 400,
      errorCode: 'CURRENCY_NOT_SUPPORTED',
      names: 'request_currency',
    })
    // Level 2: 25,000.00 TTD at once.
    expectRefused(await make(token, { request_amount: '3686.00' }), {
      status: 403,
      errorCode: 'LIMIT_EXCEEDED',
      names: 'user limits',
    })
  })

  it('the quotes of an institution are unknown to others, and missing parameters are named', async () => {
    const { quote_id } = (await make(await demo.session(0))).body
    const unknown = { status: 404, errorCode: 'QUOTE_NOT_FOUND' }
    expectRefused(await read(crypto.randomUUID()), unknown)
    expectRefused(await other.readQuote(quote_id, {}, '/institution/post'), unknown)
    const answer = await demo.call('GET', '/institution/post')
    expectRefused(answer, {
      status: 400,
      errorCode: 'MISSING_PARAMETER',
      missing: ['quote_id', 'institution_name'],
    })
  })

  it('the quotes of an institution and those of /quote are the same quotes', async () => {
    const { quote_id } = (await demo.quote(await demo.session(0))).body
    expect((await read(quote_id)).body['quote_status']).toBe('active')
  })
})
