// Calls other processes: Connect over HTTP/1.1 and undici, with our identity and context. Only read-only calls may be
// sent twice.

import { Readable } from 'node:stream'
import type { DescService } from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt'
import {
  type Client,
  Code,
  ConnectError,
  type ContextValues,
  createClient,
  createContextKey,
  createContextValues,
  type Transport,
} from '@connectrpc/connect'
import type { UniversalClientRequest, UniversalClientResponse } from '@connectrpc/connect/protocol'
import { createTransport } from '@connectrpc/connect/protocol-connect'
import type { Dispatcher } from 'undici'
import type { Failure } from '#core/errors/errors.ts'
import { endRpcClientSpan, rpcClientSpan, type Span } from '#platform/telemetry/spans.ts'
import type { Identity } from '../auth/identity.ts'
import { connectByTls } from '../auth/tls.ts'
import { requestIdHeader } from '../call-stream/messages.ts'
import { currentContext } from '../context.ts'
import { statusName, toFailure } from '../errors.ts'
import { oldName } from '../old-names.ts'
import { createDispatcher, hedgingOf } from './dispatcher.ts'
import { callUnary, notSent, unreachable, webHeaders } from './exchange.ts'
import type { HedgingDispatcher } from './hedging.ts'

/** How long a call may take, unless its client or its caller says otherwise. */
export const defaultTimeoutMs = 10_000
const maxBytes = 4 * 1024 * 1024

/** Connections to one service, over all of its addresses; clients of several RPC services there may share them. */
export interface RpcPool {
  readonly undici: Dispatcher
  /** Present when read-only calls may be sent to a second replica. */
  readonly hedging?: HedgingDispatcher | undefined
  /** Resolves after the calls in flight; later calls fail. */
  close(): Promise<void>
}

/** How to connect. The identity's certificate is shown to an audience, over https. */
export interface RpcPoolOptions {
  lasting?: boolean
  audience?: string
  identity?: Pick<Identity, 'tls'>
}

/**
 * Makes a pool; opens no connection before the first call. With `lasting`, responses may be endless streams, and no
 * call is hedged. Throws a TypeError for a bad URL.
 */
export function createRpcPool(url: string, options: RpcPoolOptions = {}): RpcPool {
  const { lasting = false, audience, identity } = options
  const isSecured = url.startsWith('https:') && audience !== undefined
  const undici = createDispatcher(url, {
    // Without a limit on the whole stream; each of its messages is limited by the transport.
    maxResponseSize: lasting ? -1 : maxBytes,
    ...(isSecured && identity?.tls && { connectBy: connectByTls(identity.tls, audience) }),
  })
  const hedging = lasting ? undefined : hedgingOf(undici)
  return { undici, hedging, close: () => undici.close() }
}

/** Whom a client calls, and how. */
export interface RpcClientOptions {
  /** One origin, or several of one service with commas between. */
  url: string
  /** Process name of the other side, which its tokens are for. */
  audience: string
  identity: Pick<Identity, 'authorization' | 'tls'>
  /** Maximum wait for one call, 10 s by default; a shorter deadline of the call being answered wins. */
  timeoutMs?: number
  pool?: RpcPool
}

/**
 * Makes a client. Its calls forward the request id, the trace, the remaining time and the abort of the call being
 * answered, and reject with a Failure: the callee's reason; TIMEOUT when no response came in time or the caller
 * aborted; SERVICE_UNAVAILABLE when the callee cannot be reached or is overloaded; INTERNAL_ERROR for any other error.
 * `wasNotSent` says whether the callee cannot have seen the call. Throws a TypeError for a bad URL.
 */
export function createRpcClient<S extends DescService>(
  service: S,
  options: RpcClientOptions,
): Client<S> {
  const pool = options.pool ?? createRpcPool(options.url, options)
  return createClient(service, transportOf(service, pool, options))
}

/** A process that this one calls, whose clients share a pool. */
export interface Peer {
  /** Its name, which tokens are for. */
  name: string
  /** A client of one of its services, as `createRpcClient` makes it. */
  of<S extends DescService>(service: S, timeoutMs?: number): Client<S>
  /** Resolves after the calls in flight; later calls fail. */
  close(): Promise<void>
}

/** Makes the pool of a peer; opens no connection before the first call. Throws a TypeError for a bad URL. */
export function openPeer(
  name: string,
  url: string,
  identity: Pick<Identity, 'authorization' | 'tls'>,
): Peer {
  const pool = createRpcPool(url, { audience: name, identity })
  return {
    name,
    of: (service, timeoutMs = defaultTimeoutMs) =>
      createRpcClient(service, { url, audience: name, identity, pool, timeoutMs }),
    close: () => pool.close(),
  }
}

const projectKey = createContextKey<string | undefined>(undefined, { description: 'project' })

/** Options of a call that is made for one project only: the callee refuses any other with PERMISSION_DENIED. */
export function withProject(projectId: string): { contextValues: ContextValues } {
  return { contextValues: createContextValues().set(projectKey, projectId) }
}

/** The URL that requests carry; the pool chooses their address. */
function firstOf(urls: string): URL {
  return new URL(urls.split(',')[0] ?? '')
}

/** Connect's own transport, over undici; streams go through it. */
function connectTransport({ origin }: URL, basePath: string, pool: RpcPool): Transport {
  const baseUrl = `${origin}${basePath}`
  return createTransport({
    baseUrl,
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: maxBytes,
    writeMaxBytes: maxBytes,
    httpClient(request) {
      const path = `${basePath}${oldName(request.url.slice(baseUrl.length))}`
      return send(pool.undici, path, request)
    },
  })
}

async function send(
  pool: Dispatcher,
  path: string,
  { header, body, signal }: UniversalClientRequest,
): Promise<UniversalClientResponse> {
  try {
    const response = await pool.request({
      path,
      method: 'POST',
      headers: Object.fromEntries(header),
      // Streamed, so that an upload is never in memory as a whole.
      body: body === undefined ? null : Readable.from(body, { objectMode: false }),
      signal: signal ?? null,
    })
    return {
      status: response.statusCode,
      header: webHeaders(response.headers),
      body: readBody(response.body, signal),
      trailer: new Headers(),
    }
  } catch (error) {
    throw networkError(error, signal)
  }
}

async function* readBody(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
  try {
    yield* body
  } catch (error) {
    throw networkError(error, signal)
  }
}

// After an abort the error is not changed, because Connect reads the reason from the signal.
function networkError(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted === true ? error : unreachable(error)
}

interface CallSettings {
  signal: AbortSignal | undefined
  timeoutMs: number
  header: Record<string, string>
}

/**
 * Adds identity, context and span to calls, and turns errors into Failures, which an interceptor of Connect cannot
 * throw.
 */
function transportOf(service: DescService, pool: RpcPool, options: RpcClientOptions): Transport {
  const url = firstOf(options.url)
  const basePath = url.pathname.replace(/\/$/, '')
  const connect = connectTransport(url, basePath, pool)
  const below = `${basePath}/${oldName(service.typeName)}`
  const paths = new Map(service.methods.map(({ name }) => [name, `${below}/${name}`]))
  return {
    async unary(method, signal, timeoutMs, header, message, values) {
      const span = rpcClientSpan(method, url, currentContext()?.traceparent)
      try {
        const call = callSettings(options, signal, timeoutMs, header, values, span)
        const isReadOnly = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
        const hedging = isReadOnly ? pool.hedging : undefined
        const path = paths.get(method.name) ?? ''
        const request = { method, path, message, maxBytes, hedging, ...call }
        const response = await callUnary(pool.undici, request)
        endRpcClientSpan(span, 'ok')
        return response
      } catch (error) {
        throw toCallFailure(error, span)
      }
    },
    async stream(method, signal, timeoutMs, header, input, values) {
      const span = rpcClientSpan(method, url, currentContext()?.traceparent)
      try {
        const call = callSettings(options, signal, timeoutMs, header, values, span)
        const response = await connect.stream(
          method,
          call.signal,
          call.timeoutMs,
          new Headers(call.header),
          input,
          values,
        )
        return { ...response, message: mapErrors(response.message, span) }
      } catch (error) {
        throw toCallFailure(error, span)
      }
    },
  }
}

async function* mapErrors<T>(source: AsyncIterable<T>, span: Span | undefined): AsyncGenerator<T> {
  try {
    yield* source
  } catch (error) {
    throw toCallFailure(error, span)
  } finally {
    endRpcClientSpan(span, 'ok')
  }
}

/** The Failure to throw. Ends the span, unless it has ended. */
function toCallFailure(thrown: unknown, span: Span | undefined): Failure {
  const error = ConnectError.from(thrown)
  endRpcClientSpan(span, statusName(error.code))
  return toFailure(error)
}

function callSettings(
  { identity, audience, timeoutMs: maxMs = defaultTimeoutMs }: RpcClientOptions,
  signal: AbortSignal | undefined,
  askedMs: number | undefined,
  given: ConstructorParameters<typeof Headers>[0],
  values: ContextValues | undefined,
  span: Span | undefined,
): CallSettings {
  const header = given === undefined ? {} : Object.fromEntries(new Headers(given))
  const context = currentContext()
  let timeoutMs = askedMs ?? maxMs
  if (context?.deadline !== undefined) {
    timeoutMs = Math.min(timeoutMs, context.deadline - Date.now())
    if (timeoutMs <= 0) throw notSent('no time is left for the call', Code.DeadlineExceeded)
  }
  const acting = context?.acting
  const projectId = values?.get(projectKey) ?? acting?.projectId
  header['authorization'] = identity.authorization(audience, projectId, timeoutMs, acting?.person)
  if (span !== undefined) header['traceparent'] = span.traceparent
  if (context === undefined) return { signal, timeoutMs, header }
  header[requestIdHeader] = context.requestId
  header['traceparent'] = span?.traceparent ?? context.traceparent
  return { signal: anySignal(signal, context.signal), timeoutMs, header }
}

function anySignal(own: AbortSignal | undefined, outer: AbortSignal | undefined) {
  if (own === undefined) return outer
  return outer === undefined ? own : AbortSignal.any([own, outer])
}
