// The merchant routes: what they ask the services, how they answer, and whose cursors they take.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import {
  apiKey,
  call,
  type EdgeFixture,
  goodHeaders,
  keys,
  merchantId,
  paymentId,
  startEdge,
} from '../harness.ts'
import { deliveryId } from '../stand-ins/merchant.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
beforeEach(() => {
  edge.seen.merchant.nextPageToken = ''
})
afterAll(() => edge.close())

const version = '2026-12-01'

function get(path: string, query: Record<string, string> = {}, key = keys.demo) {
  const search = new URLSearchParams({ version, api_key: apiKey, ...query })
  const headers = goodHeaders({ 'PW-subscription-key': key })
  return call(edge.url, 'GET', `${path}?${search.toString()}`, { headers })
}

const post = (path: string, body: object) =>
  call(edge.url, 'POST', `${path}?version=${version}`, { body: { api_key: apiKey, ...body } })

const { created_from, created_to } = {
  created_from: '2026-01-01 00:00:00',
  created_to: '2026-01-02 12:30:00',
}

describe('GET /payments/list', () => {
  it('GET /payments/list answers a page', async () => {
    const { status, body } = await get('/payments/list')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      payments: [
        {
          payment_details_id: paymentId,
          transaction_id: 'order-1',
          amount: '100.00',
          currency: 'TTD',
          description: 'Tickets',
          status: 'Partially_paid',
          paid: '40.00',
          created_time: '2026-01-01 00:00:00',
          updated_time: '2026-01-01 00:00:01',
        },
      ],
      has_more: false,
      next_cursor: null,
    })
  })

  it('GET /payments/list asks for what the filters say, with numbers as the country writes them', async () => {
    const filters = { transaction_id: 'order 1', status: 'paid', created_from, created_to }
    await get('/payments/list', { ...filters, mobile_number: '(868) 350-1234', limit: '100' })
    const request = edge.seen.merchant.payments.at(-1)
    expect(request).toMatchObject({
      merchantId,
      transactionId: 'order 1',
      mobileNumberE164: '+18683501234',
      state: PaymentState.PAID,
      pageSize: 100,
      pageToken: '',
    })
    const times = [request?.startTime, request?.endTime].map((time) => time && timestampDate(time))
    expect(times).toEqual([new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T12:30:00Z')])
  })
})

describe.each(['/payments/list', '/deliveries/list'])('%s', (path) => {
  it.each([
    ['status', 'Paid'],
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '1e1'],
    ['limit', '-1'],
    ['created_from', '2026-01-01'],
    ['created_to', '2026-02-30 00:00:00'],
    ['created_to', '2026-01-01T00:00:00Z'],
    ['cursor', 'abc'],
    ['cursor', Buffer.from('1767225600000 0198c000').toString('base64url')],
  ])(`${path} refuses %s=%s`, async (name, value) => {
    const { status, body } = await get(path, { [name]: value })
    expect([status, body['errorCode'], body['field']]).toEqual([400, 'INVALID_PARAMETER', name])
  })

  it(`${path} refuses a window that ends before it begins`, async () => {
    const swapped = { created_from: created_to, created_to: created_from }
    const { status, body } = await get(path, swapped)
    expect([status, body['field']]).toEqual([400, 'created_from'])
  })

  it(`${path} takes its own cursor with the same filters and any page size`, async () => {
    edge.seen.merchant.nextPageToken = 'the-next-page'
    const filters = { status: path === '/payments/list' ? 'paid' : 'delivered', created_from }
    const { body } = await get(path, filters)
    expect(body).toMatchObject({ has_more: true })
    const cursor = String(body['next_cursor'])
    expect(Buffer.from(cursor, 'base64url').length).toBeGreaterThan(16)
    const { payments, deliveries } = edge.seen.merchant
    const asked = path === '/payments/list' ? payments : deliveries
    expect((await get(path, { ...filters, cursor, limit: '7' })).status).toBe(200)
    expect(asked.at(-1)).toMatchObject({ pageToken: 'the-next-page', pageSize: 7 })

    const other = path === '/payments/list' ? '/deliveries/list' : '/payments/list'
    const forged = `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`
    const refused = [
      await get(path, { cursor }),
      await get(path, { ...filters, created_to, cursor }),
      await get(path, { ...filters, cursor: forged }),
      await get(path, { ...filters, cursor: `${cursor}A` }),
      await get(path, { ...filters, cursor }, keys.paymentsOnly),
      await get(other, { created_from, cursor }),
    ]
    for (const { status, body: error } of refused) {
      expect([status, error['errorCode'], error['field']]).toEqual([
        400,
        'INVALID_PARAMETER',
        'cursor',
      ])
    }
  })
})

describe('GET /payments/events', () => {
  it('GET /payments/events shows what happened and the pushes in one order', async () => {
    const { status, body } = await get('/payments/events', { payment_details_id: paymentId })
    expect(status).toBe(200)
    const events = body['events'] as Record<string, unknown>[]
    expect(events.map(({ time, type }) => `${String(time)} ${String(type)}`)).toEqual([
      '2026-01-01T00:00:00.000Z payment_created',
      '2026-01-01T00:00:01.000Z push_created',
      '2026-01-01T00:00:02.030Z push_failed',
      '2026-01-01T00:00:03.030Z push_failed',
      '2026-01-01T00:00:04.000Z attempt_refused',
      '2026-01-01T00:00:05.000Z attempt_succeeded',
      '2026-01-01T00:00:09.000Z payment_refunded',
    ])
    expect(events).toMatchObject([
      { details: { amount: '100.00', currency: 'TTD' } },
      { details: { delivery_id: deliveryId, event_type: 'payment_initiated', kind: 'notify' } },
      { details: { attempt: 1, http_status: 500, error: null } },
      { details: { attempt: 2, http_status: null, error: 'ECONNREFUSED' } },
      { details: { attempt_id: 'attempt-0', refusal_reason: 'insufficient_funds' } },
      { payer: { mobile_number: '868 350 1234' }, details: { attempt_id: 'attempt-1' } },
      { details: { reason: 'Sold out' } },
    ])
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
    const again = await get('/payments/events', { payment_details_id: paymentId })
    expect(again.body['events']).toEqual(events)
  })

  it.each(['0198c000-0000-7000-8000-0000000000bb', 'no-uuid'])(
    'GET /payments/events answers 404 for %s',
    async (payment_details_id) => {
      const { status, body } = await get('/payments/events', { payment_details_id })
      expect([status, body['errorCode']]).toEqual([404, 'PAYMENT_NOT_FOUND'])
    },
  )
})

describe('POST /payments/refund', () => {
  it('POST /payments/refund answers as a cancel does, and hands the reason on', async () => {
    const reason = 'Out of stock'
    const { status, body } = await post('/payments/refund', {
      payment_details_id: paymentId,
      reason,
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ payment_details: { id: paymentId, status: 'Refunded' } })
    expect(edge.seen.merchant.reasons.at(-1)).toBe(reason)
  })

  it('POST /payments/refund refuses a reason of more than 200 characters', async () => {
    const { status, body } = await post('/payments/refund', {
      payment_details_id: paymentId,
      reason: 'x'.repeat(201),
    })
    expect([status, body['field']]).toEqual([400, 'reason'])
  })

  it('POST /payments/refund responds with 404 to an invalid id', async () => {
    const { status, body } = await post('/payments/refund', { payment_details_id: 'x' })
    expect([status, body['errorCode']]).toEqual([404, 'PAYMENT_NOT_FOUND'])
  })
})

const listed = {
  delivery_id: deliveryId,
  event_id: '0198c000-0000-7000-8000-0000000000e1',
  event_type: 'payment_initiated',
  kind: 'notify',
  url: 'https://shop.example/notify?a=1',
  status: 'exhausted',
  created_time: '2026-01-01 00:00:01',
  payment_details_id: paymentId,
}

describe('the routes of pushes', () => {
  it('GET /deliveries/list responds with a page, and with an empty one to an invalid id', async () => {
    const { body } = await get('/deliveries/list', { payment_details_id: paymentId })
    expect(body['deliveries']).toEqual([{ ...listed, attempts: 2 }])
    expect(edge.seen.merchant.deliveries.at(-1)).toMatchObject({ merchantId, paymentId })
    const none = await get('/deliveries/list', { payment_details_id: 'no-uuid' })
    expect(none.body).toMatchObject({ deliveries: [], has_more: false, next_cursor: null })
  })

  it('GET /deliveries/list refuses an unknown event type', async () => {
    const { status, body } = await get('/deliveries/list', { event_type: 'paid' })
    expect([status, body['field']]).toEqual([400, 'event_type'])
  })

  it('GET /deliveries/delivery shows the attempts and the bytes', async () => {
    const { body } = await get('/deliveries/delivery', { delivery_id: deliveryId })
    expect(body['delivery']).toEqual({
      ...listed,
      attempts: [
        {
          number: 1,
          time: '2026-01-01T00:00:02.000Z',
          duration_ms: 30,
          http_status: 500,
          error: null,
          response: 'an error page',
        },
        {
          number: 2,
          time: '2026-01-01T00:00:03.000Z',
          duration_ms: 30,
          http_status: null,
          error: 'ECONNREFUSED',
          response: '',
        },
      ],
      body: '{"event_type":"payment_initiated","amount":100.00}',
    })
  })

  it('POST /deliveries/resend sends again each time, also under one request id of a client', async () => {
    const headers = goodHeaders({ 'PW-request-id': paymentId })
    const body = { api_key: apiKey, delivery_id: deliveryId }
    for (const _ of [1, 2]) {
      const path = `/deliveries/resend?version=${version}`
      const answer = await call(edge.url, 'POST', path, { headers, body })
      expect(answer.status).toBe(200)
      expect(answer.body['delivery']).toMatchObject(listed)
    }
    expect(new Set(edge.seen.merchant.resent.map(({ requestId }) => requestId)).size).toBe(2)
  })

  it('POST /deliveries/resend has one request id for each Idempotency-Key of a merchant', async () => {
    const body = { api_key: apiKey, delivery_id: deliveryId }
    const path = `/deliveries/resend?version=${version}`
    const resend = (key: string) =>
      call(edge.url, 'POST', path, { headers: goodHeaders({ 'Idempotency-Key': key }), body })
    for (const key of ['one', 'one', 'two']) expect((await resend(key)).status).toBe(200)
    const [first, repeat, other] = edge.seen.merchant.resent.slice(-3)
    expect(first?.requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(repeat?.requestId).toBe(first?.requestId)
    expect(other?.requestId).not.toBe(first?.requestId)
    for (const key of ['', 'a b', 'x'.repeat(256)]) {
      const { status, body: refused } = await resend(key)
      expect([status, refused['errorCode']]).toEqual([400, 'INVALID_HEADER'])
      expect(refused['field']).toBe('Idempotency-Key')
    }
  })

  it('a delivery of another merchant is answered with 404 DELIVERY_NOT_FOUND', async () => {
    for (const delivery_id of [paymentId, 'no-uuid']) {
      const answers = [
        await get('/deliveries/delivery', { delivery_id }),
        await post('/deliveries/resend', { delivery_id }),
      ]
      for (const { status, body } of answers) {
        expect([status, body['errorCode']]).toEqual([404, 'DELIVERY_NOT_FOUND'])
      }
    }
  })
})
