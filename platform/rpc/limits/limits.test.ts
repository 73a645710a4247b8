// Tests that requests beyond a server's limits are refused early with the right error, without effect on others.
import { once } from 'node:events'
import http2 from 'node:http2'
import net from 'node:net'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterEach, describe, expect, it } from 'vitest'
import { SeenRequestSchema } from '#gen/payweave/events/v1/events_pb.js'
import { eventually } from '../../../test/support/eventually.ts'
import { dialCallStream, enveloped, requestBytes } from '../../testing/rpc/call-streams.ts'
import { bearerCredential, startInbox } from '../../testing/rpc/harness.ts'
import { errorOf, errorOfBytes, type Way } from '../../testing/rpc/raw-calls.ts'
import { watchLimits } from './limits.ts'

const closers: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const seenPath = '/payweave.events.v1.InboxService/Seen'
const checkPath = '/grpc.health.v1.Health/Check'
const watchPath = '/grpc.health.v1.Health/Watch'
const authorization = `Bearer ${bearerCredential}`
const message = toBinary(SeenRequestSchema, create(SeenRequestSchema, { eventIds: ['a'] }))
const overloaded = { code: 'ResourceExhausted', reason: 'SERVER_OVERLOADED', domain: 'payweave' }

async function start() {
  const started = await startInbox(({ eventIds }) => ({
    known: eventIds.map((eventId) => ({ eventId: eventId.slice(0, 10) })),
  }))
  closers.push(() => started.server.close())
  return { ...started, port: started.server.port }
}

function connectTo(port: number): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 100 })
  session.on('error', () => undefined)
  closers.push(() => session.destroy())
  return session
}

function socketTo(port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  closers.push(() => socket.destroy())
  return socket
}

/** Sends the head of a request and a part of its body. */
function unfinished(port: number, path: string, headers: Record<string, string>, body: Buffer) {
  const socket = socketTo(port)
  const lines = Object.entries({ host: 'a', ...headers }).map(([name, text]) => `${name}: ${text}`)
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  socket.write(body)
  return socket
}

/** The first bytes that come back, as text. */
async function firstOf(socket: net.Socket): Promise<string> {
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  return chunk.toString('latin1')
}

function open(session: http2.ClientHttp2Session, path: string, headers: http2.OutgoingHttpHeaders) {
  const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
  stream.on('error', () => undefined)
  return stream
}

const grpc = { 'content-type': 'application/grpc', te: 'trailers' }

describe('a message that is declared too large', () => {
  it.each([
    ['of health', checkPath, {}, 4_097],
    ['of any other method', seenPath, { authorization }, (4 << 20) + 6],
  ])(
    'a message that is declared too large over HTTP/1.1 is refused before it comes: %s',
    async (_, path, headers, bytes) => {
      const { port } = await start()
      const length = { 'content-type': 'application/proto', 'content-length': String(bytes + 5) }
      const socket = unfinished(port, path, { ...headers, ...length }, Buffer.alloc(10))
      const answer = await firstOf(socket)
      expect(answer).toMatch(/^HTTP\/1\.1 429 /)
      expect(answer).toContain('MESSAGE_TOO_LARGE')
    },
  )

  it('a message that is declared too large over HTTP/2 is refused by the length of its envelope, and its stream ends', async () => {
    const { port } = await start()
    const session = connectTo(port)
    for (const [path, headers, bytes] of [
      [checkPath, grpc, 4_097],
      [seenPath, { ...grpc, authorization }, (4 << 20) + 1],
    ] as const) {
      const stream = open(session, path, headers)
      stream.resume()
      const trailers = once(stream, 'trailers')
      stream.write(enveloped(Buffer.alloc(10), bytes))
      expect((await trailers)[0]).toMatchObject({ 'grpc-status': '8' })
      stream.destroy()
    }
    const answer = await errorOf('gRPC over HTTP/2', { port, path: checkPath })
    expect(answer.code).toBe('ok')
  })

  it('a message that is declared too large in a call stream ends the stream by its envelope; a call that its method does not take ends alone', async () => {
    const { port } = await start()
    const dialled = await dialCallStream(port, { authorization })
    closers.push(dialled.close)
    const body = Buffer.alloc(60_000)
    dialled.send(
      { callId: 1, path: seenPath, message: body },
      { callId: 2, path: checkPath, authorization, message: body },
      { callId: 3, path: seenPath, authorization, message },
    )
    const answers = [await dialled.next(), await dialled.next(), await dialled.next()]
    expect(answers.map(({ callId, status }) => [callId, status]).toSorted()).toEqual([
      [1, 401],
      [2, 429],
      [3, 0],
    ])
    dialled.stream.write(enveloped(Buffer.alloc(10), 80 * 1024 + 1))
    expect(await dialled.ended).toBe('3')
  })

  it('call streams beyond the bytes of a connection are refused before they take a call', async () => {
    const { port } = await start()
    const session = connectTo(port)
    const statuses: unknown[] = []
    for (let count = 0; count < 60; count += 1) {
      const stream = open(session, '/payweave.rpc.v1.CallService/StreamCalls', {
        ...grpc,
        authorization,
      })
      stream.on('response', (head) => statuses.push(head['grpc-status'] ?? 'open'))
    }
    await eventually(() => expect(statuses).toHaveLength(60))
    expect(new Set(statuses)).toEqual(new Set(['open', '8']))
    // They held at most what one connection may.
    expect(statuses.filter((status) => status === 'open').length).toBeLessThan(58)
    session.destroy()
    const dialled = await dialCallStream(port, { authorization })
    closers.push(dialled.close)
    dialled.send({ callId: 1, path: seenPath, authorization, message })
    expect(await dialled.next()).toMatchObject({ callId: 1, status: 0 })
  })
})

describe('large messages in flight', () => {
  /** Fills what one connection may hold of large messages. */
  async function fill(port: number) {
    const session = connectTo(port)
    const streams = [1, 2].map(() => {
      const stream = open(session, seenPath, { ...grpc, authorization, 'grpc-timeout': '60S' })
      stream.write(enveloped(Buffer.alloc(100_000), 4 << 20))
      return stream
    })
    // Pings are answered after what was sent before them.
    await new Promise((resolve) => session.ping(resolve))
    return { session, streams }
  }

  it('large messages in flight are bounded on a connection: more are refused with a time to wait, small ones pass', async () => {
    const { port } = await start()
    const { session, streams } = await fill(port)
    const third = open(session, seenPath, { ...grpc, authorization })
    third.resume()
    const trailers = once(third, 'trailers')
    third.write(enveloped(Buffer.alloc(1_000), 1 << 20))
    const [given] = (await trailers) as [http2.IncomingHttpHeaders]
    expect(given['grpc-status']).toBe('8')
    const details = Buffer.from(String(given['grpc-status-details-bin']), 'base64').toString()
    for (const part of ['SERVER_OVERLOADED', 'payweave', 'google.rpc.RetryInfo']) {
      expect(details).toContain(part)
    }
    const small = open(session, seenPath, { ...grpc, authorization })
    small.resume()
    const answered = once(small, 'trailers')
    small.end(enveloped(message))
    expect((await answered)[0]).toMatchObject({ 'grpc-status': '0' })
    for (const stream of streams) stream.destroy()
  })

  it('large messages in flight are bounded on the server, over each protocol, and are released when they end', async () => {
    const { port } = await start()
    const filled = [await fill(port), await fill(port)]
    filled.push(await fill(port))
    const large = toBinary(SeenRequestSchema, {
      ...create(SeenRequestSchema),
      eventIds: ['x'.repeat(3 << 20)],
    })
    const binary: Way[] = ['Connect over HTTP/1.1', 'Connect over HTTP/2', 'gRPC over HTTP/2']
    const ask = (way: Way, headers = {}) =>
      errorOf(way, { port, path: seenPath, headers: { authorization, ...headers }, body: large })
    for (const way of binary) {
      const refused = await ask(way)
      expect(refused, way).toMatchObject({ ...overloaded, retryS: 1 })
      // gRPC has no such header.
      expect(refused.headers['retry-after']).toBe(way.startsWith('gRPC') ? undefined : '1')
    }
    const fast = { 'connect-timeout-ms': '5000' }
    expect(await ask('Connect over HTTP/1.1', fast)).toMatchObject({ ...overloaded, retryS: 1 })
    const small = { port, path: seenPath, headers: { authorization }, body: message }
    for (const way of binary) expect((await errorOf(way, small)).code, way).toBe('ok')
    for (const { session } of filled) session.destroy()
    await eventually(async () => expect((await ask('gRPC over HTTP/2')).code).toBe('ok'))
    for (const way of binary) expect((await ask(way)).code, way).toBe('ok')
  })

  it('large messages in flight that break off, over each protocol, hold nothing any more', async () => {
    const { port } = await start()
    const proto = { authorization, 'content-type': 'application/proto' }
    const declared = { ...proto, 'content-length': String(4 << 20) }
    const byHttp1 = [
      declared,
      { ...declared, 'connect-timeout-ms': '60000' },
      { ...proto, 'transfer-encoding': 'chunked' },
      { ...declared, 'content-type': 'application/grpc' },
    ]
    const piece = enveloped(Buffer.alloc(100_000), 4_000_000)
    const chunk = Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece])
    // More than enough to fill the server, would anything be left of them.
    for (let count = 0; count < 8; count += 1) {
      for (const headers of byHttp1) {
        const socket = unfinished(port, seenPath, headers, Buffer.alloc(0))
        socket.write('transfer-encoding' in headers ? chunk : piece, () => socket.resetAndDestroy())
        await new Promise((resolve) => socket.once('close', resolve))
      }
      const session = connectTo(port)
      for (const headers of [grpc, proto]) {
        const stream = open(session, seenPath, { ...headers, authorization })
        stream.write(piece)
        await new Promise((resolve) => session.ping(resolve))
        stream.close(http2.constants.NGHTTP2_CANCEL)
      }
      const { stream, close } = await dialCallStream(port, { authorization })
      const call = { callId: 1, path: seenPath, authorization, message: Buffer.alloc(60_000) }
      stream.write(requestBytes(call).subarray(0, -1_000), close)
      await new Promise((resolve) => stream.once('close', resolve))
    }
    const large = toBinary(SeenRequestSchema, {
      ...create(SeenRequestSchema),
      eventIds: ['x'.repeat(3 << 20)],
    })
    const ask = () =>
      errorOf('gRPC over HTTP/2', { port, path: seenPath, headers: { authorization }, body: large })
    await eventually(async () =>
      expect((await Promise.all([ask(), ask(), ask()])).map(({ code }) => code)).toEqual([
        'ok',
        'ok',
        'ok',
      ]),
    )
  })

  it('large messages in flight that come in many small pieces are put together', async () => {
    const { port } = await start()
    const body = toBinary(SeenRequestSchema, {
      ...create(SeenRequestSchema),
      eventIds: ['x'.repeat(200_000)],
    })
    const head = { authorization, 'content-type': 'application/proto' }
    const inPieces = async (more: Record<string, string>, cut: (piece: Buffer) => Buffer) => {
      const socket = unfinished(port, seenPath, { ...head, ...more }, Buffer.alloc(0))
      const answer = firstOf(socket)
      for (let at = 0; at < body.length; at += 977) {
        socket.write(cut(Buffer.from(body.subarray(at, at + 977))))
        if (at % 10_000 < 977) await new Promise(setImmediate)
      }
      socket.write(cut(Buffer.alloc(0)))
      return await answer
    }
    const chunk = (piece: Buffer) =>
      Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
    const declared = { 'content-length': String(body.length) }
    const answers = [
      await inPieces({ 'transfer-encoding': 'chunked' }, chunk),
      await inPieces(declared, (piece) => piece),
      await inPieces({ ...declared, 'connect-timeout-ms': '9000' }, (piece) => piece),
    ]
    for (const answer of answers) {
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
      expect(answer).toContain('xxxxxxxxxx')
    }
  })
})

describe('a message that does not come to its end', () => {
  const headers = { ...grpc, authorization, 'grpc-timeout': '100m' }

  it('a message that does not come to its end ends its call at the deadline, over HTTP/2', async () => {
    const { port } = await start()
    const stream = open(connectTo(port), seenPath, headers)
    stream.resume()
    const trailers = once(stream, 'trailers')
    stream.write(enveloped(message, 1_000))
    expect((await trailers)[0]).toMatchObject({ 'grpc-status': '4' })
  })

  it('a message that does not come to its end ends its call at the deadline, over HTTP/1.1', async () => {
    const { port } = await start()
    const length = { 'content-length': '1005', te: 'trailers' }
    const socket = unfinished(port, seenPath, { ...headers, ...length }, enveloped(message, 1_000))
    let answer = ''
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
    await eventually(() => expect(answer).toMatch(/grpc-status: 4\r\n/))
  })
})

describe('without a credential', () => {
  it('without a credential, a few calls may be in flight on a connection, and known callers pass beside them', async () => {
    const { port } = await start()
    const session = connectTo(port)
    const statuses: unknown[] = []
    for (let count = 0; count < 20; count += 1) {
      const stream = open(session, checkPath, grpc)
      stream.on('response', (head) => statuses.push(head['grpc-status']))
      stream.write(Buffer.alloc(3))
    }
    await eventually(() => expect(statuses).toEqual(Array.from({ length: 4 }, () => '8')))
    const known = open(session, seenPath, { ...grpc, authorization })
    known.resume()
    const trailers = once(known, 'trailers')
    known.end(enveloped(message))
    expect((await trailers)[0]).toMatchObject({ 'grpc-status': '0' })
  })

  it('without a credential, a session has fewer streams than after a call of a known caller', async () => {
    const { port } = await start()
    const session = connectTo(port)
    const [first] = (await once(session, 'remoteSettings')) as [http2.Settings]
    expect(first.maxConcurrentStreams).toBe(100)
    const raised = once(session, 'remoteSettings')
    const call = open(session, seenPath, { ...grpc, authorization })
    call.resume().end(enveloped(message))
    const [second] = (await raised) as [http2.Settings]
    expect(second.maxConcurrentStreams).toBe(256)
  })

  it('without a credential, an unexpected body is not read to its end', async () => {
    const { port } = await start()
    for (const path of [seenPath, '/no/such/path']) {
      const length = { 'content-type': 'application/json', 'content-length': String(1 << 30) }
      const socket = unfinished(port, path, length, Buffer.alloc(10))
      expect(await firstOf(socket)).toMatch(/^HTTP\/1\.1 401 /)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      let sent = 0
      const piece = Buffer.alloc(64 * 1024)
      const send = () => {
        while (!socket.destroyed && socket.write(piece)) sent += piece.length
      }
      socket.on('drain', send)
      send()
      await closed
      // What is left are the buffers of the system.
      expect(sent).toBeLessThan(64 << 20)
    }
  })
})

describe('watches', () => {
  const watch = (session: http2.ClientHttp2Session, headers = {}) => {
    const stream = open(session, watchPath, { ...grpc, ...headers })
    stream.end(enveloped(Buffer.alloc(0)))
    return new Promise<string>((resolve) => {
      stream.once('trailers', (given: http2.IncomingHttpHeaders) => {
        resolve(String(given['grpc-status']))
      })
      stream.once('data', () => resolve('open'))
    })
  }

  it('watches of one peer leave slots for those of others', async () => {
    const { port } = await start()
    const opened: string[] = []
    for (let connection = 0; connection < 10; connection += 1) {
      const session = connectTo(port)
      for (let count = 0; count < 6; count += 1) opened.push(await watch(session))
    }
    expect(opened.filter((answer) => answer === 'open')).toHaveLength(watchLimits.address)
    expect(new Set(opened)).toEqual(new Set(['open', '8']))
    expect(await watch(connectTo(port), { authorization })).toBe('open')
    const refused = await errorOf('gRPC over HTTP/2', { port, path: watchPath })
    expect(refused).toMatchObject({ ...overloaded, retryS: 1 })
    expect(
      await errorOfBytes('1.1', {
        port,
        path: watchPath,
        headers: { 'content-type': 'application/connect+proto' },
        body: enveloped(Buffer.alloc(0)),
      }),
    ).toMatchObject(overloaded)
  })
})
