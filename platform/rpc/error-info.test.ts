// That each error which leaves the port says its reason by an ErrorInfo, over each protocol, and that it is the right one.

import { create, toBinary, toJsonString } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HealthCheckRequestSchema } from '#gen/health/v1/health_pb.js'
import { SeenRequestSchema } from '#gen/payweave/events/v1/events_pb.js'
import { enveloped } from '../testing/rpc/call-streams.ts'
import { bearerCredential, startInbox } from '../testing/rpc/harness.ts'
import { errorOf, errorOfBytes, type Way, ways } from '../testing/rpc/raw-calls.ts'

let started: Awaited<ReturnType<typeof startInbox>>
let port = 0
beforeAll(async () => {
  started = await startInbox(async ({ eventIds: [wanted = ''] }) => {
    if (wanted === 'wait') await new Promise(() => undefined)
    if (wanted === 'bug') throw new TypeError('secret detail')
    if (wanted === 'large') return { known: [{ eventId: 'x'.repeat(5 << 20) }] }
    return { known: [{ eventId: wanted }] }
  })
  port = started.server.port
})
afterAll(() => started.server.close())

const path = '/payweave.events.v1.InboxService/Seen'
const authorization = `Bearer ${bearerCredential}`
const known = { authorization }
/** Seen is unary, so streams of Connect do not reach it. */
const unaryWays = (Object.keys(ways) as Way[]).filter((way) => way !== 'a stream of Connect')
const binaryWays = unaryWays.filter((way) => !way.includes('JSON'))
const jsonWays = unaryWays.filter((way) => way.includes('JSON'))
const overHttp = unaryWays.filter((way) => way !== 'a call stream')

function seen(way: Way, wanted: string): Uint8Array {
  const message = create(SeenRequestSchema, { eventIds: [wanted] })
  if (!way.includes('JSON')) return toBinary(SeenRequestSchema, message)
  return Buffer.from(toJsonString(SeenRequestSchema, message))
}

function timeout(way: Way, value: string): Record<string, string> {
  const isGrpc = ways[way].type.startsWith('application/grpc')
  return { [isGrpc ? 'grpc-timeout' : 'connect-timeout-ms']: isGrpc ? `${value}m` : value }
}

const payweave = { domain: 'payweave' }

describe.each(unaryWays)('over %s', (way) => {
  it(`over ${way}, a call that succeeds has no reason of an error`, async () => {
    const answer = await errorOf(way, { port, path, headers: known, body: seen(way, 'a') })
    expect(answer.code).toBe('ok')
  })

  it(`over ${way}, a call without a valid credential, or one that is not allowed, has a reason`, async () => {
    for (const authorization of ['', 'Bearer no']) {
      const headers = { authorization }
      expect(await errorOf(way, { port, path, headers, body: seen(way, 'a') })).toMatchObject({
        code: 'Unauthenticated',
        reason: 'UNAUTHENTICATED',
        ...payweave,
      })
    }
    const gateway = { authorization: started.identityOf('gateway').authorization('delivery') }
    expect(
      await errorOf(way, { port, path, headers: gateway, body: seen(way, 'a') }),
    ).toMatchObject({ code: 'PermissionDenied', reason: 'PERMISSION_DENIED', ...payweave })
  })

  it(`over ${way}, a call that comes too late, and one whose handler has a bug, has a reason`, async () => {
    const late = { port, path, headers: { ...known, ...timeout(way, '50') } }
    expect(await errorOf(way, { ...late, body: seen(way, 'wait') })).toMatchObject({
      code: 'DeadlineExceeded',
      reason: 'TIMEOUT',
      ...payweave,
    })
    const bug = await errorOf(way, { port, path, headers: known, body: seen(way, 'bug') })
    expect(bug).toMatchObject({ code: 'Internal', reason: 'INTERNAL_ERROR', ...payweave })
    expect(JSON.stringify(bug)).not.toContain('secret')
  })

  it(`over ${way}, an answer that is too large ends the call with a reason`, async () => {
    expect(
      await errorOf(way, { port, path, headers: known, body: seen(way, 'large') }),
    ).toMatchObject({ code: 'ResourceExhausted', reason: 'MESSAGE_TOO_LARGE', ...payweave })
  })

  it(`over ${way}, a health check of an unknown service has a reason`, async () => {
    const message = create(HealthCheckRequestSchema, { service: 'no.Such' })
    const body = way.includes('JSON')
      ? Buffer.from(toJsonString(HealthCheckRequestSchema, message))
      : toBinary(HealthCheckRequestSchema, message)
    expect(await errorOf(way, { port, path: '/grpc.health.v1.Health/Check', body })).toMatchObject({
      code: 'NotFound',
      reason: 'RPC_SERVICE_NOT_FOUND',
      ...payweave,
    })
  })
})

const malformed = { code: 'InvalidArgument', reason: 'MALFORMED_REQUEST', ...payweave }

describe.each(binaryWays)('over %s a message is malformed', (way) => {
  it.each([
    ['whose bytes are none', Buffer.from([0xff])],
    ['that ends within a field', Buffer.from([0x0a, 0x05, 0x61])],
    ['with a text that is no UTF-8', Buffer.from([0x0a, 0x02, 0xc3, 0x28])],
    ['with half of a surrogate pair', Buffer.from([0x0a, 0x03, 0xed, 0xa0, 0x80])],
  ])(`over ${way}, a malformed message has a reason: %s`, async (_, body) => {
    expect(await errorOf(way, { port, path, headers: known, body })).toMatchObject(malformed)
  })
})

describe.each(jsonWays)('by %s a message is malformed', (way) => {
  it.each([
    ['that is no JSON', Buffer.from('{"eventIds":')],
    ['with a field of another type', Buffer.from('{"eventIds":[1]}')],
    [
      'with bytes that are no UTF-8',
      Buffer.from([...Buffer.from('{"eventIds":["'), 0xc3, 0x28, ...Buffer.from('"]}')]),
    ],
    ['with half of a surrogate pair', Buffer.from('{"eventIds":["\\ud800"]}')],
  ])(`by ${way}, a malformed message has a reason: %s`, async (_, body) => {
    expect(await errorOf(way, { port, path, headers: known, body })).toMatchObject(malformed)
  })
})

describe.each(overHttp)('over %s', (way) => {
  it(`over ${way}, a call of a method that does not exist has a reason`, async () => {
    for (const unknown of ['/payweave.events.v1.InboxService/Nothing', '/no.Such/Method']) {
      expect(await errorOf(way, { port, path: unknown, headers: known })).toMatchObject({
        code: 'Unimplemented',
        reason: 'METHOD_UNIMPLEMENTED',
        ...payweave,
      })
    }
  })

  it(`over ${way}, a call with a malformed time-out has a reason`, async () => {
    const headers = { ...known, ...timeout(way, 'soon') }
    expect(await errorOf(way, { port, path, headers, body: seen(way, 'a') })).toMatchObject(
      malformed,
    )
  })

  it(`over ${way}, a call whose message is too large has a reason`, async () => {
    const body = seen(way, 'x'.repeat(5 << 20))
    expect(await errorOf(way, { port, path, headers: known, body })).toMatchObject({
      code: 'ResourceExhausted',
      reason: 'MESSAGE_TOO_LARGE',
      ...payweave,
    })
  })

  it(`over ${way}, a call whose message is compressed has a reason`, async () => {
    const name = ways[way].isEnveloped ? 'grpc-encoding' : 'content-encoding'
    const headers = { ...known, [name]: 'gzip' }
    expect(await errorOf(way, { port, path, headers, body: seen(way, 'a') })).toMatchObject({
      code: 'Unimplemented',
      reason: 'COMPRESSION_UNSUPPORTED',
      ...payweave,
    })
  })
})

describe.each(['1.1', '2'] as const)('in envelopes over HTTP/%s', (version) => {
  const head = { ...known, 'content-type': 'application/grpc' }
  const whole = enveloped(Buffer.from([0x0a, 0x01, 0x61]))

  it.each([
    ['no message', Buffer.alloc(0)],
    ['half of an envelope', Buffer.from([0, 0, 0])],
    ['half of a message', enveloped(Buffer.from([0x0a]), 100)],
    ['two messages', Buffer.concat([whole, whole])],
    ['a compressed message', Buffer.concat([Buffer.from([1]), whole.subarray(1)])],
  ])(`in envelopes over HTTP/${version}, %s is malformed`, async (_, body) => {
    expect(await errorOfBytes(version, { port, path, headers: head, body })).toMatchObject(
      malformed,
    )
  })

  it(`in envelopes over HTTP/${version}, a length that is too large is refused before the message has come`, async () => {
    const body = enveloped(Buffer.alloc(10), (4 << 20) + 1)
    expect(await errorOfBytes(version, { port, path, headers: head, body })).toMatchObject({
      code: 'ResourceExhausted',
      reason: 'MESSAGE_TOO_LARGE',
    })
  })
})

describe('a stream of Connect', () => {
  const watch = '/grpc.health.v1.Health/Watch'

  it('a stream of Connect says the reason in its last envelope', async () => {
    const way = 'a stream of Connect'
    for (const body of [Buffer.from([0xff]), Buffer.from([0x0a, 0x02, 0xc3, 0x28])]) {
      expect(await errorOf(way, { port, path: watch, body })).toMatchObject(malformed)
    }
    expect(await errorOf(way, { port, path: '/no.Such/Method' })).toMatchObject({
      code: 'Unauthenticated',
      reason: 'UNAUTHENTICATED',
    })
    const large = { port, path: watch, body: Buffer.alloc(5_000) }
    expect(await errorOf(way, large)).toMatchObject({ reason: 'MESSAGE_TOO_LARGE' })
    const timeless = { port, path: watch, headers: { 'connect-timeout-ms': 'soon' } }
    expect(await errorOf(way, timeless)).toMatchObject(malformed)
    const packed = { port, path: watch, headers: { 'connect-content-encoding': 'gzip' } }
    expect(await errorOf(way, packed)).toMatchObject({ reason: 'COMPRESSION_UNSUPPORTED' })
  })
})

describe('a request that is no call', () => {
  it('a request that is no call has a reason too, for its content type, HTTP method, version and host', async () => {
    for (const type of ['text/plain', 'application/x-unknown', 'application/grpc-web-text']) {
      for (const version of ['1.1', '2'] as const) {
        const headers = { ...known, 'content-type': type }
        const call = { port, path, headers, body: Buffer.from('hello') }
        expect(await errorOfBytes(version, call), type).toMatchObject({
          status: 415,
          reason: 'UNSUPPORTED_MEDIA_TYPE',
        })
      }
    }
    const put = { port, path, headers: { ...known, 'content-type': 'application/proto' } }
    expect(await errorOfBytes('1.1', put, 'PUT')).toMatchObject({
      status: 405,
      reason: 'METHOD_NOT_ALLOWED',
    })
    const reflection = {
      port,
      path: '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
      headers: { ...known, 'content-type': 'application/grpc' },
    }
    expect(await errorOfBytes('1.1', reflection)).toMatchObject({
      status: 505,
      reason: 'METHOD_UNIMPLEMENTED',
    })
    const strange = { port, path, headers: { ...known, host: '1.2.3.4.5:99999' } }
    expect(await errorOfBytes('1.1', strange)).toMatchObject({
      status: 400,
      reason: 'MALFORMED_REQUEST',
    })
  })

  it.each(['1.1', '2'] as const)(
    'a GET over HTTP/%s is a call, unless its text is no UTF-8',
    async (version) => {
      const get = (message: string) =>
        errorOfBytes(
          version,
          { port, path: `${path}?connect=v1&encoding=json&message=${message}`, headers: known },
          'GET',
        )
      expect((await get(encodeURIComponent('{"eventIds":["ä"]}'))).code).toBe('ok')
      expect(await get('%7B%22eventIds%22%3A%5B%22%c3%28%22%5D%7D')).toMatchObject(malformed)
      expect(await get('%7B')).toMatchObject(malformed)
    },
  )
})
