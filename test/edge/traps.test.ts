// What frameworks get wrong, sent as bytes: every answer is still the envelope.
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import { fixedKeys } from '../support/keys.ts'
import {
  call,
  type EdgeFixture,
  goodHeaders,
  goodPayment,
  parseRaw,
  type Seen,
  sendRaw,
  startEdge,
} from './harness.ts'
import { noBrands } from './stand-ins/brands.ts'
import { refusedAs, shapeOf } from './stand-ins/good-requests.ts'
import { noChanges } from './stand-ins/no-changes.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

const status = '/payments/status?version=2024-10-01&api_key=x&payment_details_id=y'
const request = '/payments/request?version=2024-10-01'

function head(line: string, headers: Record<string, string> = {}): string {
  const all = { Host: 'localhost', ...goodHeaders(), Connection: 'close', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${[line, ...lines].join('\r\n')}\r\n\r\n`
}

function post(body: string, headers: Record<string, string> = {}): string {
  const length = String(Buffer.byteLength(body))
  const type = { 'Content-Type': 'application/json', 'Content-Length': length }
  return head(`POST ${request} HTTP/1.1`, { ...type, ...headers }) + body
}

/** A connection to the gateway, whose own errors are ignored. */
async function connected(to = edge): Promise<net.Socket> {
  const socket = net.connect(to.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const send = async (bytes: string | Buffer, to = edge): Promise<Seen> =>
  parseRaw(await sendRaw(to.port, bytes))

describe('a request that is not HTTP', () => {
  it.each([
    ['no request line', 'hello\r\n\r\n'],
    ['a blank in the target', head('GET /payments/ status HTTP/1.1')],
    ['an unknown version', head(`GET ${status} HTTP/9.9`)],
    ['HTTP/2 in the clear', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a NUL in a header', head(`GET ${status} HTTP/1.1`, { 'X-Bad': 'a\u0000b' })],
    ['a header without colon', `GET ${status} HTTP/1.1\r\nHost localhost\r\n\r\n`],
    ['two lengths', post('{}', { 'content-length ': '2' })],
    ['a length and chunks', post('{}', { 'Transfer-Encoding': 'chunked' })],
    ['a length that is no number', post('{}', { 'Content-Length': 'two' })],
    [
      'a bad chunk size',
      `${head(`POST ${request} HTTP/1.1`, { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' })}zz\r\n{}\r\n0\r\n\r\n`,
    ],
  ])('a request that is not HTTP is answered in the envelope: %s', async (_name, bytes) => {
    expect(shapeOf(await send(bytes))).toEqual(refusedAs('full', 400, 'INVALID_HEADER'))
  })

  it('a request that is not HTTP is answered in the envelope over TLS too', async () => {
    expect(shapeOf(await send(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])))).toEqual(
      refusedAs('full', 400, 'INVALID_HEADER'),
    )
  })
})

describe('a method that nobody knows', () => {
  it('a method that nobody knows is not allowed on our paths', async () => {
    for (const method of ['FROB', 'get']) {
      const seen = await send(head(`${method} ${status} HTTP/1.1`))
      expect(shapeOf(seen)).toEqual(refusedAs('full', 405, 'METHOD_NOT_ALLOWED'))
      expect(seen.headers.get('allow')).toBe('GET')
    }
    const quote = await send(head('FROB /quote HTTP/1.1'))
    expect(shapeOf(quote)).toEqual(refusedAs('quote', 405, 'METHOD_NOT_ALLOWED'))
    expect(quote.headers.get('allow')).toBe('GET, POST')
  })

  it('a method that nobody knows does not make a path known', async () => {
    const seen = await send(head('FROB /nowhere HTTP/1.1'))
    expect(shapeOf(seen)).toEqual(refusedAs('full', 404, 'ENDPOINT_NOT_FOUND'))
  })
})

describe('headers', () => {
  it('headers may not be over 16 KiB', async () => {
    const large = await send(head(`GET ${status} HTTP/1.1`, { 'X-Large': 'x'.repeat(17_000) }))
    expect(shapeOf(large)).toEqual(refusedAs('full', 431, 'HEADERS_TOO_LARGE'))
    const long = await send(head(`GET ${status}&x=${'x'.repeat(17_000)} HTTP/1.1`))
    expect(shapeOf(long)).toEqual(refusedAs('full', 431, 'HEADERS_TOO_LARGE'))
    const fits = await send(head(`GET ${status} HTTP/1.1`, { 'X-Large': 'x'.repeat(15_000) }))
    expect(shapeOf(fits)).toEqual(refusedAs('full', 401, 'PW_INVALID_API_KEY'))
  })

  it('headers must name a host in HTTP/1.1', async () => {
    const bytes = head(`GET ${status} HTTP/1.1`).replace('Host: localhost\r\n', '')
    expect(shapeOf(await send(bytes))).toEqual(refusedAs('full', 400, 'INVALID_HEADER'))
    const old = await send(bytes.replace('HTTP/1.1', 'HTTP/1.0'))
    expect(shapeOf(old)).toEqual(refusedAs('full', 401, 'PW_INVALID_API_KEY'))
  })

  it('headers may not name two hosts', async () => {
    const seen = await send(head(`GET ${status} HTTP/1.1`, { host: 'elsewhere' }))
    expect(shapeOf(seen)).toEqual(refusedAs('full', 400, 'INVALID_HEADER'))
    expect(seen.body['message']).toContain('Host')
  })

  it('headers are refused when they are given twice', async () => {
    for (const name of ['PW-origin-country', 'PW-request-date', 'PW-ip-address', 'PW-request-id']) {
      const value = { ...goodHeaders(), 'PW-request-id': '0198c000-0000-7000-8000-000000000001' }[
        name
      ]
      const bytes = head(`GET ${status} HTTP/1.1`, {
        [name]: value ?? '',
        [name.toLowerCase()]: value ?? '',
      })
      const seen = await send(bytes)
      expect(shapeOf(seen)).toEqual(refusedAs('full', 400, 'INVALID_HEADER'))
      expect(seen.body['message']).toContain(name)
    }
    const key = goodHeaders()['PW-subscription-key'] ?? ''
    const twice = await send(head(`GET ${status} HTTP/1.1`, { 'pw-subscription-key': key }))
    expect(shapeOf(twice)).toEqual(refusedAs('full', 401, 'PW_INVALID_SUBSCRIPTION_KEY'))
  })

  it('the header Expect may be 100-continue and nothing else', async () => {
    const other = await send(post('{}', { Expect: 'a-miracle' }))
    expect(shapeOf(other)).toEqual(refusedAs('full', 417, 'EXPECTATION_FAILED'))
    const unknown = await send(head('GET /nowhere HTTP/1.1', { Expect: 'a-miracle' }))
    expect(shapeOf(unknown)).toEqual(refusedAs('full', 404, 'ENDPOINT_NOT_FOUND'))
    const put = await send(head('PUT /quote HTTP/1.1', { Expect: 'a-miracle' }))
    expect(shapeOf(put)).toEqual(refusedAs('quote', 405, 'METHOD_NOT_ALLOWED'))
    const quote = await send(
      head('GET /quote?version=2024-10-01 HTTP/1.1', { Expect: 'a-miracle' }),
    )
    expect(shapeOf(quote)).toEqual(refusedAs('quote', 417, 'EXPECTATION_FAILED'))
    const text = await sendRaw(
      edge.port,
      post(JSON.stringify(goodPayment()), { Expect: '100-continue' }),
    )
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  })
})

describe('a target', () => {
  it.each([
    '/payments/%zz',
    '/payments/status%',
    '/%ff%fe',
    '/payments//status',
    '/Payments/Status',
    '/..%2f',
    '/pay%00',
    '*',
  ])('the target %s is an unknown path', async (target) => {
    expect(shapeOf(await send(head(`GET ${target} HTTP/1.1`)))).toEqual(
      refusedAs('full', 404, 'ENDPOINT_NOT_FOUND'),
    )
  })

  it('a malformed target of a page gets an error page', async () => {
    const nobody = createRpcClient(CheckoutService, {
      url: 'http://127.0.0.1:1',
      audience: 'payments',
      identity: { authorization: () => '' },
    })
    const receipts = { readReceipt: () => Promise.reject(new Error('never asked')) }
    const pages = {
      checkout: nobody,
      receipts,
      pageKeys: fixedKeys(),
      changes: noChanges,
      brands: noBrands,
    }
    const withPages = await startEdge({}, { pages })
    for (const target of ['/pay/%zz', '/pay/%zz/wallet', '/pay/x%', '/pay/x', '/receipts/%zz']) {
      const text = await sendRaw(withPages.port, head(`GET ${target} HTTP/1.1`))
      expect(text).toMatch(/^HTTP\/1\.1 404 /)
      expect(text).toMatch(/content-type: text\/html/i)
      expect(text).toMatch(/content-security-policy: default-src 'none'/i)
      expect(text).toContain('<h1')
    }
    await withPages.close()
  })

  it('a request target may be in absolute form', async () => {
    const seen = await send(head(`GET http://localhost${status} HTTP/1.1`))
    expect(shapeOf(seen)).toEqual(refusedAs('full', 401, 'PW_INVALID_API_KEY'))
  })

  it('a target with escaped letters gets a response in the format of its route', async () => {
    const quote = await send(head('GET /%71uote HTTP/1.1'))
    expect(shapeOf(quote)).toEqual(refusedAs('quote', 400, 'MISSING_PARAMETER'))
    const account = await send(head('GET /%61ccount/account HTTP/1.1'))
    expect(account.body['observed_client_ip']).toBeUndefined()
  })

  it('a CONNECT request has no route', async () => {
    const seen = await send(head('CONNECT example.com:443 HTTP/1.1'))
    expect(shapeOf(seen)).toEqual(refusedAs('full', 404, 'ENDPOINT_NOT_FOUND'))
  })

  it('a CONNECT request whose client resets the connection ends nothing else', async () => {
    const connect = head('CONNECT example.com:443 HTTP/1.1')
    const answered = await connected()
    answered.write(connect)
    await once(answered, 'data')
    answered.resetAndDestroy()

    const held = await startEdge()
    const began = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    held.seen.onCreate = async () => {
      began.resolve()
      await mayEnd.promise
      throw new Failure('SERVICE_UNAVAILABLE', 'the client has left')
    }
    // The answer to the first request is still owed when the connection is reset.
    const waiting = await connected(held)
    const body = JSON.stringify(goodPayment())
    waiting.write(post(body, { Connection: 'keep-alive' }) + connect)
    await began.promise
    waiting.resetAndDestroy()
    mayEnd.resolve()

    for (const { url } of [edge, held]) {
      expect((await call(url, 'GET', '/livez', { headers: {} })).status).toBe(200)
    }
    await held.close()
  })

  it('a target with a broken query is parsed as far as possible', async () => {
    const seen = await send(
      head(`GET ${status}&%zz=%&=&&a[b]=1&__proto__=x&constructor=y HTTP/1.1`),
    )
    expect(shapeOf(seen)).toEqual(refusedAs('full', 401, 'PW_INVALID_API_KEY'))
    const nul = await send(head(`GET ${status}&email=%00 HTTP/1.1`))
    expect(shapeOf(nul)).toEqual(refusedAs('full', 400, 'INVALID_PARAMETER'))
  })
})

describe('a slow client', { concurrent: true }, () => {
  let hasty: EdgeFixture
  beforeAll(async () => {
    // Longer than a machine may stall before the gateway has read what was sent.
    hasty = await startEdge({ requestTimeoutMs: 3_500 })
  })
  afterAll(() => hasty.close())

  it('a slow client receives 408 while it sends headers', async () => {
    const seen = await send(`GET ${status} HTTP/1.1\r\nHost: localhost\r\n`, hasty)
    expect(shapeOf(seen)).toEqual(refusedAs('full', 408, 'TIMEOUT'))
  })

  it('a slow client receives 408 while it sends a body', async () => {
    const seen = await send(post('{"a":1}', { 'Content-Length': '500' }), hasty)
    expect(shapeOf(seen)).toEqual(refusedAs('full', 408, 'TIMEOUT'))
  })

  it("a slow client of a known route receives 408 in the route's format, with its request id", async () => {
    const json = { 'Content-Type': 'application/json', 'Content-Length': '500' }
    const requestId = '0198c000-0000-7000-8000-000000000001'
    const pay = head('POST /bill_payments/pay HTTP/1.1', { ...json, 'PW-request-id': requestId })
    const [quote, bill] = await Promise.all([
      send(`${head('POST /quote HTTP/1.1', json)}{`, hasty),
      send(`${pay}{`, hasty),
    ])
    expect(shapeOf(quote)).toEqual(refusedAs('quote', 408, 'TIMEOUT'))
    expect(shapeOf(bill)).toEqual(refusedAs('bill', 408, 'TIMEOUT'))
    expect(bill.headers.get('pw-request-id')).toBe(requestId)
  })
})

describe('an answer', () => {
  it('an answer to HEAD has the headers of an error and no body', async () => {
    const text = await sendRaw(edge.port, head(`HEAD ${status} HTTP/1.1`))
    expect(text).toMatch(/^HTTP\/1\.1 405 /)
    expect(text).toMatch(/allow: GET\r\n/i)
    expect(text.endsWith('\r\n\r\n')).toBe(true)
  })

  it('an answer keeps big numbers exact, by refusing them', async () => {
    for (const amount of [
      '12345678901234567890.10',
      '1e3',
      '"1e3"',
      '"00.1"',
      '" 1 "',
      '"NaN"',
      '"infinity"',
      '"now"',
      '"0"',
      '"-1"',
      '"1.23456"',
      '""',
      '"1234567890123456"',
    ]) {
      const text = JSON.stringify(goodPayment()).replace('"100.00"', amount)
      const seen = await send(post(text))
      expect(seen.status).toBe(400)
      expect(seen.body['message']).toContain('transaction_request.amount')
    }
    expect(edge.seen.created.map((created) => created.amountMinor)).not.toContain(0n)
  })

  it('an answer to a pipelined request comes in order', async () => {
    const first = head(`GET ${status} HTTP/1.1`, { Connection: 'keep-alive' })
    const text = await sendRaw(edge.port, `${first}${head('GET /nowhere HTTP/1.1')}`)
    expect([...text.matchAll(/"errorCode":"(\w+)"/g)].map((match) => match[1])).toEqual([
      'PW_INVALID_API_KEY',
      'ENDPOINT_NOT_FOUND',
    ])
  })

  it('an answer about a body that is too large arrives although the client is still sending', async () => {
    const chunk = 'x'.repeat(60_000)
    const seen = await new Promise<Seen>((resolve, reject) => {
      const socket = net.connect(edge.port, '127.0.0.1')
      let text = ''
      socket.on('error', reject)
      socket.on('data', (data) => {
        text += data.toString('latin1')
        if (text.includes('PAYLOAD_TOO_LARGE')) {
          socket.destroy()
          resolve(parseRaw(text))
        }
      })
      socket.write(
        head(`POST ${request} HTTP/1.1`, {
          'Transfer-Encoding': 'chunked',
          'Content-Type': 'application/json',
          Connection: 'keep-alive',
        }),
      )
      for (let index = 0; index < 4; index += 1)
        socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    })
    expect(shapeOf(seen)).toEqual(refusedAs('full', 413, 'PAYLOAD_TOO_LARGE'))
  })

  it('an answer never shows what went wrong inside', async () => {
    edge.seen.onCreate = () => Promise.reject(new Error('relation "secret_table" does not exist'))
    const seen = await call(edge.url, 'POST', request, { body: goodPayment() })
    edge.seen.onCreate = undefined
    expect(shapeOf(seen)).toEqual(refusedAs('full', 500, 'INTERNAL_ERROR'))
    expect(seen.text).not.toContain('secret_table')
    expect(seen.body['message']).toMatch(/retry later/)
  })
})
