// Headers of answers of every layer: Retry-After and Strict-Transport-Security.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import type { PageServices } from '../../gateway/options.ts'
import { fixedKeys } from '../support/keys.ts'
import { call, type EdgeFixture, goodHeaders, parseRaw, sendRaw, startEdge } from './harness.ts'
import { noBrands } from './stand-ins/brands.ts'
import { draftOf, goodRequests, targetOf } from './stand-ins/good-requests.ts'
import { noChanges } from './stand-ins/no-changes.ts'

/** Pages in front of services that are away. */
const pages: PageServices = {
  checkout: createRpcClient(CheckoutService, {
    url: 'http://127.0.0.1:1',
    audience: 'payments',
    identity: { authorization: () => '' },
  }),
  receipts: { readReceipt: () => Promise.reject(new Error('away')) },
  pageKeys: fixedKeys(),
  changes: noChanges,
  brands: noBrands,
}
const ready = () => Promise.resolve({ gateway: true, nats: false })
const token = 'x'.repeat(43)

let edge: EdgeFixture
afterEach(() => edge.close())

describe('Retry-After', () => {
  beforeEach(async () => {
    edge = await startEdge({}, { pages, ready })
  })

  it.each(goodRequests)('Retry-After is on a 503 and a 504 of $method $path', async (good) => {
    const { method, headers, body } = draftOf(good)
    for (const [reason, status] of [
      ['SERVICE_UNAVAILABLE', 503] as const,
      ['TIMEOUT', 504] as const,
    ]) {
      edge.access.drop()
      edge.seen.onKeyLookup = () => {
        throw new Failure(reason, 'away')
      }
      const seen = await call(edge.url, method, targetOf(draftOf(good)), { headers, body })
      expect(seen.status).toBe(status)
      expect(seen.headers.get('retry-after')).toBe('1')
    }
  })

  it('Retry-After changes nothing about the body of an error of /quote', async () => {
    edge.seen.onKeyLookup = () => {
      throw new Failure('SERVICE_UNAVAILABLE', 'away')
    }
    const { body } = await call(edge.url, 'GET', '/quote?version=2024-10-01')
    expect(Object.keys(body).toSorted()).toEqual(['code', 'message', 'status'])
  })

  it('Retry-After is the wait that a service names', async () => {
    edge.seen.onCreate = () => {
      throw new Failure('SERVICE_UNAVAILABLE', 'restarting', { retryAfterS: 6.5 })
    }
    const good = goodRequests.find(({ path }) => path === '/payments/request')
    if (good === undefined) throw new Error('no such route')
    const { headers, body } = draftOf(good)
    const seen = await call(edge.url, 'POST', targetOf(draftOf(good)), { headers, body })
    expect(seen.headers.get('retry-after')).toBe('7')
  })

  it.each([`/pay/${token}`, `/pay/${token}/state`, `/receipts/${token}`, '/readyz'])(
    'Retry-After is on a 503 of %s',
    async (path) => {
      const answer = await fetch(`${edge.url}${path}`)
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('1')
      await answer.text()
    },
  )
})

it('a slow client gets 408 without Retry-After', async () => {
  edge = await startEdge({ requestTimeoutMs: 1_500 })
  const { status, headers } = parseRaw(await sendRaw(edge.port, 'GET / HTTP/1.1\r\nHost: x\r\n'))
  expect([status, headers.get('retry-after')]).toEqual([408, null])
})

describe('Strict-Transport-Security', () => {
  const common = Object.entries(goodHeaders()).map(([name, value]) => `${name}: ${value}\r\n`)
  const raw = (line: string, more = '') =>
    `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${common.join('')}${more}\r\n`
  const requests: Array<[string, string]> = [
    ['a success', raw('GET /livez')],
    ['a state', raw('GET /readyz')],
    ['a refusal', raw('GET /payments/status')],
    ['an unknown path', raw('GET /nowhere')],
    ['an unknown method', raw('FROB /quote')],
    ['a page', raw(`GET /pay/${token}`)],
    ['a script', raw('GET /pay/live.js')],
    ['a broken target', raw('GET /pay/%zz')],
    ['the documentation', raw('GET /docs')],
    ['a document', raw('GET /openapi.json')],
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['an expectation', raw('GET /livez', 'Expect: a-miracle\r\n')],
    ['a CONNECT', raw('CONNECT example.com:443')],
    ['headers that are too large', raw('GET /livez', `X-Large: ${'x'.repeat(17_000)}\r\n`)],
  ]

  it('Strict-Transport-Security is on every answer when the public URL is https', async () => {
    edge = await startEdge({ publicBaseUrl: 'https://api.example.com' }, { pages, ready })
    for (const [name, bytes] of requests) {
      const text = await sendRaw(edge.port, bytes)
      expect(text, name).toMatch(/^HTTP\/1\.1 [2-5]/)
      expect(text, name).toMatch(/\r\nstrict-transport-security: max-age=31536000\r\n/i)
    }
  })

  it('Strict-Transport-Security is on no answer when the public URL is http', async () => {
    edge = await startEdge({}, { pages, ready })
    for (const [name, bytes] of requests) {
      expect(await sendRaw(edge.port, bytes), name).not.toMatch(/strict-transport/i)
    }
  })
})
