// Steps 3 to 7 and 11 as clients meet them: headers, keys and their cache, addresses; and what happens when a service is away.
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { eventually } from '../support/eventually.ts'
import {
  allowedIp,
  apiKey,
  call,
  type EdgeFixture,
  goodHeaders,
  goodPayment,
  keys,
  paymentId,
  sendRaw,
  startEdge,
} from './harness.ts'

let edge: EdgeFixture
afterEach(() => edge.close())

const target = `/payments/status?version=2024-10-01&api_key=${apiKey}&payment_details_id=${paymentId}`
const get = (more: Record<string, string> = {}, without: string[] = []) => {
  const headers = goodHeaders(more)
  for (const name of without) delete headers[name]
  return call(edge.url, 'GET', target, { headers })
}

/** For what holds within seconds of a call, however long the calls take. */
const clockStopped = { nowMs: () => 0 }

describe('headers', () => {
  it('headers are all named when they are missing or malformed', async () => {
    edge = await startEdge()
    const bad = {
      'PW-origin-country': 'tt',
      'PW-request-date': '2026-02-30 12:00:00',
      'PW-ip-address': '1.2.3.4',
      'PW-request-id': 'no-uuid',
      'User-Agent': 'x'.repeat(256),
    }
    const seen = await get(bad)
    expect(seen.body['errorCode']).toBe('INVALID_HEADER')
    for (const name of Object.keys(bad)) expect(seen.body['message']).toContain(name)
    expect(seen.body['request_id']).toMatch(/^[0-9a-f-]{36}$/)
  })

  it.each<Record<string, string>>([
    { 'PW-origin-country': 'XX' },
    { 'PW-origin-country': 'TTO' },
    { 'PW-request-date': '2026-01-01T12:00:00' },
    { 'PW-request-date': '' },
    { 'PW-ip-address': '999.99.99.99' },
    { 'PW-ip-address': '2001:db8:0:0:1:2:3' },
    { 'PW-ip-address': '2001:db8:1111:2222:3333:4444:5555:6666' },
    { 'PW-ip-address': 'fe80::1%eth0' },
    { 'PW-request-id': '' },
    { 'User-Agent': 'a\tb' },
  ])('the header %o is refused', async (bad) => {
    edge = await startEdge()
    const seen = await get(bad)
    expect(seen.status).toBe(400)
    expect(seen.body['errorCode']).toBe('INVALID_HEADER')
    expect(seen.body['message']).toContain(Object.keys(bad)[0])
  })

  it('headers may claim an IPv6 address, and any age where no tolerance is set', async () => {
    edge = await startEdge()
    const claims = { 'PW-ip-address': '2001:db8::1', 'PW-request-date': '1999-12-31 23:59:59' }
    expect((await get(claims)).status).toBe(200)
  })

  it('headers must be recent where a tolerance is set', async () => {
    edge = await startEdge({ requestDateToleranceS: 900 })
    const at = (offsetS: number) => ({
      'PW-request-date': new Date(Date.now() + offsetS * 1_000)
        .toISOString()
        .slice(0, 19)
        .replace('T', ' '),
    })
    expect((await get(at(-800))).status).toBe(200)
    expect((await get(at(800))).status).toBe(200)
    expect((await get(at(-1_000))).body['errorCode']).toBe('INVALID_HEADER')
    expect((await get(at(1_000))).body['errorCode']).toBe('INVALID_HEADER')
  })

  it('an account session requires a request id and an Accept of JSON', async () => {
    edge = await startEdge()
    const open = (more: Record<string, string>) =>
      call(edge.url, 'POST', '/account/account_session?version=2024-10-01', {
        headers: goodHeaders(more),
        body: { lookup_type: 'EMAIL', lookup_value: 'ama@example.com' },
      })
    const id = { 'PW-request-id': paymentId }
    expect((await open({})).body['message']).toContain('PW-request-id')
    for (const Accept of [
      '*/*',
      'application/*',
      'text/html, application/json;q=0.1',
      'APPLICATION/JSON',
    ]) {
      expect((await open({ ...id, Accept })).status).toBe(200)
    }
    for (const Accept of ['text/html', 'application/jsonx', 'application/xml;a=application/json']) {
      expect((await open({ ...id, Accept })).body['message']).toContain('Accept')
    }
  })

  it('a bill payment requires an Idempotency-Key of visible ASCII', async () => {
    edge = await startEdge()
    const pay = (more: Record<string, string>) =>
      call(edge.url, 'POST', '/bill_payments/pay?version=2026-07-01', {
        headers: goodHeaders(more),
        body: {},
      })
    expect((await pay({})).body['errorCode']).toBe('IDEMPOTENCY_KEY_REQUIRED')
    expect((await pay({ 'Idempotency-Key': '' })).body['errorCode']).toBe(
      'IDEMPOTENCY_KEY_REQUIRED',
    )
    for (const key of ['a b', 'x'.repeat(256), 'é']) {
      expect((await pay({ 'Idempotency-Key': key })).body['errorCode']).toBe('INVALID_HEADER')
    }
    const both = await pay({ 'PW-origin-country': '??' })
    expect(both.body['errorCode']).toBe('INVALID_HEADER')
    expect(both.body['message']).toMatch(/PW-origin-country.*Idempotency-Key/)
    expect((await pay({ 'Idempotency-Key': 'x'.repeat(255) })).body['errorCode']).toBe(
      'MISSING_PARAMETER',
    )
  })
})

describe('a subscription key', () => {
  it('a subscription key gets one answer whether it is missing, short, long or unknown, and the same work', async () => {
    edge = await startEdge({}, clockStopped)
    const answers = []
    for (const key of [undefined, '', 'short', `${keys.demo}x`, keys.unknown]) {
      const seen =
        key === undefined
          ? await get({}, ['PW-subscription-key'])
          : await get({ 'PW-subscription-key': key })
      const { status, body } = seen
      answers.push({ status, code: body['errorCode'], message: body['message'] })
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]).toMatchObject({ status: 401, code: 'PW_INVALID_SUBSCRIPTION_KEY' })
    // Missing and empty are the same question; the second one was remembered.
    expect(edge.seen.keyLookups).toEqual(['', 'short', `${keys.demo}x`, keys.unknown])
  })

  it('a subscription key is asked for once by many requests at once, and again as soon as access changed', async () => {
    edge = await startEdge({}, clockStopped)
    const seen = await Promise.all(Array.from({ length: 20 }, () => get()))
    expect(seen.map((one) => one.status)).toEqual(Array(20).fill(200))
    expect(edge.seen.keyLookups).toHaveLength(1)
    edge.seen.onKeyLookup = () => {
      throw new Failure('PW_INVALID_SUBSCRIPTION_KEY', 'revoked')
    }
    edge.access.drop('another project')
    expect((await get()).status).toBe(200)
    edge.access.drop('0198c000-0000-7000-8000-000000000001')
    expect((await get()).status).toBe(401)
  })

  it('a subscription key is never logged, and a request is one line of allowed facts', async () => {
    edge = await startEdge()
    await call(edge.url, 'GET', target.replace(/[^=]*$/, 'unknown'), {
      headers: goodHeaders({ 'PW-request-id': paymentId }),
    })
    await eventually(() => expect(edge.lines.length).toBe(1))
    expect(edge.lines[0]).toMatchObject({
      requestId: paymentId,
      route: '/payments/status',
      method: 'GET',
      status: 404,
      reason: 'PAYMENT_NOT_FOUND',
      durationMs: expect.any(Number),
    })
    const text = JSON.stringify(edge.lines)
    for (const secret of [keys.demo, apiKey, allowedIp]) expect(text).not.toContain(secret)
  })
})

describe('an address list', () => {
  const restricted = { 'PW-subscription-key': keys.ipRestricted }

  it('an address list needs the claim and the observed address on it', async () => {
    edge = await startEdge()
    const seen = await get(restricted)
    expect(seen.body['errorCode']).toBe('PW_IP_NOT_ALLOWED')
    expect(seen.body['observed_client_ip']).toMatchObject({ request_ip: '127.0.0.1' })
  })

  it('an address list believes a forwarded address from a trusted proxy only', async () => {
    edge = await startEdge()
    const forwarded = { ...restricted, 'X-Forwarded-For': allowedIp, 'CF-Connecting-IP': allowedIp }
    const seen = await get(forwarded)
    expect(seen.status).toBe(403)
    expect(seen.body['observed_client_ip']).toEqual({
      request_ip: '127.0.0.1',
      socket_remote_address: '127.0.0.1',
    })
  })

  it('an address list lets a listed client through a trusted proxy', async () => {
    edge = await startEdge({ trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] })
    const forwarded = { ...restricted, 'X-Forwarded-For': `6.6.6.6, ${allowedIp}, 10.1.2.3` }
    const seen = await get(forwarded)
    expect(seen.status).toBe(200)
    expect(seen.body['observed_client_ip']).toEqual({
      request_ip: allowedIp,
      socket_remote_address: '127.0.0.1',
      x_forwarded_for: `6.6.6.6, ${allowedIp}, 10.1.2.3`,
    })
    expect((await get({ ...forwarded, 'PW-ip-address': '203.0.113.8' })).status).toBe(403)
    expect((await get({ ...restricted, 'X-Forwarded-For': `${allowedIp}, 6.6.6.6` })).status).toBe(
      403,
    )
  })

  it('an address list is shown on GET /account/account only on demand, and never in production', async () => {
    edge = await startEdge()
    const path = '/account/account?version=2024-10-01'
    const headers = goodHeaders()
    const plain = await call(edge.url, 'GET', path, { headers })
    expect(plain.body['observed_client_ip']).toBeUndefined()
    const asked = await call(edge.url, 'GET', `${path}&diagnostics=true`, { headers })
    expect(asked.body['observed_client_ip']).toBeDefined()
    await edge.close()
    edge = await startEdge({ environment: 'production' })
    const hidden = await call(edge.url, 'GET', `${path}&diagnostics=true`, { headers })
    expect(hidden.body['errorCode']).toBe('MISSING_PARAMETER')
    expect(hidden.body['observed_client_ip']).toBeUndefined()
  })
})

describe('a rate limit', () => {
  it('a rate limit counts each key on its own, divided by the processes, and says when to come back', async () => {
    edge = await startEdge({ rateLimitRps: 4, gatewayReplicas: 2 }, clockStopped)
    const states = []
    for (let index = 0; index < 5; index += 1) states.push((await get()).status)
    expect(states).toEqual([200, 200, 200, 200, 429])
    const seen = await get()
    expect(seen.body['errorCode']).toBe('RATE_LIMIT_EXCEEDED')
    expect(seen.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await get({ 'PW-subscription-key': keys.paymentsOnly })).status).toBe(200)
  })
})

describe('a service that is away', () => {
  it('a service that is away stalls no key that was accepted, unless access has changed since', async () => {
    let nowMs = 0
    edge = await startEdge({}, { isSubscribed: true, nowMs: () => nowMs })
    expect((await get()).status).toBe(200)
    await edge.stopAccounts()
    nowMs = 34_999
    expect((await get()).status).toBe(200)
    expect((await get({ 'PW-subscription-key': keys.paymentsOnly })).status).toBe(503)
    expect(await edge.metrics()).toMatch(/cache_lookups_total\{kind="api_key",result="stale"\} 1/)
    edge.access.drop()
    expect((await get()).status).toBe(503)
  })

  it('a service that is away leaves an accepted key good for 30 s past its time', async () => {
    let nowMs = 0
    edge = await startEdge({}, { isSubscribed: true, nowMs: () => nowMs })
    expect((await get()).status).toBe(200)
    await edge.stopAccounts()
    nowMs = 35_000
    expect((await get()).status).toBe(503)
  })

  it('a recovered access service that refuses a key ends its use at once', async () => {
    let nowMs = 0
    edge = await startEdge({}, { isSubscribed: true, nowMs: () => nowMs })
    expect((await get()).status).toBe(200)
    edge.seen.onKeyLookup = () => {
      throw new Failure('PW_INVALID_SUBSCRIPTION_KEY', 'revoked')
    }
    // Of this no change was heard.
    nowMs = 5_000
    expect((await get()).status).toBe(401)
  })

  const create = () =>
    call(edge.url, 'POST', '/payments/request?version=2024-10-01', { body: goodPayment() })

  it('a service that is away leads to a 503, and a key that was checked before is good for seconds only', async () => {
    edge = await startEdge({}, clockStopped)
    expect((await get()).status).toBe(200)
    await edge.stopAccounts()
    expect((await get()).status).toBe(200)
    edge.access.drop()
    const seen = await get()
    expect(seen.status).toBe(503)
    expect(seen.body).toMatchObject({ code: 503, errorCode: 'SERVICE_UNAVAILABLE' })
  })

  it('a service that is away leads to a 503 for payments too', async () => {
    edge = await startEdge()
    await edge.stopPayments()
    expect((await create()).body['errorCode']).toBe('SERVICE_UNAVAILABLE')
  })

  it('a service that does not answer in time leads to a 504', async () => {
    edge = await startEdge({ rpcTimeoutMs: 300 })
    const answer = Promise.withResolvers<never>()
    answer.promise.catch(() => undefined)
    edge.seen.onCreate = () => answer.promise
    const seen = await create()
    answer.reject(new Failure('TIMEOUT', 'late'))
    expect(seen.status).toBe(504)
    expect(seen.body).toMatchObject({ code: 504, errorCode: 'TIMEOUT' })
  })

  it('a refusal of our own credentials by a service is our error, not the client’s', async () => {
    edge = await startEdge()
    edge.seen.onKeyLookup = () => {
      throw new Failure('UNAUTHENTICATED', 'unknown issuer gateway')
    }
    const seen = await get()
    expect(seen.status).toBe(503)
    expect(seen.body['errorCode']).toBe('SERVICE_UNAVAILABLE')
    expect(seen.text).not.toContain('issuer')
  })
})

describe('a stop', () => {
  it('a stop completes requests in flight and accepts no new ones', async () => {
    edge = await startEdge()
    const release = Promise.withResolvers<void>()
    edge.seen.onCreate = async () => {
      await release.promise
      throw new Failure('DUPLICATE_TRANSACTION_ID', 'used')
    }
    const answer = call(edge.url, 'POST', '/payments/request?version=2024-10-01', {
      body: goodPayment(),
    })
    await eventually(() => expect(edge.seen.created.length).toBe(1))
    const closed = edge.app.close()
    await expect(fetch(`${edge.url}/livez`)).rejects.toThrow('fetch failed')
    release.resolve()
    const seen = await answer
    expect(seen.body['errorCode']).toBe('DUPLICATE_TRANSACTION_ID')
    expect(seen.headers.get('connection')).toBe('close')
    await closed
  })
})

describe('a stop with a client that never ends its request', () => {
  it('a stop does not wait for a client that never ends its request', async () => {
    edge = await startEdge({ stopGraceMs: 200 })
    const answer = sendRaw(edge.port, 'POST /payments/request HTTP/1.1\r\nHost: x\r\n')
    await eventually(async () =>
      expect(await promisify(edge.app.server.getConnections.bind(edge.app.server))()).toBe(1),
    )
    await edge.app.close()
    expect(await answer).toBe('')
  })
})

describe('the open paths', () => {
  it('the open paths need no key, and /readyz names what is not ready', async () => {
    edge = await startEdge()
    const alive = await call(edge.url, 'GET', '/livez', { headers: {} })
    expect(alive).toMatchObject({ status: 200, body: { status: 'alive' } })
    const ready = await call(edge.url, 'GET', '/readyz', { headers: {} })
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'ready', parts: { gateway: true } },
    })
    await edge.close()
    edge = await startEdge({}, { ready: () => Promise.resolve({ gateway: true, nats: false }) })
    const not = await call(edge.url, 'GET', '/readyz', { headers: {} })
    expect(not).toMatchObject({
      status: 503,
      body: { status: 'not ready', parts: { nats: false } },
    })
    expect((await call(edge.url, 'POST', '/livez', { headers: {} })).status).toBe(405)
    const page = await call(edge.url, 'PUT', '/pay/token', { headers: {} })
    expect([page.status, page.headers.get('allow')]).toEqual([405, 'GET'])
    expect((await call(edge.url, 'GET', '/admin', { headers: {} })).status).toBe(404)
  })
})
