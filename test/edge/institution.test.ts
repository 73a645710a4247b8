// The routes of institution transactions: both shapes of the body, what they ask, and exactly what they answer.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure, reasons } from '#core/errors/errors.ts'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { call, type EdgeFixture, type Seen, startEdge } from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => {
  const { transactions } = edge.seen
  transactions.created.length = 0
  transactions.listed.length = 0
  transactions.refuseWith = undefined
  transactions.nextPageToken = ''
  transactions.more = {}
})

const institution_name = 'Demo Wallet'
const asObjects = {
  session_token_enc: 'AQID',
  transaction_id: 'transfer-1',
  transaction_date: '2026-01-02 23:58:00',
  amount: '10.00',
  sender_currency: 'USD',
  sender_amount: '10.00',
  description: 'Lunch',
  transaction_type: 'p2p',
  fees: { total: '1.00', convenience: '0.25', sender_pays: '0.50', recipient_pays: '0.25' },
  debit_party: { mobile_number: '202 555 0100', currency: 'USD', metadata: 'till 1' },
  credit_party: { mobile_number: '+12025550101', account_number: 'A-1', account_type: 'wallet' },
  sender_kyc: { nationality: 'US' },
  recipient_kyc: { full_name: 'Kofi Boateng', country: 'GH' },
  transfer_information: {
    institution_name,
    receiving_country: 'GH',
    remittance_purpose: 'family',
    source_of_funds: 'salary',
    relationship_sender: 'brother',
  },
}
const asLists = {
  ...asObjects,
  transaction_date: '2026-01-02T23:58:00.000Z',
  fees: [
    { fee_type: 'sender_pays', fee_amount: '0.30', fee_currency: 'USD' },
    { fee_type: 'sender_pays', fee_amount: '0.20', fee_currency: 'USD' },
  ],
  debit_party: [
    { key: 'mobile_number', value: '202 555 0100' },
    { key: 'currency', value: 'USD' },
    { key: 'favourite_colour', value: 'blue' },
  ],
  credit_party: [
    { key: 'account_number', value: 'A-1' },
    // The longest there is, in characters of two UTF-16 units each.
    { key: 'account_type', value: '💧'.repeat(64) },
  ],
}

function post(body: unknown): Promise<Seen> {
  return call(edge.url, 'POST', '/institution/transaction?version=2024-10-01', { body })
}

function get(path: string, query: Record<string, string>): Promise<Seen> {
  const all = { version: '2024-10-01', ...query }
  return call(edge.url, 'GET', `${path}?${new URLSearchParams(all).toString()}`)
}

describe('POST /institution/transaction', () => {
  it('POST /institution/transaction answers the receipt', async () => {
    const { status, body } = await post(asObjects)
    expect(status).toBe(200)
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message: 'Institution transaction accepted successfully.',
      request_id: expect.any(String),
      timestamp: expect.any(String),
      institution_receipt_id: 'receipt-1',
      observed_client_ip: expect.any(Object),
    })
  })

  it('POST /institution/transaction hands a body of objects on', async () => {
    await post(asObjects)
    const [request] = edge.seen.transactions.created
    expect(request).toMatchObject({
      institutionName: institution_name,
      token: { case: 'sessionTokenSealed', value: 'AQID' },
      transactionId: 'transfer-1',
      type: TransactionType.P2P,
      amount: '10.00',
      senderAmount: '10.00',
      senderCurrency: 'USD',
      fees: [
        { type: 'total', amount: '1.00', currency: '' },
        { type: 'convenience', amount: '0.25', currency: '' },
        { type: 'sender_pays', amount: '0.50', currency: '' },
        { type: 'recipient_pays', amount: '0.25', currency: '' },
      ],
      debitParty: { mobileNumber: '+12025550100', currency: 'USD', metadata: 'till 1' },
      creditParty: { mobileNumber: '+12025550101', accountNumber: 'A-1', accountType: 'wallet' },
      senderKyc: { nationality: 'US' },
      recipientKyc: { full_name: 'Kofi Boateng', country: 'GH' },
      transferInformation: { receiving_country: 'GH', relationship_sender: 'brother' },
    })
    expect(request?.requestFingerprint).toHaveLength(32)
  })

  it('POST /institution/transaction hands a body of lists on', async () => {
    await post(asLists)
    const [request] = edge.seen.transactions.created
    expect(request).toMatchObject({
      fees: [
        { type: 'sender_pays', amount: '0.30', currency: 'USD' },
        { type: 'sender_pays', amount: '0.20', currency: 'USD' },
      ],
      debitParty: { mobileNumber: '+12025550100', currency: 'USD', accountNumber: '' },
      creditParty: { mobileNumber: '', accountNumber: 'A-1', accountType: '💧'.repeat(64) },
    })
    const time = request?.transactionTime
    expect(time && timestampDate(time).toISOString()).toBe('2026-01-02T23:58:00.000Z')
  })

  it('a repeat with a resealed token or unknown fields has the same fingerprint', async () => {
    await post(asObjects)
    await post({ ...asObjects, session_token_enc: 'BAUG', favourite_colour: 'blue' })
    await post({ ...asObjects, amount: '10.0' })
    const [first, again, other] = edge.seen.transactions.created
    expect(again?.requestFingerprint).toEqual(first?.requestFingerprint)
    expect(other?.requestFingerprint).not.toEqual(first?.requestFingerprint)
  })

  it.each([
    [
      'debit_party[1].key',
      {
        debit_party: [
          { key: 'currency', value: 'USD' },
          { key: 'currency', value: 'USD' },
        ],
      },
    ],
    ['debit_party[0].value', { debit_party: [{ key: 'account_type', value: 'x'.repeat(65) }] }],
    ['debit_party[0].value', { debit_party: [{ key: 'mobile_number', value: '12' }] }],
    ['credit_party.currency', { credit_party: { currency: 'XXQ' } }],
    [
      'fees[0].fee_currency',
      { fees: [{ fee_type: 'total', fee_amount: '1.00', fee_currency: 'XXQ' }] },
    ],
    ['sender_amount', { sender_amount: '0' }],
    ['transaction_date', { transaction_date: '2026-02-30 00:00:00' }],
  ])('POST /institution/transaction refuses a bad %s by its path', async (path, more) => {
    const { status, body } = await post({ ...asObjects, ...more })
    expect([status, body['errorCode']]).toEqual([400, 'INVALID_PARAMETER'])
    expect(String(body['message'])).toContain(path)
  })

  const listed = (...fees: [type: string, amount: string, currency?: string][]) => ({
    fees: fees.map(([fee_type, fee_amount, fee_currency = 'USD']) => ({
      fee_type,
      fee_amount,
      fee_currency,
    })),
  })
  const exchange = { quote_id: 'quote-1', sender_amount: '1.00', amount: '6.78' }

  it.each([
    ['fees.sender_pays', 'above sender_amount', { fees: { sender_pays: '10.01' } }],
    [
      'fees.sender_pays',
      'above amount',
      { sender_amount: undefined, fees: { sender_pays: '10.0001' } },
    ],
    ['fees.sender_pays', 'above sender_amount', { ...exchange, fees: { sender_pays: '1.01' } }],
    ['fees.recipient_pays', 'above amount', { fees: { recipient_pays: '10.01' } }],
    ['fees.total', 'the sum of', { fees: { total: '0.75', sender_pays: '0.5' } }],
    ['fees.total', 'the sum of', { fees: { total: '0.50', sender_pays: '0.5', convenience: '1' } }],
    ['fees.total', 'the sum of', { ...exchange, fees: { total: '0.75', sender_pays: '0.5' } }],
    [
      'fees[2].fee_amount',
      'sender_pays, which must not be above sender_amount',
      listed(['sender_pays', '6.00'], ['total', '11.00'], ['sender_pays', '5.00']),
    ],
    ['fees[0].fee_amount', 'adds to recipient_pays, which', listed(['recipient_pays', '10.01'])],
    [
      'fees[1].fee_amount',
      'total, which must be the sum of',
      listed(['sender_pays', '1.00'], ['total', '1.01'], ['other', '0.01']),
    ],
    [
      'fees[1].fee_currency',
      'must be USD',
      listed(['tip', '1', 'TTD'], ['sender_pays', '1', 'TTD']),
    ],
    [
      'fees[0].fee_currency',
      'must be TTD',
      { credit_party: { currency: 'TTD' }, ...listed(['recipient_pays', '1', 'USD']) },
    ],
    [
      'fees[0].fee_currency',
      'must be USD',
      {
        sender_currency: undefined,
        debit_party: [
          { key: 'mobile_number', value: '+12025550100' },
          { key: 'currency', value: 'USD' },
        ],
        ...listed(['convenience', '1', 'TTD']),
      },
    ],
  ])('POST /institution/transaction refuses %s by its path: %s', async (path, rule, more) => {
    const { status, body } = await post({ ...asObjects, ...more })
    expect([status, body['errorCode']]).toEqual([400, 'INVALID_PARAMETER'])
    expect(String(body['message']).startsWith(`${path} `)).toBe(true)
    expect(String(body['message'])).toContain(rule)
    expect(edge.seen.transactions.created).toEqual([])
  })

  it.each([
    ['as much as the amounts', { fees: { sender_pays: '10.00', recipient_pays: '10' } }],
    [
      'a total in other digits',
      { fees: { total: '1', sender_pays: '0.5000', convenience: '0.50' } },
    ],
    ['none', { fees: {} }],
    ['a total of none', { fees: { total: '0.00' } }],
    [
      'lists that sum by type',
      listed(['sender_pays', '0.30'], ['sender_pays', '0.20'], ['total', '0.50']),
    ],
    ['types that mean nothing, in any currency', listed(['tip', '900.00', 'EUR'])],
    // Only the service knows whether both are in one currency.
    [
      'with a quote, a total of fees of both sides',
      { ...exchange, fees: { total: '9', sender_pays: '1', recipient_pays: '1' } },
    ],
  ])('POST /institution/transaction takes fees of %s', async (_, more) => {
    const { status, body } = await post({ ...asObjects, ...more })
    expect(status, String(body['message'])).toBe(200)
  })

  it.each([
    'SESSION_INVALID',
    'SESSION_EXPIRED',
    'PARTY_NOT_ALLOWED',
    'ACCOUNT_NOT_FOUND',
    'ACCOUNT_UNAVAILABLE',
    'SAME_PARTIES',
    'DUPLICATE_TRANSACTION_ID',
    'LIMIT_EXCEEDED',
    'INSUFFICIENT_FUNDS',
    'QUOTE_NOT_FOUND',
    'QUOTE_EXPIRED',
    'QUOTE_ALREADY_USED',
    'QUOTE_MISMATCH',
    'CURRENCY_NOT_SUPPORTED',
    'AMOUNT_OUT_OF_RANGE',
  ] as const)('a refusal with %s returns the meaning of the reason', async (reason) => {
    edge.seen.transactions.refuseWith = new Failure(reason, 'internal words')
    const { status, body } = await post(asObjects)
    expect([status, body['errorCode'], body['message']]).toEqual([
      reasons[reason].http,
      reason,
      reasons[reason].meaning,
    ])
  })

  it("a refused field is returned with the service's own message", async () => {
    const details = { field: 'fees.recipient_pays' }
    edge.seen.transactions.refuseWith = new Failure(
      'INVALID_PARAMETER',
      'fees.recipient_pays must not be above amount',
      { details },
    )
    const { body } = await post(asObjects)
    expect(body['message']).toBe('fees.recipient_pays must not be above amount.')
  })
})

describe('GET /institution/transaction', () => {
  it.each([
    [TransactionStatus.PENDING, 'pending'],
    [TransactionStatus.COMPLETED, 'completed'],
    [TransactionStatus.FAILED, 'failed'],
    [TransactionStatus.CANCELLED, 'cancelled'],
  ])('GET /institution/transaction shows the status %s as %s', async (status, word) => {
    edge.seen.transactions.more = { status }
    const { body } = await get('/institution/transaction', {
      transaction_id: 'transfer-1',
      institution_name,
    })
    expect(body).toEqual({
      status: 'success',
      code: 200,
      message: 'Institution transaction retrieved successfully.',
      request_id: expect.any(String),
      timestamp: expect.any(String),
      transaction_id: 'transfer-1',
      institution_receipt_id: 'receipt-1',
      transaction_type: 'p2p',
      transaction_status: word,
      currency: 'USD',
      amount: '10.00',
      institution_name,
      observed_client_ip: expect.any(Object),
    })
  })

  it('GET /institution/transaction does not know a foreign id', async () => {
    const query = { transaction_id: 'unknown', institution_name }
    const { status, body } = await get('/institution/transaction', query)
    expect([status, body['errorCode']]).toEqual([404, 'TRANSACTION_NOT_FOUND'])
  })
})

describe('GET /institution/transaction_history', () => {
  const path = '/institution/transaction_history'
  const mobile_number = '+1 202 555 0100'

  it('GET /institution/transaction_history shows a page with the numbers of both sides masked', async () => {
    edge.seen.transactions.nextPageToken = 'next'
    const { body } = await get(path, { mobile_number })
    expect(body['data']).toEqual({
      mobile_number,
      transactions: [
        {
          transaction_id: 'transfer-1',
          institution_receipt_id: 'receipt-1',
          transaction_type: 'p2p',
          transaction_status: 'completed',
          amount: '10.00',
          currency: 'USD',
          sender_amount: '10.00',
          sender_currency: 'USD',
          fees: { total: '0.00', convenience: '0.00', sender_pays: '0.00', recipient_pays: '0.00' },
          quote_id: null,
          description: '',
          posted_date: '2026-01-02 23:58:00',
          cleared_date: '2026-01-02 23:58:00',
          sender: { mobile_number: '*******0100', account_number: null },
          recipient: { mobile_number: '*******0101', account_number: '******3456' },
        },
      ],
      count: 1,
      has_more: true,
      next_cursor: 'next',
    })
  })

  it('GET /institution/transaction_history widens days to their whole, and accepts a page size and token', async () => {
    const query = {
      start_datetime: '2026-01-01',
      end_datetime: '2026-01-02',
      limit: '5',
      cursor: 'c',
    }
    await get(path, { mobile_number, ...query })
    const [request] = edge.seen.transactions.listed
    expect(request).toMatchObject({ mobileNumber: '+12025550100', pageSize: 5, pageToken: 'c' })
    const times = [request?.startTime, request?.endTime].map(
      (time) => time && timestampDate(time).toISOString(),
    )
    expect(times).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-03T00:00:00.000Z'])
  })

  it('GET /institution/transaction_history shows no clearing date of what has not cleared', async () => {
    edge.seen.transactions.more = { status: TransactionStatus.FAILED }
    const { body } = await get(path, { mobile_number })
    expect(body['data']).toMatchObject({ transactions: [{ cleared_date: null }] })
  })

  it.each([
    ['limit', { limit: '0' }],
    ['limit', { limit: '201' }],
    ['limit', { limit: 'many' }],
    ['start_datetime', { start_datetime: '2026-01-03', end_datetime: '2026-01-02' }],
    ['end_datetime', { end_datetime: '2026-13-01' }],
    ['mobile_number', { mobile_number: '12' }],
  ])('GET /institution/transaction_history refuses a bad %s', async (name, more) => {
    const { status, body } = await get(path, { mobile_number, ...more })
    expect([status, body['errorCode']]).toEqual([400, 'INVALID_PARAMETER'])
    expect(String(body['message'])).toContain(name)
  })
})
