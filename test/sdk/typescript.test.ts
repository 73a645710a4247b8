// Tests what the TypeScript SDK does about failures, pages and waits, against a server that answers as wanted.
import { describe, expect, it, vi } from 'vitest'
import { type ApiResponse, createPayweave } from '../../clients/sdk-typescript/index.ts'
import { eventually } from '../support/eventually.ts'
import { against, credentials, errorOf, type Reply, refused, serveReplies } from './harness.ts'

const payer = {
  mobile_number: '+12025550101',
  payment_channel: 'payment_link',
  payment_method: 'wallet',
} as const
const order = { id: 'order-1', amount: '25.00', currency: 'USD', payers: [payer] }
const created = { status: 200, body: { payment_details: { id: 'p1' } } }
const bill = {
  biller_code: 'A',
  product_code: 'B',
  amount: '1.00',
  currency: 'USD',
  customer_reference: '1',
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
    ['502 of a proxy', { status: 502, body: '<html>' }],
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

  it('a call is repeated while the first call with its key runs, longer than after a failure', async () => {
    const running = refused(409, 'IDEMPOTENCY_KEY_IN_PROGRESS')
    const lost = [...Array<Reply>(6).fill(running), 'break', { status: 201, body: {} }] as const
    const { payweave, seen } = await against([...lost], { maxRetries: 1 })
    await payweave.bills.pay(bill, { idempotencyKey: 'bill-1' })
    expect(seen).toHaveLength(8)
    const once = await against([running])
    const options = { idempotencyKey: 'bill-1', maxRetries: 0 }
    await errorOf(once.payweave.bills.pay(bill, options))
    expect(once.seen).toHaveLength(1)
  })

  it('a call whose key is in progress for a minute rejects with that reason', async () => {
    const { payweave, seen } = await against([refused(409, 'IDEMPOTENCY_KEY_IN_PROGRESS')])
    const start = performance.now()
    const clock = vi.spyOn(performance, 'now')
    clock.mockImplementation(() => start + (seen.length > 2 ? 60_000 : 0))
    const call = payweave.bills.pay(bill, { idempotencyKey: 'bill-1' })
    const error = await errorOf(call).finally(() => clock.mockRestore())
    expect(error).toMatchObject({ status: 409, reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' })
    expect(seen).toHaveLength(3)
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

  it('a function in place of fetch gets the headers as an object, to which it can add', async () => {
    const traced: typeof fetch = (url, options) =>
      fetch(url, { ...options, headers: { ...(options?.headers as object), traceparent: 't' } })
    const { payweave, seen } = await against([created], { fetch: traced })
    await payweave.payments.create(order)
    expect(seen[0]?.headers).toMatchObject({
      traceparent: 't',
      'pw-subscription-key': credentials.subscriptionKey,
    })
  })

  it('a form has 60 seconds by default, any other call 30, and both what the caller says', async () => {
    const timeouts = vi.spyOn(AbortSignal, 'timeout')
    const made: Reply = { status: 200, body: { data: {} } }
    const profile = {
      first_name: 'Efua',
      last_name: 'Sutherland',
      email: 'efua@example.com',
      mobile_number: '+12025550100',
      institution_name: 'Demo Wallet',
    }
    const { accounts } = (await against([made])).payweave
    await accounts.createPersonalWithDocuments(profile)
    await accounts.createPersonal(profile)
    const own = (await against([made], { timeoutMs: 40_000 })).payweave.accounts
    await own.createPersonalWithDocuments(profile)
    await own.createPersonalWithDocuments(profile, { timeoutMs: 50_000 })
    const found = timeouts.mock.calls.map(([ms]) => ms)
    timeouts.mockRestore()
    expect(found).toEqual([60_000, 30_000, 40_000, 50_000])
  })

  it('a caller sees the headers of each response, also of those before a repeat', async () => {
    const headers = { 'pw-request-id': 'r1', 'pw-warning': 'unknown field: colour' }
    const seen: unknown[] = []
    const onResponse = ({ status, headers: found, requestId }: ApiResponse) =>
      seen.push([status, found.get('PW-Warning'), requestId])
    const busy = { ...(refused(503, 'SERVICE_UNAVAILABLE') as object), status: 503, headers }
    const { payweave } = await against([busy, 'break', { ...created, headers }], { onResponse })
    await payweave.payments.create(order)
    expect(seen).toEqual([503, 200].map((status) => [status, headers['pw-warning'], 'r1']))
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

  const badKeys = [null, '', 'a b', 'facture-é', 'a\nb', 'x'.repeat(256), 7]
  it.each([
    ...[undefined, ...badKeys].map((key) => ['bills.pay', key]),
    // Without a key a push is sent again under a new one.
    ...badKeys.map((key) => ['deliveries.resend', key]),
  ])('%s with the key %j is refused before it is sent', async (name, key) => {
    const { payweave, seen } = await against([created])
    const options = { idempotencyKey: key as never }
    const call =
      name === 'bills.pay'
        ? payweave.bills.pay(bill, options)
        : payweave.deliveries.resend('d1', options)
    const message = 'idempotencyKey must have 1 to 255 visible ASCII characters'
    expect(await errorOf(call)).toEqual(new TypeError(message))
    expect(seen).toEqual([])
  })

  it('a call that cannot be sent rejects with the mistake, and is not repeated', async () => {
    const { payweave, seen } = await against([created])
    const circle: Record<string, unknown> = {}
    circle['circle'] = circle
    for (const change of [{ amount: 2500n }, { metadata: circle }]) {
      const call = payweave.payments.create({ ...order, ...change } as never)
      expect(await errorOf(call)).toBeInstanceOf(TypeError)
    }
    const requestId = null as never
    const message = 'PW-request-id must be a string'
    expect(await errorOf(payweave.payments.create(order, { requestId }))).toEqual(
      new TypeError(message),
    )
    expect(seen).toEqual([])
  })

  it.each([
    'api.example.com',
    'localhost:8080',
    'ftp://api.example.com',
    'https://',
    'https://api.example.com ',
    'https://name:secret@api.example.com',
    'https://api.example.com?a=b',
    'https://api.example.com/#a',
  ])('a client for the address "%s" is refused', (baseUrl) => {
    const message = 'baseUrl must be an http or https URL without credentials, query and fragment'
    expect(() => createPayweave({ ...credentials, baseUrl })).toThrow(new TypeError(message))
  })

  it('a client without a key is refused by name', () => {
    const options = { ...credentials, baseUrl: 'http://127.0.0.1', apiKey: '' }
    expect(() => createPayweave(options)).toThrow(new TypeError('missing options: apiKey'))
  })

  it('an option that no header takes is refused by name, and its value is not shown', () => {
    const baseUrl = 'http://127.0.0.1'
    for (const end of ['\n', '\r\n', ' ', '\u00e9']) {
      const subscriptionKey = `${credentials.subscriptionKey}${end}`
      const options = { ...credentials, baseUrl, subscriptionKey, userAgent: 'shop 1.0\n' }
      const message = 'options with characters other than visible ASCII: subscriptionKey, userAgent'
      expect(() => createPayweave(options)).toThrow(new TypeError(message))
    }
    createPayweave({ ...credentials, baseUrl, userAgent: 'shop 1.0' })
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

  it('a wait ends with the wanted state, and goes on in a state that the SDK does not know', async () => {
    const states = ['Pending', 'Of_a_newer_API', 'paid'].map(state)
    const { payweave, seen } = await against(states)
    await payweave.payments.waitFor('p1', 'paid', { everyMs: 1 })
    expect(seen).toHaveLength(3)
  })

  it('a wait ends with an error when the state cannot come, or the time is over', async () => {
    const expired = (await against([state('Expired')])).payweave.payments
    expect(await errorOf(expired.waitFor('p1', 'paid'))).toMatchObject({
      name: 'WaitError',
      message: 'the state is Expired, which is final',
    })
    const { payweave, seen } = await against([state('Pending')])
    const start = performance.now()
    const clock = vi.spyOn(performance, 'now')
    clock.mockImplementation(() => start + (seen.length > 1 ? 60_000 : 0))
    const wait = payweave.payments.waitFor('p1', 'paid', { everyMs: 1 })
    const error = await errorOf(wait).finally(() => clock.mockRestore())
    expect(error).toMatchObject({ message: 'the state is still Pending after 60000 ms' })
    expect(seen).toHaveLength(2)
  })

  it('a wait that has no response ends when its time is over, with all attempts of a read', async () => {
    const { payweave, seen } = await against([
      state('Pending'),
      refused(503, 'SERVICE_UNAVAILABLE'),
      'hang',
    ])
    const over = new AbortController()
    const limits = vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(over.signal)
    const wait = payweave.payments.waitFor('p1', 'paid', { withinMs: 60_000, everyMs: 1 })
    const error = errorOf(wait)
    limits.mockRestore()
    await eventually(() => expect(seen).toHaveLength(3))
    over.abort(new DOMException('the time is over', 'TimeoutError'))
    expect(await error).toMatchObject({
      name: 'WaitError',
      message: 'the state is still Pending after 60000 ms',
      cause: expect.anything(),
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
