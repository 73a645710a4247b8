// The /quote routes and the quotes of /institution: what they ask, and exactly what they answer.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure, type Reason, reasons } from '#core/errors/errors.ts'
import {
  QuoteKind,
  QuoteStatus,
  QuoteTransactionStatus,
} from '#gen/payweave/quotes/v1/quotes_pb.js'
import { call, type EdgeFixture, type Seen, startEdge } from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  const { quotes } = edge.seen
  quotes.created.length = 0
  quotes.read.length = 0
  quotes.refuseWith = undefined
  quotes.more = {}
})

const institution_name = 'Demo Wallet'
const asked = {
  session_token: 'pws_0123456789',
  institution_name,
  request_amount: '10.00',
  request_currency: 'USD',
}
const quote_id = '0198c000-0000-7000-8000-0000000000dd'
// One of another quote, and texts that can be none of ours: all answer alike.
const unknownIds = ['0198c000-0000-7000-8000-0000000000de', 'demo', `${quote_id}0`]
const times = { quote_date: '2026-01-02 23:58:00', expire_date: '2026-01-03 00:03:00' }

function post(path: string, body: unknown): Promise<Seen> {
  return call(edge.url, 'POST', `${path}?version=2024-10-01`, { body })
}

function get(path: string, query: Record<string, string> = {}): Promise<Seen> {
  const all = { version: '2024-10-01', quote_id, institution_name, ...query }
  return call(edge.url, 'GET', `${path}?${new URLSearchParams(all).toString()}`)
}

describe('POST /quote', () => {
  it('POST /quote answers exactly the fields of the contract', async () => {
    const { status, body } = await post('/quote', asked)
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message: 'Quote created successfully.',
      quote_id,
      rate: '6.7829',
      amount_quoted: '67.82',
      ...times,
    })
  })

  it('POST /quote hands the parties on as the service knows them', async () => {
    await post('/quote', {
      ...asked,
      debit_party: { mobile_number: '202 555 0100', country: 'US' },
      credit_party: { mobile_number: '+1 868 350 1234', account_number: 'A-1', currency: 'TTD' },
    })
    const [request] = edge.seen.quotes.created
    expect(request).toMatchObject({
      kind: QuoteKind.TRANSFER,
      sessionToken: asked.session_token,
      institutionName: institution_name,
      requested: { currency: 'USD', minorUnits: 1_000n },
      creditParty: { mobileNumber: '+18683501234', accountNumber: 'A-1', currency: 'TTD' },
    })
  })

  it.each([
    ['request_amount', '10.001', 'request_amount must have at most 2 decimals in USD.'],
    ['request_amount', '0.00', 'request_amount must be above zero.'],
    [
      'request_amount',
      10,
      'request_amount must be a decimal string such as "100.00", of at most 15 digits before the point and 4 after it.',
    ],
    [
      'request_amount',
      '1e3',
      'request_amount must be a decimal string such as "100.00", of at most 15 digits before the point and 4 after it.',
    ],
    [
      'request_currency',
      'ZZZ',
      'request_currency must be an ISO 4217 currency code, such as "TTD".',
    ],
    [
      'credit_party',
      { currency: 'XXX' },
      'credit_party.currency must be an ISO 4217 currency code, such as "TTD".',
    ],
    [
      'debit_party',
      { currency: 'XXX' },
      'debit_party.currency must be an ISO 4217 currency code, such as "TTD".',
    ],
    [
      'credit_party',
      { mobile_number: '12' },
      'credit_party.mobile_number must be a possible mobile number: E.164, such as "+18683501234", or a national number of the PW-origin-country.',
    ],
  ])('POST /quote refuses a bad %s: %j', async (field, value, message) => {
    const { status, body } = await post('/quote', { ...asked, [field]: value })
    expect(status).toBe(400)
    expect(body).toEqual({ status: 'error', code: 400, message })
    expect(edge.seen.quotes.created).toEqual([])
  })

  const refused: Array<[Reason, string]> = [
    ['SESSION_INVALID', reasons.SESSION_INVALID.meaning],
    ['SESSION_EXPIRED', reasons.SESSION_EXPIRED.meaning],
    ['ACCOUNT_UNAVAILABLE', reasons.ACCOUNT_UNAVAILABLE.meaning],
    ['LIMIT_EXCEEDED', 'The amount exceeds the user limits of the account.'],
    ['SERVICE_UNAVAILABLE', reasons.SERVICE_UNAVAILABLE.meaning],
    ['TIMEOUT', reasons.TIMEOUT.meaning],
  ]
  it.each(refused)(
    'POST /quote returns %s as status, code and message only',
    async (reason, message) => {
      edge.seen.quotes.refuseWith = new Failure(reason, 'inside')
      const { status, body } = await post('/quote', asked)
      const { http: code } = reasons[reason]
      expect(status).toBe(code)
      expect(body).toEqual({ status: 'error', code, message })
    },
  )

  it('POST /quote names the field that a refusal of the service is about', async () => {
    const field = 'request_amount'
    const message = 'request_amount is worth less than the smallest amount of USD'
    edge.seen.quotes.refuseWith = new Failure('INVALID_PARAMETER', message, { details: { field } })
    expect((await post('/quote', asked)).body).toEqual({
      status: 'error',
      code: 400,
      message: `${message}.`,
    })
  })
})

describe('GET /quote', () => {
  it('GET /quote answers exactly the fields of the contract', async () => {
    const { status, body } = await get('/quote')
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message: 'Quote retrieved successfully.',
      rate: '6.7829',
      request_date: '2026-01-02',
      amount_quoted: '67.82',
      ...times,
    })
    expect(edge.seen.quotes.read[0]).toMatchObject({
      quoteId: quote_id,
      institutionName: institution_name,
    })
  })

  it.each(unknownIds)(
    'GET /quote answers 404 for the unknown quote %s, in the body too',
    async (unknown) => {
      const { status, body } = await get('/quote', { quote_id: unknown })
      expect(status).toBe(404)
      expect(body).toEqual({ status: 'error', code: 404, message: 'There is no such quote.' })
    },
  )

  it('GET /quote lists what is missing', async () => {
    const { status, body } = await call(edge.url, 'GET', '/quote?version=2024-10-01')
    expect(status).toBe(400)
    expect(body['missing']).toEqual(['quote_id', 'institution_name'])
    expect(Object.keys(body)).toEqual(['status', 'code', 'message', 'missing'])
  })
})

const institutionQuote = {
  quote_id,
  rate: '6.7829',
  request_amount: '10.00',
  request_currency: 'USD',
  amount_quoted: '67.82',
  quoted_currency: 'TTD',
  fees: { total: '0.00', convenience: '0.00', sender_pays: '0.00', recipient_pays: '0.00' },
  ...times,
}
const envelope = {
  request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  timestamp: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
  observed_client_ip: expect.any(Object),
}

describe('POST /institution/quote', () => {
  it('POST /institution/quote answers the terms in the full envelope', async () => {
    const { status, body } = await post('/institution/quote', asked)
    expect(status).toBe(200)
    const message = 'Quote created successfully.'
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message,
      ...envelope,
      ...institutionQuote,
    })
    const [request] = edge.seen.quotes.created
    expect(request).toMatchObject({ kind: QuoteKind.INSTITUTION })
    expect(request?.creditParty).toBeUndefined()
  })

  it('POST /institution/quote returns a refusal with its code', async () => {
    edge.seen.quotes.refuseWith = new Failure('LIMIT_EXCEEDED', 'inside')
    const { status, body } = await post('/institution/quote', asked)
    expect([status, body['errorCode']]).toEqual([403, 'LIMIT_EXCEEDED'])
    expect(body['message']).toContain('user limits')
  })
})

describe('GET /institution/post', () => {
  const unused = {
    quote_status: 'active',
    transaction_id: null,
    institution_receipt_id: null,
    transaction_status: null,
  }

  it('a new quote is returned with its terms, as unused', async () => {
    const { status, body } = await get('/institution/post')
    expect(status).toBe(200)
    expect(body).toMatchObject({ ...institutionQuote, ...unused, request_date: '2026-01-02' })
  })

  it('GET /institution/post answers what used them', async () => {
    edge.seen.quotes.more = {
      status: QuoteStatus.USED,
      transactionId: 'transfer-1',
      institutionReceiptId: 'receipt-1',
      transactionStatus: QuoteTransactionStatus.PENDING,
    }
    expect((await get('/institution/post')).body).toMatchObject({
      quote_status: 'used',
      transaction_id: 'transfer-1',
      institution_receipt_id: 'receipt-1',
      transaction_status: 'pending',
    })
    edge.seen.quotes.more = { status: QuoteStatus.EXPIRED }
    expect((await get('/institution/post')).body).toMatchObject({
      ...unused,
      quote_status: 'expired',
    })
  })

  it('GET /institution/post answers 404 for an unknown quote and 403 where there is no grant', async () => {
    for (const id of unknownIds) {
      const unknown = await get('/institution/post', { quote_id: id })
      expect([unknown.status, unknown.body['errorCode']]).toEqual([404, 'QUOTE_NOT_FOUND'])
      expect(unknown.body['message']).toBe('There is no such quote.')
    }
    const refused = await get('/institution/post', { institution_name: 'Restricted Bank' })
    expect([refused.status, refused.body['errorCode']]).toEqual([
      403,
      'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED',
    ])
  })
})

it('POST /quote prints every amount with the decimals of its currency', async () => {
  edge.seen.quotes.more = {
    requested: { currency: 'BHD', minorUnits: 1n },
    quoted: { currency: 'JPY', minorUnits: 397n },
  }
  const { body } = await post('/institution/quote', asked)
  expect(body).toMatchObject({ request_amount: '0.001', amount_quoted: '397' })
})
