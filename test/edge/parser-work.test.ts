// Hostile headers and targets on a real socket: the time of a request grows no faster than linearly with their length.
import { once } from 'node:events'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EdgeFixture, goodHeaders, startEdge } from './harness.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge({ trustedProxies: ['127.0.0.0/8'] })
})
afterAll(() => edge.close())

/** A client that keeps its connection as long as it may. */
function newClient() {
  let socket: net.Socket | undefined
  let received = ''
  let whenAnswered = (_status: number) => {}

  async function connect(): Promise<net.Socket> {
    const made = net.connect(edge.port, '127.0.0.1')
    await once(made, 'connect')
    received = ''
    made.on('data', (chunk) => {
      received = (received + chunk.toString('latin1')).replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '')
      const head = received.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(received.slice(0, head))?.[1] ?? 0)
      if (received.length < head + 4 + length) return
      if (/^connection: close/im.test(received.slice(0, head))) socket = undefined
      const status = Number(received.slice(9, 12))
      received = ''
      whenAnswered(status)
    })
    made.once('close', () => {
      if (socket !== made) return
      socket = undefined
      whenAnswered(0)
    })
    return made
  }

  return {
    /** Milliseconds until a whole answer is there. */
    async timeMs(bytes: string): Promise<number> {
      socket ??= await connect()
      const answered = Promise.withResolvers<number>()
      whenAnswered = answered.resolve
      const beginMs = performance.now()
      socket.write(bytes, 'latin1')
      expect(await answered.promise).toBeGreaterThanOrEqual(200)
      return performance.now() - beginMs
    },
    close: () => socket?.destroy(),
  }
}

const body = '{}'

function requestOf(line: string, headers: Record<string, string>): string {
  const isPost = line.startsWith('POST')
  const common = { Host: 'localhost', ...goodHeaders(), 'Content-Type': 'application/json' }
  const length = { 'Content-Length': String(isPost ? body.length : 0) }
  const lines = Object.entries({ ...common, ...length, ...headers })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return `${line}\r\n${head}\r\n${isPost ? body : ''}`
}

const version = 'version=2024-10-01'
const post = `POST /payments/request?${version} HTTP/1.1`
const get = `GET /payments/status?${version}&api_key=x&payment_details_id=y HTTP/1.1`
const session = `POST /account/account_session?${version} HTTP/1.1`
const form = `POST /account/personal_account?${version} HTTP/1.1`

/** A request with this text at one place. */
type Place = (text: string) => string

const inHeader = (line: string, name: string, start = '') => {
  const place: Place = (text) => requestOf(line, { [name]: `${start}${text}` })
  return place
}

const places: Record<string, Place> = {
  'Content-Type': inHeader(post, 'Content-Type', 'application/json;charset=utf-8'),
  'Content-Type of a form': inHeader(form, 'Content-Type', 'multipart/form-data; boundary=b'),
  'Content-Encoding': inHeader(post, 'Content-Encoding', 'identity'),
  Accept: inHeader(session, 'Accept', 'application/json'),
  'Accept-Encoding': inHeader('GET /docs HTTP/1.1', 'Accept-Encoding', 'gzip'),
  'Accept-Language': inHeader(get, 'Accept-Language', 'en'),
  Authorization: inHeader(get, 'Authorization', 'Bearer '),
  Cookie: inHeader(get, 'Cookie', 'a=b'),
  Forwarded: inHeader(get, 'Forwarded', 'for=10.0.0.1'),
  'X-Forwarded-For': inHeader(get, 'X-Forwarded-For', '127.0.0.1'),
  'CF-Connecting-IP': inHeader(get, 'CF-Connecting-IP', '127.0.0.1'),
  Expect: inHeader(post, 'Expect', '100-continue'),
  traceparent: inHeader(get, 'traceparent', '00-'),
  tracestate: inHeader(get, 'tracestate', 'a=b'),
  'Idempotency-Key': inHeader('POST /bill_payments/pay HTTP/1.1', 'Idempotency-Key', 'key'),
  'If-None-Match': inHeader('GET /openapi.json HTTP/1.1', 'If-None-Match', '"'),
  Origin: inHeader(get, 'Origin', 'https://example.com'),
  Host: inHeader(get, 'Host', 'localhost'),
  'User-Agent': inHeader(get, 'User-Agent', 'a'),
  'PW-subscription-key': inHeader(get, 'PW-subscription-key', 'pwk_test_'),
  'PW-origin-country': inHeader(get, 'PW-origin-country', 'TT'),
  'PW-request-date': inHeader(get, 'PW-request-date', '2026-01-01 '),
  'PW-ip-address': inHeader(get, 'PW-ip-address', '203.0.113.7'),
  'PW-request-id': inHeader(get, 'PW-request-id', '0198c000'),
  'a path': (text) => requestOf(`GET /payments${encode(text)} HTTP/1.1`, {}),
  'a link': (text) => requestOf(`GET /pay/${encode(text)}/state HTTP/1.1`, {}),
  'a query': (text) => requestOf(`GET /payments/status?${encode(text)} HTTP/1.1`, {}),
  'a number in a query': (text) =>
    requestOf(`GET /account/balance?${version}&mobile_number=1${encode(text)} HTTP/1.1`, {}),
}

/** As it may stand in a target; what has a meaning there stays. */
function encode(text: string): string {
  return text.replaceAll(/[ \t"\\%]/g, (character) =>
    character === ' ' ? '+' : `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

const fillers = [' ', ',', ';', '"', '\\', '=', '&', '/', '0', 'a', '; ', ', ', 'a=b&', ' ;a="']
const small = 1_000
// With the other headers it stays below the limit of 16 KiB; an escaped character takes three.
const large = 15_000
const limit = 20
const rounds = 20

describe.each(Object.keys(places))('a hostile text in %s', (name) => {
  const place = places[name] as Place
  const isTarget = name.startsWith('a ')

  it(`a hostile text in ${name} takes at most twenty times the time at fifteen times the length`, async () => {
    const client = newClient()
    for (const filler of fillers) {
      const width = isTarget ? encode(filler).length : filler.length
      const at = (length: number) => place(`${filler.repeat(Math.floor(length / width))}x`)
      const [little, much] = [at(small), at(large)]
      let littleMs = Number.POSITIVE_INFINITY
      let muchMs = Number.POSITIVE_INFINITY
      // The minimum: a stall of the machine adds nothing.
      for (let round = 0; round < rounds; round += 1) {
        littleMs = Math.min(littleMs, await client.timeMs(little))
        muchMs = Math.min(muchMs, await client.timeMs(much))
        if (round > 0 && muchMs / littleMs <= limit) break
      }
      expect(muchMs / littleMs, JSON.stringify(filler)).toBeLessThanOrEqual(limit)
    }
    client.close()
  })
})
