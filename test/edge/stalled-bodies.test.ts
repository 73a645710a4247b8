// Slow bodies: those of known keys may take 30 s, all others less time and a shared memory limit.
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { EdgeSettings, PageServices } from '../../gateway/options.ts'
import { formToken } from '../../gateway/pages/page-guard.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys } from '../support/keys.ts'
import {
  call,
  type EdgeFixture,
  goodHeaders,
  goodPayment,
  keys,
  parseRaw,
  startEdge,
} from './harness.ts'
import { holder } from './stand-ins/account-calls.ts'
import { noBrands } from './stand-ins/brands.ts'
import { refusedAs, shapeOf } from './stand-ins/good-requests.ts'
import { noChanges } from './stand-ins/no-changes.ts'

let edge: EdgeFixture
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await edge.close()
})

const target = '/payments/request?version=2024-10-01'
const body = JSON.stringify(goodPayment())
const half = body.slice(0, 100)
const rest = body.slice(100)

function head(headers: Record<string, string>, path = target): string {
  const all = { Host: 'localhost', 'Content-Type': 'application/json', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

const length = { 'Content-Length': String(body.length) }
const good = { ...goodHeaders(), ...length }
const unknownKey = { ...good, 'PW-subscription-key': keys.unknown }
const noHeaders = length

/** Sends a beginning and waits for what comes back. */
async function begin(bytes: string) {
  const socket = net.connect({ port: edge.port, host: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket)
  socket.on('error', () => {})
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  await once(socket, 'connect')
  socket.write(bytes)
  const whole = () => /\r\n\r\n.*}$/s.test(text)
  return {
    socket,
    isAnswered: whole,
    received: () => text,
    async answer() {
      await eventually(() => expect(whole()).toBe(true))
      return parseRaw(text)
    },
  }
}

const limits = (unauthenticatedMs: number, unauthenticatedBytes = 16 * 1024 * 1024) => ({
  bodyLimits: { bytes: 64 * 1024, unauthenticatedBytes, unauthenticatedMs },
})
const warm = async () =>
  expect((await call(edge.url, 'POST', target, { body: goodPayment() })).status).toBe(200)

async function start(settings: Partial<EdgeSettings>) {
  edge = await startEdge(settings, { nowMs: () => 0 })
  await warm()
}

describe('a body that stops', () => {
  it.each([
    ['without the headers', noHeaders],
    ['with a malformed key', { ...good, 'PW-subscription-key': 'short' }],
    ['with a key that was refused before', unknownKey],
  ])('a body that stops gets 408 before others: %s', async (_name, headers) => {
    await start(limits(300))
    if (headers === unknownKey) {
      const refused = { headers: goodHeaders({ 'PW-subscription-key': keys.unknown }) }
      await call(edge.url, 'POST', target, { ...refused, body: goodPayment() })
    }
    const known = await begin(head(good) + half)
    const stalled = await begin(head(headers) + half)
    expect(shapeOf(await stalled.answer())).toEqual(refusedAs('full', 408, 'TIMEOUT'))
    expect(known.isAnswered()).toBe(false)
    known.socket.write(rest)
    expect((await known.answer()).status).toBe(200)
  })

  it('a body that stops has its key looked up when it is late, and goes on when the key is accepted', async () => {
    edge = await startEdge(limits(300))
    const unknown = await begin(head(unknownKey) + half)
    const known = await begin(head(good) + half)
    expect(edge.seen.keyLookups).toEqual([])
    expect(shapeOf(await unknown.answer())).toEqual(refusedAs('full', 408, 'TIMEOUT'))
    await eventually(() =>
      expect(edge.seen.keyLookups.toSorted()).toEqual([keys.demo, keys.unknown]),
    )
    expect(known.isAnswered()).toBe(false)
    known.socket.write(rest)
    expect((await known.answer()).status).toBe(200)
  })

  it('a body that stops gets 408 in the form of its route', async () => {
    await start(limits(300))
    const quote = await begin(`${head(length, '/quote')}{`)
    expect(shapeOf(await quote.answer())).toEqual(refusedAs('quote', 408, 'TIMEOUT'))
  })

  it.each([
    ['with little time', limits(300), { ...good, 'PW-ip-address': 'x' }],
    ['with all the time there is', { ...limits(60_000), requestTimeoutMs: 1_500 }, good],
  ])(
    'a body that stops %s and is completed after its 408 is not executed',
    async (_name, settings, headers) => {
      await start(settings)
      const late = await begin(head(headers) + half)
      expect((await late.answer()).status).toBe(408)
      late.socket.write(rest)
      await eventually(() => expect(edge.inFlight.count()).toBe(0))
      expect(edge.seen.created).toHaveLength(1)
    },
  )

  it('a form, or a body from a page, that is completed after its 408 is not executed', async () => {
    const paid: string[] = []
    const checkout = {
      payWithWallet: ({ pin }: { pin: string }) => {
        paid.push(pin)
        return Promise.resolve({})
      },
    } as unknown as PageServices['checkout']
    const pageKey = Buffer.alloc(32)
    const receipts = { readReceipt: () => Promise.reject(new Error('never asked')) }
    edge = await startEdge(
      { requestTimeoutMs: 1_500 },
      {
        pages: {
          checkout,
          receipts,
          pageKeys: fixedKeys(pageKey),
          changes: noChanges,
          brands: noBrands,
        },
      },
    )
    const link = 'x'.repeat(43)
    const fields = new URLSearchParams({
      form_token: formToken(pageKey, link, Date.now()),
      pin: '1234',
    })
    const posts = [
      {
        path: '/account/personal_account?version=2024-10-01',
        type: 'multipart/form-data; boundary=b',
        content: `${Object.entries({ ...holder, email: 'ama@example.com' })
          .map(
            ([name, value]) =>
              `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
          )
          .join('')}--b--\r\n`,
      },
      {
        path: `/pay/${link}/wallet`,
        type: 'application/x-www-form-urlencoded',
        content: fields.toString(),
      },
    ]
    for (const { path, type, content } of posts) {
      const headers = {
        ...goodHeaders(),
        'Content-Type': type,
        'Content-Length': String(content.length),
      }
      const late = await begin(head(headers, path) + content.slice(0, -3))
      expect((await late.answer()).status).toBe(408)
      late.socket.write(content.slice(-3))
      await eventually(() => expect(edge.inFlight.count()).toBe(0))
      // In time it is.
      const inTime = await begin(head(headers, path) + content)
      await eventually(() => expect(inTime.received()).toMatch(/^HTTP\/1\.1 (200|303) /))
    }
    expect(edge.seen.accounts.personal).toHaveLength(1)
    expect(paid).toEqual(['1234'])
  })

  it('a body that stops gets 408 when the time of all requests is over, also when its key is known', async () => {
    await start({ ...limits(60_000), requestTimeoutMs: 500 })
    const known = await begin(head(good) + half)
    expect((await known.answer()).status).toBe(408)
  })

  it('a body that stops is refused in the order of the checks when it is completed in time', async () => {
    await start(limits(300))
    const whole = await begin(head({ 'Content-Length': '5' }))
    whole.socket.write('{"a":')
    expect(shapeOf(await whole.answer())).toEqual(refusedAs('full', 400, 'INVALID_JSON'))
  })
})

describe('the memory for bodies without a known key', () => {
  it('the memory for bodies without a known key is limited: above it they get 503, while bodies with a known key go on', async () => {
    await start(limits(60_000, 100 * 1024))
    const stalled = await Promise.all(
      Array.from({ length: 20 }, () => begin(head(noHeaders) + half)),
    )
    const answered = () => stalled.filter(({ isAnswered }) => isAnswered())
    await eventually(() => expect(answered().length).toBe(14))
    for (const one of answered()) {
      const seen = await one.answer()
      expect(shapeOf(seen)).toEqual(refusedAs('full', 503, 'SERVICE_UNAVAILABLE'))
      expect(seen.headers.get('retry-after')).toBe('1')
    }
    const known = await begin(head(good) + half)
    known.socket.write(rest)
    expect((await known.answer()).status).toBe(200)
    // A body that arrives with its headers is not counted.
    const refused = await call(edge.url, 'POST', target, { headers: {}, body: goodPayment() })
    expect(refused.body['errorCode']).toBe('INVALID_HEADER')
  })

  it('the memory for bodies without a known key is released when they end', async () => {
    await start(limits(60_000, 100 * 1024))
    for (let round = 0; round < 3; round += 1) {
      const stalled = await Promise.all(
        Array.from({ length: 6 }, () => begin(head(noHeaders) + half)),
      )
      await eventually(() => expect(edge.inFlight.count()).toBe(6))
      expect(stalled.filter(({ isAnswered }) => isAnswered())).toEqual([])
      for (const { socket } of stalled) socket.destroy()
      await eventually(() => expect(edge.inFlight.count()).toBe(0))
    }
  })

  it('the memory for bodies without a known key counts later chunks too', async () => {
    await start(limits(60_000, 100 * 1024))
    const large = { 'Content-Length': '60000' }
    const [one, other] = [await begin(head(large)), await begin(head(large))]
    one.socket.write('x'.repeat(50_000))
    await eventually(() => expect(edge.inFlight.count()).toBe(2))
    other.socket.write('x'.repeat(50_000))
    expect((await other.answer()).status).toBe(503)
    expect(one.isAnswered()).toBe(false)
  })
})
