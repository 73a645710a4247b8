// Request bodies that never end, over each protocol that the RPC port takes. The response is not checked here.
import http2 from 'node:http2'
import net from 'node:net'
import { callStreamPath } from '#platform/rpc/call-stream/messages.ts'
import { requestBytes } from '#platform/testing/rpc/call-streams.ts'

/** What each message says its length is. */
const messageBytes = 1024 * 1024
/** What is missing of it in the end. */
const missingBytes = 1_024

/** A flood under way. */
export interface Flood {
  /** Resolves when each call was answered, cut or has sent all but its end. */
  settled: Promise<void>
  /** Ends it. */
  stop(): void
}

/** What is called, by whom. */
interface Target {
  port: number
  path: string
  /** The `authorization` header. */
  authorization?: string | undefined
}

/** Sent again and again: what it says does not matter before its end. */
const filler = Buffer.alloc(64 * 1024, 'x')

/** Bytes of the body of a message that never ends, cut into pieces. */
function* pieces(isEnveloped: boolean): Generator<Buffer> {
  let left = messageBytes - missingBytes
  if (isEnveloped) {
    const head = Buffer.alloc(5)
    head.writeUInt32BE(messageBytes, 1)
    yield head
  }
  for (; left > 0; left -= filler.length) yield filler.subarray(0, Math.min(left, filler.length))
}

/** Writes all pieces and waits for each to be taken; ends early when the peer answers or goes. */
async function pour(
  stream: NodeJS.WritableStream & { destroyed?: boolean },
  parts: Iterable<Buffer>,
  over: Promise<unknown>,
): Promise<void> {
  for (const part of parts) {
    const taken = new Promise<'taken'>((resolve) => {
      stream.write(part, () => resolve('taken'))
    })
    if ((await Promise.race([over, taken])) !== 'taken' || stream.destroyed === true) return
  }
}

function openSocket(port: number): net.Socket {
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  return socket
}

/** Resolves at the first byte of an answer, or when the peer has gone. */
function answerOf(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('data', () => resolve())
    socket.once('close', () => resolve())
  })
}

function socketFlood(count: number, port: number, send: (socket: net.Socket) => Promise<void>) {
  const sockets = Array.from({ length: count }, () => openSocket(port))
  const settled = Promise.all(sockets.map(send)).then(() => undefined)
  return {
    settled,
    stop() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A protocol over HTTP: its content type, and whether messages come in envelopes. */
interface HttpProtocol {
  contentType: string
  isEnveloped: boolean
}

const connectUnary = { contentType: 'application/proto', isEnveloped: false }
const connectJson = { contentType: 'application/json', isEnveloped: false }
const connectStream = { contentType: 'application/connect+proto', isEnveloped: true }
const grpc = { contentType: 'application/grpc+proto', isEnveloped: true }

/** Requests over HTTP/1.1, one to a connection, which declare their length or come in chunks. */
function http1Flood(
  { port, path, authorization }: Target,
  count: number,
  { contentType, isEnveloped }: HttpProtocol,
  declaresLength: boolean,
): Flood {
  const bodyBytes = messageBytes + (isEnveloped ? 5 : 0)
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: flood',
    `content-type: ${contentType}`,
    'connect-protocol-version: 1',
    'connect-timeout-ms: 60000',
    ...(authorization === undefined ? [] : [`authorization: ${authorization}`]),
    declaresLength ? `content-length: ${bodyBytes}` : 'transfer-encoding: chunked',
  ]
  return socketFlood(count, port, async (socket) => {
    const over = answerOf(socket)
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    const parts = pieces(isEnveloped)
    await pour(socket, declaresLength ? parts : inChunks(parts), over)
  })
}

function* inChunks(parts: Iterable<Buffer>): Generator<Buffer> {
  for (const part of parts) {
    yield Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  }
}

/** A session whose own side takes as much as is written. */
function openSession(port: number): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 1_000 })
  session.on('error', () => undefined)
  return session
}

/** Requests over HTTP/2, shared out among connections. */
function http2Flood(
  { port, path, authorization }: Target,
  count: number,
  { contentType, isEnveloped }: HttpProtocol,
  connections = 1,
  parts?: readonly Buffer[],
): Flood {
  const sessions = Array.from({ length: connections }, () => openSession(port))
  const calls = Array.from({ length: count }, async (_, at) => {
    const stream = sessions[at % connections]?.request({
      ':method': 'POST',
      ':path': path,
      'content-type': contentType,
      te: 'trailers',
      ...(contentType.startsWith('application/grpc')
        ? { 'grpc-timeout': '60S' }
        : { 'connect-protocol-version': '1', 'connect-timeout-ms': '60000' }),
      ...(authorization === undefined ? {} : { authorization }),
    })
    if (stream === undefined) return
    stream.on('error', () => undefined)
    const over = new Promise<void>((resolve) => {
      // The head of a call stream, which comes before any call, ends nothing.
      stream.once(parts === undefined ? 'response' : 'data', () => resolve())
      stream.once('close', () => resolve())
    })
    await pour(stream, parts ?? pieces(isEnveloped), over)
  })
  return {
    settled: Promise.all(calls).then(() => undefined),
    stop() {
      for (const session of sessions) session.destroy()
    },
  }
}

/** Call streams, each with a call that never ends and is as long as calls may be, shared out among connections. */
function callStreamFlood(
  { port, path, authorization }: Target,
  count: number,
  connections: number,
): Flood {
  const call = requestBytes({
    callId: 1,
    path,
    timeoutMs: 60_000,
    headers: { pad: 'x'.repeat(15_000) },
    ...(authorization === undefined ? {} : { authorization }),
    message: Buffer.alloc(64 * 1024),
  })
  const target = { port, path: callStreamPath, authorization }
  return http2Flood(target, count, grpc, connections, [call.subarray(0, -missingBytes)])
}

/** Headers of HTTP/1.1 that never end. */
function http1HeaderFlood({ port, path }: Target, count: number): Flood {
  return socketFlood(count, port, async (socket) => {
    const lines = Array.from({ length: 15 }, (_, at) => `x-${at}: ${'y'.repeat(1_000)}\r\n`)
    const text = `POST ${path} HTTP/1.1\r\nhost: flood\r\n${lines.join('')}`
    await pour(socket, [Buffer.from(text)], answerOf(socket))
  })
}

/** Requests over HTTP/2 with as many headers as are allowed, and no body. */
function http2HeaderFlood({ port, path }: Target, count: number): Flood {
  const session = openSession(port)
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, at) => [`x-${at}`, `${at}`.padEnd(120, 'y')]),
  )
  const calls = Array.from({ length: count }, async () => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/proto',
      ...many,
    })
    stream.on('error', () => undefined)
    await new Promise<void>((resolve) => {
      stream.once('response', () => resolve())
      stream.once('close', () => resolve())
      stream.write('x', () => resolve())
    })
  })
  return {
    settled: Promise.all(calls).then(() => undefined),
    stop: () => session.destroy(),
  }
}

/** Anybody may call it. */
export const check = '/grpc.health.v1.Health/Check'
const watch = '/grpc.health.v1.Health/Watch'
const reflect = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const all = 256

/** Floods by what they come over; `ownPath` is a unary method that `bearer` may call. */
export function floodsOf(port: number, ownPath: string, bearer: string) {
  const authorization = `Bearer ${bearer}`
  const anybody = (path: string): Target => ({ port, path })
  const known = (path: string): Target => ({ port, path, authorization })
  const floods: Record<string, () => Flood> = {
    'health, HTTP/1.1, declared length': () => http1Flood(anybody(check), all, connectUnary, true),
    'health, HTTP/1.1, in chunks': () => http1Flood(anybody(check), all, connectUnary, false),
    'health, HTTP/1.1, JSON': () => http1Flood(anybody(check), all, connectJson, true),
    'health, HTTP/1.1, stream': () => http1Flood(anybody(watch), all, connectStream, false),
    'health, HTTP/2 gRPC': () => http2Flood(anybody(check), all, grpc),
    'health, HTTP/2 gRPC, 8 connections': () => http2Flood(anybody(check), all, grpc, 8),
    'health, HTTP/2 Connect': () => http2Flood(anybody(check), all, connectUnary),
    'health, HTTP/2 Connect stream': () => http2Flood(anybody(watch), all, connectStream),
    'stranger, HTTP/1.1': () => http1Flood(anybody(ownPath), all, connectUnary, true),
    'stranger, HTTP/2 gRPC': () => http2Flood(anybody(ownPath), all, grpc, 8),
    'stranger, call streams': () => callStreamFlood(anybody(ownPath), all, 8),
    'bearer, HTTP/1.1, declared length': () => http1Flood(known(ownPath), all, connectUnary, true),
    'bearer, HTTP/1.1, in chunks': () => http1Flood(known(ownPath), all, connectUnary, false),
    'bearer, HTTP/2 gRPC': () => http2Flood(known(ownPath), all, grpc),
    'bearer, HTTP/2 gRPC, 8 connections': () => http2Flood(known(ownPath), all, grpc, 8),
    'bearer, HTTP/2 Connect': () => http2Flood(known(ownPath), all, connectUnary),
    'bearer, reflection': () => http2Flood(known(reflect), all, grpc),
    'bearer, call streams': () => callStreamFlood(known(ownPath), all, 1),
    'bearer, call streams, 8 connections': () => callStreamFlood(known(ownPath), all, 8),
    'bearer, call streams, a connection each': () => callStreamFlood(known(ownPath), all, all),
    'headers, HTTP/1.1': () => http1HeaderFlood(anybody(check), all),
    'headers, HTTP/2': () => http2HeaderFlood(anybody(check), all),
  }
  return floods
}
