// Requests in flight are limited by connection and by process, and each of them is released, however it ends.
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { CheckoutService } from '#gen/payweave/payments/v1/checkout_pb.js'
import { createRpcClient } from '#platform/rpc/client/client.ts'
import type { EdgeSettings, PageServices } from '../../gateway/options.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys } from '../support/keys.ts'
import { call, type EdgeFixture, goodHeaders, goodPayment, parseRaw, startEdge } from './harness.ts'
import { noBrands } from './stand-ins/brands.ts'
import { refusedAs, shapeOf } from './stand-ins/good-requests.ts'
import { noChanges } from './stand-ins/no-changes.ts'

let edge: EdgeFixture
let release = Promise.withResolvers<void>()
const sockets: net.Socket[] = []
afterEach(async () => {
  release.resolve()
  for (const socket of sockets.splice(0)) socket.destroy()
  await edge.close()
})

/** A gateway whose new payments wait until the test says so, and are then refused. */
async function startSlow(settings: Partial<EdgeSettings> = {}, pages?: PageServices) {
  release = Promise.withResolvers()
  edge = await startEdge(settings, pages === undefined ? {} : { pages })
  edge.seen.onCreate = async () => {
    await release.promise
    throw new Failure('DUPLICATE_TRANSACTION_ID', 'used')
  }
}

function head(line: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: 'localhost', ...goodHeaders(), ...headers })
  return `${[line, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`
}

const target = '/payments/request?version=2024-10-01'
const body = JSON.stringify(goodPayment())
const type = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }
const post = `${head(`POST ${target} HTTP/1.1`, type)}${body}`
const getUnknown = head('GET /nowhere HTTP/1.1')

/** A connection whose answers are read as they come. */
async function connect() {
  const socket = net.connect(edge.port, '127.0.0.1')
  sockets.push(socket)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return {
    socket,
    codes: () => [...text.matchAll(/"errorCode":"(\w+)"/g)].map(([, code]) => code),
    statuses: () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    text: () => text,
  }
}

const livez = () => fetch(`${edge.url}/livez`)
const created = () => edge.seen.created.length
/** A round trip on another connection: the gateway has read what was sent before. */
const settled = async () => expect((await livez()).status).toBe(200)

describe('on one connection', () => {
  it('on one connection, sixteen requests are in flight; further ones wait, and all are answered in order', async () => {
    await startSlow()
    const { socket, codes } = await connect()
    socket.write((post + getUnknown).repeat(50))
    await eventually(() => expect(created()).toBe(8))
    await settled()
    expect(created()).toBe(8)
    expect(edge.inFlight.count()).toBe(100)
    release.resolve()
    await eventually(() => expect(codes().length).toBe(100))
    const pair = ['DUPLICATE_TRANSACTION_ID', 'ENDPOINT_NOT_FOUND']
    expect(codes()).toEqual(Array.from({ length: 50 }, () => pair).flat())
    await eventually(() => expect(edge.inFlight.count()).toBe(0))
  })

  it('the gateway stops reading a connection at its limit after one read', async () => {
    await startSlow()
    const { socket } = await connect()
    const short = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'
    socket.write(post + short.repeat(200_000))
    await eventually(() => expect(created()).toBe(1))
    await settled()
    const most = 65_536 / short.length + 1
    expect(edge.inFlight.count()).toBeLessThan(most)
    await settled()
    expect(edge.inFlight.count()).toBeLessThan(most)
    expect(socket.writableLength).toBeGreaterThan(0)
  })

  it('on one connection, a malformed request is refused after the answers to those before it', async () => {
    await startSlow()
    const { socket, codes, text } = await connect()
    socket.write(`${post.repeat(20)}hello\r\n\r\n`)
    await eventually(() => expect(created()).toBe(16))
    await settled()
    expect(text()).toBe('')
    release.resolve()
    await once(socket, 'close')
    expect(codes()).toEqual([...Array(20).fill('DUPLICATE_TRANSACTION_ID'), 'INVALID_HEADER'])
  })

  it('on one connection, a request that never ends is refused after the answers to those before it', async () => {
    await startSlow({ requestTimeoutMs: 1_500 })
    const { socket, codes, statuses } = await connect()
    const late = once(edge.app.server, 'clientError')
    socket.write(`${post}${post.slice(0, -5)}`)
    await late
    expect(statuses()).toEqual([])
    release.resolve()
    await once(socket, 'close')
    expect(codes()).toEqual(['DUPLICATE_TRANSACTION_ID', 'TIMEOUT'])
    expect(statuses()).toEqual([409, 408])
    expect(created()).toBe(1)
  })

  it('on one connection, a client of a paused connection gets no 408', async () => {
    await startSlow({ requestTimeoutMs: 1_500 })
    const { socket, codes } = await connect()
    const late = once(edge.app.server, 'clientError')
    socket.write(post.repeat(40) + post.slice(0, -5))
    await late
    release.resolve()
    await once(socket, 'close')
    expect(codes()).toEqual(Array(40).fill('DUPLICATE_TRANSACTION_ID'))
  })

  it('on one connection, a CONNECT is refused after the answers to those before it', async () => {
    await startSlow()
    const { socket, codes } = await connect()
    socket.write(post + head('CONNECT example.com:443 HTTP/1.1'))
    await eventually(() => expect(created()).toBe(1))
    release.resolve()
    await once(socket, 'close')
    expect(codes()).toEqual(['DUPLICATE_TRANSACTION_ID', 'ENDPOINT_NOT_FOUND'])
  })

  it('on one connection, a stop ends it with the answers to what was begun', async () => {
    await startSlow()
    const { socket, codes, text } = await connect()
    socket.write(post.repeat(20))
    await eventually(() => expect(created()).toBe(16))
    const closed = edge.app.close()
    release.resolve()
    await once(socket, 'close')
    expect(codes()).toEqual(Array(16).fill('DUPLICATE_TRANSACTION_ID'))
    expect(text().match(/connection: close/gi)).toHaveLength(1)
    await closed
    expect(created()).toBe(16)
  })
})

describe('in the whole process', () => {
  const pages: PageServices = {
    checkout: createRpcClient(CheckoutService, {
      url: 'http://127.0.0.1:1',
      audience: 'payments',
      identity: { authorization: () => '' },
    }),
    receipts: { readReceipt: () => Promise.reject(new Error('never asked')) },
    pageKeys: fixedKeys(),
    changes: noChanges,
    brands: noBrands,
  }
  const few = { inFlightLimits: { perConnection: 16, working: 3, open: 20 } }
  const fill = async () => {
    const clients = await Promise.all([connect(), connect(), connect()])
    for (const { socket } of clients) socket.write(post)
    await eventually(() => expect(created()).toBe(3))
    return clients
  }

  it('in the whole process, a request above the limit gets 503 with Retry-After, in the envelope of its route', async () => {
    await startSlow(few, pages)
    const clients = await fill()
    const full = await call(edge.url, 'POST', target, { body: goodPayment() })
    expect(shapeOf(full)).toEqual(refusedAs('full', 503, 'SERVICE_UNAVAILABLE'))
    expect(full.headers.get('retry-after')).toBe('1')
    const quote = await call(edge.url, 'GET', '/quote?version=2024-10-01')
    expect(shapeOf(quote)).toEqual(refusedAs('quote', 503, 'SERVICE_UNAVAILABLE'))
    const page = await fetch(`${edge.url}/pay/${'x'.repeat(43)}`)
    expect([page.status, page.headers.get('retry-after')]).toEqual([503, '1'])
    expect(page.headers.get('content-type')).toContain('text/html')
    expect(await page.text()).toContain('<h1')
    expect(created()).toBe(3)
    release.resolve()
    for (const client of clients) await eventually(() => expect(client.statuses()).toEqual([409]))
    expect((await call(edge.url, 'POST', target, { body: goodPayment() })).status).toBe(409)
  })

  it('in the whole process, health checks are answered above the limit, and unknown paths stay 404', async () => {
    await startSlow(few)
    await fill()
    for (const path of ['/livez', '/readyz'])
      expect((await fetch(edge.url + path)).status).toBe(200)
    expect((await call(edge.url, 'GET', '/nowhere')).status).toBe(404)
    expect((await call(edge.url, 'PUT', '/quote')).status).toBe(405)
  })

  it('in the whole process, a connection that pipelines above the limit of open requests is closed, and others go on', async () => {
    await startSlow(few)
    const { socket } = await connect()
    const gone = once(socket, 'close')
    socket.write(post.repeat(40))
    await gone
    release.resolve()
    await eventually(() => expect(edge.inFlight.count()).toBe(0))
    expect((await call(edge.url, 'POST', target, { body: goodPayment() })).status).toBe(409)
  })

  it('unread answers do not count as requests in flight of the process', async () => {
    await startSlow({ inFlightLimits: { perConnection: 16, working: 3, open: 100 } })
    const { socket } = await connect()
    socket.pause()
    socket.write(head('GET /docs/swagger-ui-bundle.js HTTP/1.1').repeat(16))
    await eventually(() => expect(edge.inFlight.count()).toBeGreaterThan(4))
    await eventually(async () =>
      expect((await call(edge.url, 'GET', '/quote?version=2024-10-01')).status).toBe(400),
    )
  })
})

describe('a client that disconnects', () => {
  const one = { inFlightLimits: { perConnection: 16, working: 1, open: 100 } }
  const form = head('POST /account/personal_account?version=2024-10-01 HTTP/1.1', {
    'Content-Type': 'multipart/form-data; boundary=b',
    'Content-Length': '5000',
  })

  it.each([
    ['in the middle of its headers', post.slice(0, 50)],
    ['before its body', post.slice(0, -body.length)],
    ['in the middle of its body', post.slice(0, -5)],
    ['in the middle of a form', `${form}--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx`],
    ['while it is worked for', post],
    ['with others waiting', post.repeat(40)],
    ['with an expectation', `${post}${head('GET /livez HTTP/1.1', { Expect: 'x' }).repeat(40)}`],
    ['with a broken target', `${post}${head('GET /pay/%zz HTTP/1.1').repeat(3)}`],
  ])('a client that disconnects leaves nothing behind: %s', async (_name, bytes) => {
    await startSlow(one)
    const { socket } = await connect()
    socket.write(bytes)
    const reached = bytes.startsWith(post) ? 1 : 0
    await eventually(() => expect(created()).toBe(reached))
    await settled()
    socket.destroy()
    release.resolve()
    await eventually(() => expect(edge.inFlight.count()).toBe(0))
    expect((await call(edge.url, 'POST', target, { body: goodPayment() })).status).toBe(409)
  })

  it('a client that disconnects is logged as aborted', async () => {
    await startSlow()
    const { socket } = await connect()
    socket.write(post.repeat(2))
    await eventually(() => expect(created()).toBe(2))
    socket.destroy()
    release.resolve()
    await eventually(() => expect(edge.lines.length).toBe(2))
    for (const line of edge.lines) {
      expect(line).toMatchObject({ route: '/payments/request', status: 409, outcome: 'aborted' })
    }
  })
})

describe('other forms of HTTP', () => {
  it('a request of HTTP/1.0 is answered and ends its connection', async () => {
    await startSlow()
    const { socket, text } = await connect()
    socket.write('GET /livez HTTP/1.0\r\n\r\n')
    await once(socket, 'close')
    expect(parseRaw(text())).toMatchObject({ status: 200, body: { status: 'alive' } })
  })

  it('an upgrade is not taken, and the request is answered', async () => {
    await startSlow()
    const { socket, statuses } = await connect()
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' }
    socket.write(head('GET /livez HTTP/1.1', upgrade))
    await eventually(() => expect(statuses()).toEqual([200]))
  })

  it('hundreds of headers are accepted like few', async () => {
    await startSlow()
    const { socket, statuses } = await connect()
    socket.write(`GET /livez HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(500)}\r\n`)
    await eventually(() => expect(statuses()).toEqual([200]))
  })
})
