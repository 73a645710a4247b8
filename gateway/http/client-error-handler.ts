// Answers requests that never reach the router (malformed ones, time-outs, `Expect`, `CONNECT`), in the JSON of the API.
import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { EdgeSettings } from '../options.ts'
import { lateRequest, refusal } from './envelope.ts'
import {
  pathOf,
  type Refusal,
  type RefusedRequest,
  type RouteTable,
  refusalFor,
} from './failures.ts'
import type { ClientIpReader } from './headers.ts'
import type { InFlight } from './in-flight.ts'
import type { RequestLog } from './request-start.ts'
import { type EdgeRequest, startEdgeRequest } from './route.ts'
import { maxHeaderBytes } from './server.ts'

export type ClientErrorOptions = {
  table: RouteTable
  settings: EdgeSettings
  requests: RequestLog
  metrics: GatewayMetrics
  readClientIp: ClientIpReader
  inFlight: InFlight
}

const malformed: Reason = 'INVALID_HEADER'
const malformedMessage = 'The request is not well-formed HTTP/1.1.'

/**
 * Answers a connection from which no further request can be read. The earlier requests of the connection are answered first:
 * they may have moved money, and a client matches answers to requests by their order.
 */
export function clientErrorHandler(options: ClientErrorOptions) {
  return (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy(error)
      return
    }
    options.inFlight.whenAnswered(socket, (wasPaused) => {
      if (!socket.writable || hasAnswered(socket)) {
        socket.destroy(error)
        return
      }
      // The gateway itself had paused the connection: the client was not slow.
      if (wasPaused && error.code === requestTimeout) {
        socket.end()
        linger(socket)
        return
      }
      refuseOn(socket, refusedOn(socket, error, options), failureOf(error, options.table), options)
    })
  }
}

/**
 * Makes the function that refuses a request before all of its body has arrived, after the answers to earlier requests, and
 * closes the connection. When `isWanted` is false by then, it only closes the connection.
 */
export function incompleteRefuser(options: ClientErrorOptions) {
  return ({ raw }: FastifyRequest, failure: Failure, isWanted: () => boolean): void => {
    const { socket } = raw
    options.inFlight.whenAnswered(socket, () => {
      if (!isWanted() || !socket.writable || hasAnswered(socket)) {
        socket.destroy()
        return
      }
      refuseOn(socket, refusedRequest(raw, options.readClientIp), failure, options)
    })
  }
}

function refuseOn(
  socket: Socket,
  refused: RefusedRequest,
  failure: Failure,
  options: ClientErrorOptions,
): void {
  const found = refusalFor(failure, refused, options.table, options.settings)
  end(socket, found)
  note(options, refused.edge, found.code)
}

const requestTimeout = 'ERR_HTTP_REQUEST_TIMEOUT'

/** `rawPacket` is the buffer that the parser was reading, as far as `bytesParsed`. */
type ConnectionError = Error & { code?: string; rawPacket?: unknown; bytesParsed?: number }

/** The response that the connection waits for: Node has read the headers of its request, and perhaps a part of the body. */
function pendingOn(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse }
  return response
}

function hasAnswered(socket: Socket): boolean {
  return pendingOn(socket)?.headersSent === true
}

/** The request that is refused: the one whose headers were read, else one of which only the connection is known. */
function refusedOn(
  socket: Socket,
  error: ConnectionError,
  { readClientIp }: ClientErrorOptions,
): RefusedRequest {
  const raw = pendingOn(socket)?.req
  if (raw !== undefined) return refusedRequest(raw, readClientIp)
  const edge = startEdgeRequest({ socket, headers: {} }, readClientIp)
  return { edge, query: {}, method: '', path: pathOf(unknownMethodTarget(error) ?? '') }
}

// The parser knows the registered methods alone, and takes any other one for a broken request.
const requestLine = /^[\w!#$%&'*+.^`|~-]+ (\S+) HTTP\/1\.[01]\r\n/

/** The target of a request that is well formed except for an unknown method. Undefined unless it is the first in the packet. */
function unknownMethodTarget(error: ConnectionError): string | undefined {
  const { code, rawPacket, bytesParsed = 0 } = error
  if (code !== 'HPE_INVALID_METHOD' || !Buffer.isBuffer(rawPacket)) return undefined
  const line = rawPacket.toString('latin1', 0, maxHeaderBytes)
  return line.indexOf(' ') < bytesParsed ? undefined : requestLine.exec(line)?.[1]
}

function failureOf(error: ConnectionError, table: RouteTable): Failure {
  const { code = '' } = error
  if (code === requestTimeout) return lateRequest()
  const target = unknownMethodTarget(error)
  const failure =
    target === undefined ? parserRefusals[code] : startRefusal(table, '', pathOf(target))
  return failure ?? new Failure(malformed, malformedMessage)
}

const parserRefusals: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: refusal('HEADERS_TOO_LARGE'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: refusal('PAYLOAD_TOO_LARGE'),
}

/** Adds the answers to requests that Node would answer itself, or drop. */
export function handleClientErrors(server: Server, options: ClientErrorOptions): void {
  const { table, inFlight } = options
  const refuseExpectation: RequestListener = (request, response) => {
    const path = pathOf(request.url ?? '')
    const failure = startRefusal(table, request.method ?? '', path) ?? refusal('EXPECTATION_FAILED')
    const refused = refuse(request, failure, path, options)
    response.writeHead(refused.code, closingHeaders(refused)).end(refused.body)
    inFlight.answered(request)
  }
  server.on('checkExpectation', inFlight.listener(refuseExpectation))
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    // Node has taken its own listeners off this socket: without one, a reset by the client would end the process.
    socket.on('error', () => socket.destroy())
    inFlight.whenAnswered(socket, () => {
      end(socket, refuse(request, refusal('ENDPOINT_NOT_FOUND'), '', options))
    })
  })
}

function refuse(
  raw: IncomingMessage,
  failure: Failure,
  path: string,
  options: ClientErrorOptions,
): Refusal {
  const refused = { ...refusedRequest(raw, options.readClientIp), path }
  const found = refusalFor(failure, refused, options.table, options.settings)
  note(options, refused.edge, found.code)
  return found
}

function refusedRequest(raw: IncomingMessage, readClientIp: ClientIpReader): RefusedRequest {
  const { method = '', url = '' } = raw
  const edge = startEdgeRequest(raw, readClientIp)
  return { edge, query: queryOf(raw), method, path: pathOf(url) }
}

/** Step 1, the check of path and method, for requests that the router does not see. */
function startRefusal(table: RouteTable, method: string, path: string): Failure | undefined {
  const allow = table.allowed(path)
  if (allow === undefined) return refusal('ENDPOINT_NOT_FOUND')
  return allow.split(', ').includes(method) ? undefined : refusal('METHOD_NOT_ALLOWED', { allow })
}

function queryOf({ url = '' }: IncomingMessage): Record<string, string> {
  const start = url.indexOf('?')
  return Object.fromEntries(new URLSearchParams(start < 0 ? '' : url.slice(start)))
}

function note(
  { requests, metrics }: ClientErrorOptions,
  { requestId, reason }: EdgeRequest,
  status: number,
): void {
  const kind = reason ?? String(status)
  metrics.answered('below router', 'none', status, 0)
  metrics.refusedUnknown(kind)
  requests.sample(kind, { requestId, status, reason }, 'request refused')
}

// After the response, the connection of a client that does not close it is destroyed after this time.
const lingerMs = 1_000

/** Writes a whole response on a bare connection and closes it, also when the other side keeps its end open. */
function end(socket: Socket, refused: Refusal): void {
  const lines = Object.entries(closingHeaders(refused)).map(([name, value]) => `${name}: ${value}`)
  const statusLine = `HTTP/1.1 ${refused.code} ${STATUS_CODES[refused.code] ?? ''}`
  socket.end(`${[statusLine, ...lines].join('\r\n')}\r\n\r\n${refused.body}`)
  linger(socket)
}

function linger(socket: Socket): void {
  setTimeout(() => socket.destroy(), lingerMs).unref()
}

function closingHeaders({ headers, body }: Refusal): Record<string, string> {
  const length = String(Buffer.byteLength(body))
  return { ...headers, 'content-length': length, connection: 'close' }
}
