// Makes calls as bytes, over each protocol of the port, and returns the error that comes back; for tests only.

import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import { Code, ConnectError } from '@connectrpc/connect'
import { endStreamFromJson, errorFromJsonBytes } from '@connectrpc/connect/protocol-connect'
import { findTrailerError } from '@connectrpc/connect/protocol-grpc'
import { trailerFlag, trailerParse } from '@connectrpc/connect/protocol-grpc-web'
import { ErrorInfoSchema, RetryInfoSchema } from '#gen/google/rpc/error_details_pb.js'
import { dialCallStream, enveloped } from './call-streams.ts'
import { bearerCredential } from './harness.ts'

/** A call to be sent as it is. */
export interface RawCall {
  port: number
  path: string
  headers?: Record<string, string>
  body?: Uint8Array
}

/** What came back of an error; `code` is `ok` for none. */
export interface RawError {
  code: string
  reason?: string | undefined
  domain?: string | undefined
  message?: string
  retryS?: number
  /** HTTP status. */
  status: number
  headers: http.IncomingHttpHeaders
}

interface Response {
  status: number
  headers: http.IncomingHttpHeaders
  trailers: http.IncomingHttpHeaders
  body: Buffer
}

async function overHttp1({ port, path, headers, body }: RawCall, method = 'POST') {
  const request = http.request({ port, host: '127.0.0.1', path, method, headers, agent: false })
  request.on('error', () => undefined)
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  request.destroy()
  const { statusCode: status = 0, headers: head, trailers } = response
  return { status, headers: head, trailers, body: Buffer.concat(chunks) }
}

async function overHttp2(
  { port, path, headers, body }: RawCall,
  method = 'POST',
): Promise<Response> {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers })
    stream.on('error', () => undefined)
    let trailers: http.IncomingHttpHeaders = {}
    stream.on('trailers', (given: http.IncomingHttpHeaders) => {
      trailers = given
    })
    stream.end(body)
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const ended = once(stream, 'end')
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    await ended
    return { status: Number(head[':status']), headers: head, trailers, body: Buffer.concat(chunks) }
  } finally {
    session.destroy()
  }
}

/** The stream itself has the credential of a process that may open one. */
async function overCallStream({ port, path, headers, body }: RawCall): Promise<Response> {
  const dialled = await dialCallStream(port, { authorization: `Bearer ${bearerCredential}` })
  try {
    const { authorization = '', 'connect-timeout-ms': timeout = '0', ...others } = headers ?? {}
    dialled.send({
      callId: 1,
      path,
      authorization,
      timeoutMs: Number(timeout),
      headers: others,
      message: body ?? new Uint8Array(0),
    })
    const { notBegun, status, headers: given, body: bytes } = await dialled.next()
    if (notBegun) throw new Error('a call stream does not carry this call')
    return { status: status || 200, headers: given, trailers: {}, body: Buffer.from(bytes) }
  } finally {
    dialled.close()
  }
}

/** The ways to the port, by name. */
export const ways = {
  'Connect over HTTP/1.1': { send: overHttp1, type: 'application/proto', isEnveloped: false },
  'Connect over HTTP/2': { send: overHttp2, type: 'application/proto', isEnveloped: false },
  'Connect in JSON': { send: overHttp1, type: 'application/json', isEnveloped: false },
  'gRPC over HTTP/2': { send: overHttp2, type: 'application/grpc+proto', isEnveloped: true },
  'gRPC in JSON': { send: overHttp2, type: 'application/grpc+json', isEnveloped: true },
  'gRPC over HTTP/1.1': { send: overHttp1, type: 'application/grpc', isEnveloped: true },
  'gRPC-Web over HTTP/1.1': { send: overHttp1, type: 'application/grpc-web', isEnveloped: true },
  'gRPC-Web over HTTP/2': {
    send: overHttp2,
    type: 'application/grpc-web+proto',
    isEnveloped: true,
  },
  'gRPC-Web in JSON': { send: overHttp1, type: 'application/grpc-web+json', isEnveloped: true },
  'a stream of Connect': { send: overHttp2, type: 'application/connect+proto', isEnveloped: true },
  'a call stream': { send: overCallStream, type: 'application/proto', isEnveloped: false },
} as const

/** One of them. */
export type Way = keyof typeof ways

/**
 * Sends a message over one of the ways and reads the error that comes back. Rejects when a call stream does not carry
 * the call.
 */
export async function errorOf(way: Way, call: RawCall): Promise<RawError> {
  const { send, type, isEnveloped } = ways[way]
  const { body = new Uint8Array(0) } = call
  const headers = {
    'content-type': type,
    ...(type.startsWith('application/grpc') ? { te: 'trailers' } : {}),
    ...call.headers,
  }
  return read(await send({ ...call, headers, body: isEnveloped ? enveloped(body) : body }))
}

/**
 * Sends a body as it is, with no headers but those given, and reads the error that comes back. Rejects with the error of
 * the connection when nothing comes back.
 */
export async function errorOfBytes(
  version: '1.1' | '2',
  call: RawCall,
  method = 'POST',
): Promise<RawError> {
  return read(await (version === '2' ? overHttp2(call, method) : overHttp1(call, method)))
}

function read({ status, headers, trailers, body }: Response): RawError {
  const error = errorIn(status, headers, trailers, body)
  if (error === undefined) return { code: 'ok', status, headers }
  const [info] = error.findDetails(ErrorInfoSchema)
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay
  return {
    code: Code[error.code] ?? '',
    reason: info?.reason,
    domain: info?.domain,
    message: error.rawMessage,
    ...(delay && { retryS: Number(delay.seconds) }),
    status,
    headers,
  }
}

function errorIn(
  status: number,
  headers: http.IncomingHttpHeaders,
  trailers: http.IncomingHttpHeaders,
  body: Buffer,
): ConnectError | undefined {
  const type = headers['content-type'] ?? ''
  if (type.startsWith('application/grpc')) {
    const last = endOf(body, trailerFlag)
    const ends = [webHeaders(headers), webHeaders(trailers), ...(last ? [trailerParse(last)] : [])]
    return ends.map((end) => findTrailerError(end)).find((error) => error !== undefined)
  }
  if (type.startsWith('application/connect+')) {
    const last = endOf(body, 2)
    return last === undefined ? undefined : endStreamFromJson(last).error
  }
  const unknown = new ConnectError(`HTTP ${status} ${body.toString()}`, Code.Unknown)
  return status === 200 ? undefined : errorFromJsonBytes(body, undefined, unknown)
}

/** The content of the envelope with a flag, which is the last one. */
function endOf(body: Buffer, flag: number): Buffer | undefined {
  for (let at = 0; at < body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if ((body.readUInt8(at) & flag) === flag) return body.subarray(at + 5)
  }
  return undefined
}

function webHeaders(given: http.IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given)) {
    if (!name.startsWith(':')) headers.set(name, String(value))
  }
  return headers
}
