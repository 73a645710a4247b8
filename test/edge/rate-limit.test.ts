// The rate limit of a subscription key, and the headers that say what is left of it.
import { afterEach, describe, expect, it } from 'vitest'
import {
  apiKey,
  call,
  type EdgeFixture,
  goodHeaders,
  keys,
  paymentId,
  startEdge,
} from './harness.ts'

let edge: EdgeFixture
afterEach(() => edge.close())

const target = `/payments/status?version=2024-10-01&api_key=${apiKey}&payment_details_id=${paymentId}`
const get = (more: Record<string, string> = {}) =>
  call(edge.url, 'GET', target, { headers: goodHeaders(more) })

const clockStopped = { nowMs: () => 0 }

describe('the rate limit of a key', () => {
  it('counts each key on its own, divided by the processes, and says when to come back', async () => {
    edge = await startEdge({ rateLimitRps: 4, gatewayReplicas: 2 }, clockStopped)
    const states = []
    for (let index = 0; index < 5; index += 1) {
      const { status, headers } = await get()
      expect(headers.get('ratelimit-policy')).toBe('"key";q=4;w=2')
      states.push([status, headers.get('ratelimit')])
    }
    expect(states).toEqual([
      [200, '"key";r=3;t=1'],
      [200, '"key";r=2;t=1'],
      [200, '"key";r=1;t=1'],
      [200, '"key";r=0;t=1'],
      [429, '"key";r=0;t=1'],
    ])
    const seen = await get()
    expect(seen.body['errorCode']).toBe('RATE_LIMIT_EXCEEDED')
    expect(seen.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await get({ 'PW-subscription-key': keys.paymentsOnly })).status).toBe(200)
  })

  it('is in the headers of refusals after it, and of none before it', async () => {
    edge = await startEdge({ rateLimitRps: 4 }, clockStopped)
    const later = await call(edge.url, 'GET', '/payments/status')
    expect([later.status, later.headers.get('ratelimit')]).toEqual([400, '"key";r=7;t=1'])
    const earlier = await get({ 'PW-subscription-key': 'x'.repeat(32) })
    expect([earlier.status, earlier.headers.get('ratelimit')]).toEqual([401, null])
    expect(earlier.headers.get('ratelimit-policy')).toBeNull()
  })

  it('that is off has no headers', async () => {
    edge = await startEdge({}, clockStopped)
    const { status, headers } = await get()
    expect([status, headers.get('ratelimit')]).toEqual([200, null])
  })
})
