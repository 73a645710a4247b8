// Tests what the TypeScript SDK does about failures, pages, waits and pushes, against a server that answers as wanted.
import { describe, expect, it } from 'vitest'
import { signWebhook } from '#core/identity/seal.ts'
import {
  createPayweave,
  type PayweaveOptions,
  readPush,
  verifyOnboardingCallback,
  verifySignature,
  WebhookError,
} from '../../clients/sdk-typescript/index.ts'
import { sealValue } from '../../clients/sdk-typescript/seal.ts'
import { eventually } from '../support/eventually.ts'
import { type Reply, refused, serveReplies } from './harness.ts'

const credentials = {
  subscriptionKey: 'pwk_test_0123456789abcdefghijklm',
  apiKey: 'key',
  originCountry: 'TT',
  ipAddress: '203.0.113.7',
}

async function against(replies: Reply[], options: Partial<PayweaveOptions> = {}) {
  const { seen, baseUrl } = await serveReplies(...replies)
  return { seen, payweave: createPayweave({ ...credentials, baseUrl, ...options }) }
}

const payer = {
  mobile_number: '+12025550101',
  payment_channel: 'payment_link',
  payment_method: 'wallet',
} as const
const order = { id: 'order-1', amount: '25.00', currency: 'USD', payers: [payer] }
const created: Reply = { status: 200, body: { payment_details: { id: 'p1' } } }
const bill = {
  biller_code: 'A',
  product_code: 'B',
  amount: '1.00',
  currency: 'USD',
  customer_reference: '1',
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => expect.fail('it was answered'),
    (error: unknown) => error,
  )
}

describe('a call', () => {
  it('a call has the headers and the version of the API', async () => {
    const { payweave, seen } = await against([created], { userAgent: 'shop/2.1' })
    const requestId = '5f0c1f1e-3c1d-4a8e-9d55-0d7f0a1b2c3d'
    await payweave.payments.create(order, { requestId })
    expect(seen).toMatchObject([
      {
        method: 'POST',
        headers: {
          'pw-subscription-key': credentials.subscriptionKey,
          'pw-origin-country': 'TT',
          'pw-ip-address': '203.0.113.7',
          'pw-request-id': requestId,
          'user-agent': 'payweave-sdk-typescript/0.1.0 shop/2.1',
          'content-type': 'application/json',
        },
      },
    ])
    expect(seen[0]?.headers['pw-request-date']).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(seen[0]?.url.search).toBe('?version=2024-10-01')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ api_key: 'key', transaction_request: order })
  })

  it.each<[string, Reply]>([
    ['a broken connection', 'break'],
    ['408', refused(408, 'TIMEOUT')],
    ['429', { ...(refused(429, 'RATE_LIMIT_EXCEEDED') as object), status: 429 }],
    ['500', refused(500, 'INTERNAL_ERROR')],
    ['503', refused(503, 'SERVICE_UNAVAILABLE')],
    ['504', refused(504, 'TIMEOUT')],
    ['409 of a key in progress', refused(409, 'IDEMPOTENCY_KEY_IN_PROGRESS')],
  ])('a call is repeated with the same ids and body after %s', async (_, reply) => {
    const paid: Reply = { status: 201, body: { normalized_status: 'SUCCESS' } }
    const { payweave, seen } = await against([reply, reply, paid])
    const found = await payweave.bills.pay(bill, { idempotencyKey: 'bill-1' })
    expect(found.normalized_status).toBe('SUCCESS')
    expect(seen.map(({ headers }) => headers['idempotency-key'])).toEqual(Array(3).fill('bill-1'))
    expect(new Set(seen.map(({ headers }) => headers['pw-request-id'])).size).toBe(1)
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
  })

  it('a push is sent again under one key in each attempt, and under another in the next call', async () => {
    const delivery: Reply = { status: 200, body: { delivery: { delivery_id: 'd1' } } }
    const { payweave, seen } = await against(['break', delivery])
    await payweave.deliveries.resend('d1')
    await payweave.deliveries.resend('d1')
    await payweave.deliveries.resend('d1', { idempotencyKey: 'mine' })
    const [first, repeat, next, own] = seen.map(({ headers }) => headers['idempotency-key'])
    expect(first).toMatch(/^[0-9a-f-]{36}$/)
    expect(repeat).toBe(first)
    expect(next).not.toBe(first)
    expect(own).toBe('mine')
  })

  it.each([400, 401, 403, 404, 409])('a call is not repeated after %i', async (status) => {
    const { payweave, seen } = await against([refused(status, 'SOME_REASON')])
    expect(await errorOf(payweave.payments.create(order))).toMatchObject({ status })
    expect(seen).toHaveLength(1)
  })

  it('a call is repeated three times and then rejects with the last error', async () => {
    const { payweave, seen } = await against([refused(503, 'SERVICE_UNAVAILABLE')])
    expect(await errorOf(payweave.payments.status('p1'))).toMatchObject({ status: 503 })
    expect(seen).toHaveLength(4)
  })

  it('a call waits as Retry-After says, and leaves a long wait to its caller', async () => {
    const after = (s: string): Reply => ({ status: 429, headers: { 'retry-after': s } })
    const soon = await against([after('1'), created])
    const startMs = performance.now()
    await soon.payweave.payments.create(order)
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(1_000)
    const late = await against([after('61'), created])
    expect(await errorOf(late.payweave.payments.create(order))).toMatchObject({ retryAfterS: 61 })
    expect(late.seen).toHaveLength(1)
  })

  it('a call that must not be executed twice is repeated only when it was not executed', async () => {
    const business = {
      business_name: 'Shop',
      first_name: 'Ama',
      last_name: 'Mensah',
      email: 'ama@example.com',
      mobile_number: '+12025550100',
    }
    for (const reply of ['break', refused(503, 'SERVICE_UNAVAILABLE')] as const) {
      const { payweave, seen } = await against([reply])
      await errorOf(payweave.accounts.createBusiness(business))
      expect(seen).toHaveLength(1)
    }
    const { payweave, seen } = await against([refused(429, 'RATE_LIMIT_EXCEEDED'), created])
    await payweave.accounts.createBusiness(business)
    expect(seen).toHaveLength(2)
  })

  it('a call without a response in time rejects, and keeps no connection waiting', async () => {
    let aborted = 0
    const counted: typeof fetch = (url, options) => {
      options?.signal?.addEventListener('abort', () => (aborted += 1))
      return fetch(url, options)
    }
    const options = { timeoutMs: 50, maxRetries: 1, fetch: counted }
    const { payweave } = await against(['hang'], options)
    expect(await errorOf(payweave.payments.status('p1'))).toMatchObject({
      status: 0,
      reason: 'NO_RESPONSE',
      message: 'GET /payments/status got no response within 50 ms',
    })
    expect(aborted).toBe(2)
  })

  it('a call ends when its caller aborts it, also between attempts', async () => {
    const reason = new Error('the customer has left')
    const hanging = await against(['hang'])
    const controller = new AbortController()
    const call = errorOf(hanging.payweave.payments.status('p1', { signal: controller.signal }))
    controller.abort(reason)
    expect(await call).toBe(reason)
    const busy = await against([{ status: 503, headers: { 'retry-after': '60' } }])
    const leaving = new AbortController()
    const waiting = errorOf(busy.payweave.payments.status('p1', { signal: leaving.signal }))
    await eventually(() => expect(busy.seen).toHaveLength(1))
    leaving.abort(reason)
    expect(await waiting).toBe(reason)
    expect(busy.seen).toHaveLength(1)
  })

  it('a call follows no redirect, which would carry the keys elsewhere', async () => {
    const other = await serveReplies(created)
    const { payweave } = await against([{ status: 307, headers: { location: other.baseUrl } }])
    expect(await errorOf(payweave.payments.create(order))).toMatchObject({ reason: 'HTTP_307' })
    expect(other.seen).toEqual([])
  })

  it('a client without a key is refused by name', () => {
    const options = { ...credentials, baseUrl: 'http://127.0.0.1', apiKey: '' }
    expect(() => createPayweave(options)).toThrow(new TypeError('missing options: apiKey'))
  })
})

describe('an error', () => {
  it('an error has the reason, the request and what to do, and no key', async () => {
    const more = { request_id: 'r1', field: 'amount', doc_url: 'https://x/docs/errors#A' }
    const { payweave } = await against([refused(400, 'INVALID_PARAMETER', more)])
    const error = await errorOf(payweave.payments.create(order))
    expect(error).toMatchObject({
      name: 'PayweaveError',
      status: 400,
      reason: 'INVALID_PARAMETER',
      requestId: 'r1',
      field: 'amount',
      docUrl: 'https://x/docs/errors#A',
      howToFix: expect.stringMatching(/^Correct the field/),
    })
    expect(JSON.stringify(error)).not.toMatch(/pwk_|"key"/)
  })

  it('an error has the code that stands inside data, and the status where there is none', async () => {
    const inside = { status: 409, body: { message: 'no', data: { errorCode: 'AMBIGUOUS_MATCH' } } }
    const lookup = { lookup_type: 'MOBILE', lookup_value: '+12025550109' } as const
    const accounts = (await against([inside])).payweave.accounts
    expect(await errorOf(accounts.openSession(lookup))).toMatchObject({ reason: 'AMBIGUOUS_MATCH' })
    const { quotes } = (await against([{ status: 404, body: { message: 'no' } }])).payweave
    const name = { quote_id: 'q', institution_name: 'Demo Wallet' }
    expect(await errorOf(quotes.get(name))).toMatchObject({ reason: 'HTTP_404', message: 'no' })
    const foreign = (await against([{ status: 200, body: '<html>' }])).payweave.payments
    expect(await errorOf(foreign.status('p1'))).toMatchObject({ reason: 'HTTP_200' })
  })
})

describe('a list', () => {
  const page = (ids: string[], next_cursor: string | null): Reply => ({
    status: 200,
    body: { payments: ids.map((id) => ({ payment_details_id: id })), next_cursor },
  })

  it('a list reads page after page, also over an empty one, with the same filter', async () => {
    const { payweave, seen } = await against([page(['a'], 'c1'), page([], 'c2'), page(['b'], null)])
    const ids: string[] = []
    for await (const payment of payweave.payments.list({ status: 'paid', limit: 1 })) {
      ids.push(payment.payment_details_id)
    }
    expect(ids).toEqual(['a', 'b'])
    expect(seen.map(({ url }) => url.searchParams.get('cursor'))).toEqual([null, 'c1', 'c2'])
    expect(seen.map(({ url }) => url.searchParams.get('status'))).toEqual(Array(3).fill('paid'))
  })

  it('a list reads no page that nobody wants', async () => {
    const { payweave, seen } = await against([page(['a', 'b'], 'c1')])
    expect(await payweave.payments.list().take(2)).toHaveLength(2)
    expect(seen).toHaveLength(1)
  })
})

describe('a wait', () => {
  const state = (status: string): Reply => ({ status: 200, body: { payment_details: { status } } })

  it('a wait ends with the wanted state', async () => {
    const { payweave, seen } = await against([state('Pending'), state('paid')])
    await payweave.payments.waitFor('p1', 'paid', { everyMs: 1 })
    expect(seen).toHaveLength(2)
  })

  it('a wait ends with an error when the state cannot come, or the time is over', async () => {
    const expired = (await against([state('Expired')])).payweave.payments
    expect(await errorOf(expired.waitFor('p1', 'paid'))).toMatchObject({
      name: 'WaitError',
      message: 'it is Expired, which is final',
    })
    const pending = (await against([state('Pending')])).payweave.payments
    const wait = pending.waitFor('p1', 'paid', { withinMs: 200, everyMs: 50 })
    expect(await errorOf(wait)).toMatchObject({ message: 'it is still Pending after 200 ms' })
  })

  it('a wait that has no response ends when its time is over, with all attempts of a read', async () => {
    const { payweave, seen } = await against([
      state('Pending'),
      refused(503, 'SERVICE_UNAVAILABLE'),
      'hang',
    ])
    const wait = payweave.payments.waitFor('p1', 'paid', { withinMs: 600, everyMs: 1 })
    expect(await errorOf(wait)).toMatchObject({
      name: 'WaitError',
      message: 'it is still Pending after 600 ms',
    })
    expect(seen).toHaveLength(3)
  })

  it('a wait ends with the reason of its caller, also between two reads', async () => {
    const { payweave, seen } = await against([state('Pending')])
    const leaving = new AbortController()
    const signal = leaving.signal
    const wait = errorOf(payweave.payments.waitFor('p1', 'paid', { everyMs: 30_000, signal }))
    await eventually(() => expect(seen).toHaveLength(1))
    // After the read, in the pause.
    setTimeout(() => leaving.abort('the customer has left'), 50)
    expect(await wait).toBe('the customer has left')
  })
})

describe('a push', () => {
  const headers = {
    'pw-delivery-id': 'd1',
    'pw-delivery-attempt': '2',
    'pw-event-id': 'e1',
    'pw-payment-details-id': 'p1',
  }
  const notify =
    '{"event_type":"payment_completed","transaction_id":"order-1","description":"\\"amount\\":1.5","payer":{"amount":90071992547409.93}}'

  it('a push is read with its ids, and its amount to the last digit', () => {
    const push = readPush({ headers: new Headers(headers), rawBody: Buffer.from(notify) })
    expect(push).toMatchObject({
      deliveryId: 'd1',
      attempt: 2,
      eventId: 'e1',
      paymentDetailsId: 'p1',
      transactionId: 'order-1',
      kind: 'notify',
      body: { description: '"amount":1.5', payer: { amount: '90071992547409.93' } },
    })
  })

  it.each([
    ['no header', {}, notify],
    ['an attempt that is no number', { ...headers, 'pw-delivery-attempt': 'first' }, notify],
    ['no id of a payment request', headers, '{"event_type":"payment_completed"}'],
    ['no JSON', headers, 'amount=1'],
    ['another body', headers, '{"id":1}'],
    ['more than 64 KiB', headers, notify.replace('order-1', 'o'.repeat(65_536))],
    ['brackets without end', headers, '['.repeat(60_000)],
  ])('a request with %s is no push', (_, given, rawBody) => {
    expect(() => readPush({ headers: given, rawBody })).toThrow(
      expect.objectContaining({ name: 'WebhookError' }) as Error,
    )
  })

  it('a body that never ends its text is refused in linear time', () => {
    const rawBody = `"${String.raw`\"`.repeat(32_000)}`
    const start = process.cpuUsage()
    expect(() => readPush({ headers, rawBody })).toThrow(WebhookError)
    expect(process.cpuUsage(start).user).toBeLessThan(300_000)
  })

  it('a push is confirmed by the state of the payment, and refused for a payment that is not ours', async () => {
    const body = {
      transaction_request: { id: 'order-1' },
      payment_details: { status: 'paid' },
    }
    const { payweave, seen } = await against([{ status: 200, body }])
    const { payment } = await payweave.payments.confirmPush({ headers, rawBody: notify })
    expect(payment.payment_details.status).toBe('paid')
    expect(seen[0]?.url.searchParams.get('payment_details_id')).toBe('p1')
    const other = notify.replace('order-1', 'order-2')
    const forged = payweave.payments.confirmPush({ headers, rawBody: other })
    expect(await errorOf(forged)).toMatchObject({ name: 'WebhookError' })
    const unknown = (await against([refused(404, 'PAYMENT_NOT_FOUND')])).payweave.payments
    const strange = unknown.confirmPush({ headers, rawBody: notify })
    expect(await errorOf(strange)).toMatchObject({ name: 'WebhookError' })
  })

  const keys = [{ keyId: '0a0b0c0d', sharedKey: Buffer.alloc(32, 7).toString('base64') }] as const
  const nowMs = 1_795_255_530_000
  const rawBody = '{"institution_name":"Demo Wallet"}'
  const signed = {
    headers: {
      ...headers,
      'PW-Signature': signWebhook(['secret'], nowMs / 1_000, rawBody),
      'authorisation-token': sealValue('my-own-token', keys[0], 'authorisation-token'),
    },
    rawBody,
    signingSecrets: ['newer', 'secret'],
    keys,
    authorisationToken: 'my-own-token',
    nowMs,
  }

  it('a signed callback is taken when signature and token are ours', () => {
    const { deliveryId, body } = verifyOnboardingCallback(signed)
    expect([deliveryId, body.institution_name]).toEqual(['d1', 'Demo Wallet'])
  })

  it.each([
    ['without the secret', { signingSecrets: ['newer'] }],
    ['too late', { nowMs: nowMs + 301_000 }],
    ['too late for a smaller tolerance', { nowMs: nowMs + 11_000, toleranceS: 10 }],
    ['with another body', { rawBody: `${rawBody} ` }],
    ['with the token of another account', { authorisationToken: 'another-token' }],
    ['without the key of the token', { keys: [] }],
    ['without a signature', { headers }],
  ])('a signed callback is refused %s', (_, change) => {
    expect(() => verifyOnboardingCallback({ ...signed, ...change })).toThrow(
      expect.objectContaining({ name: 'WebhookError' }) as Error,
    )
  })
  it.each<[string, unknown]>([
    ['an empty secret', ['secret', '']],
    ['one text in place of a list', 'secret'],
  ])('a callback is never verified with %s', (_, given) => {
    const signingSecrets = given as string[]
    expect(() => verifyOnboardingCallback({ ...signed, signingSecrets })).toThrow(TypeError)
    const header = signWebhook([''], nowMs / 1_000, rawBody)
    const options = { signingSecrets, toleranceS: 300, nowS: nowMs / 1_000 }
    expect(() => verifySignature(header, rawBody, options)).toThrow(TypeError)
  })
})
