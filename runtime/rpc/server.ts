// Serves RPC on one port: Connect over HTTP/1.1 through Fastify, gRPC and Connect over HTTP/2; it must not know a domain.

import type { IncomingMessage } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { DescService } from '@bufbuild/protobuf'
import {
  Code,
  type ConnectRouter,
  createConnectRouter,
  createContextValues,
} from '@connectrpc/connect'
import type { UniversalHandler, UniversalServerRequest } from '@connectrpc/connect/protocol'
import { codeToHttpStatus } from '@connectrpc/connect/protocol-connect'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { type FastifyInstance, fastify } from 'fastify'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.js'
import { Health } from '#gen/health/v1/health_pb.js'
import type { Logger } from '#runtime/log.ts'
import { type Admit, createAdmission, maxTimeoutMs } from './admission.ts'
import { type CallLog, createCallLog, type RpcMetrics } from './call-log.ts'
import { healthRoutes, type Ready } from './health.ts'
import type { Identity } from './identity.ts'
import { callInterceptor } from './interceptor.ts'
import { type AdmitLinked, createLinkServer } from './link-server.ts'
import { peerRefusal } from './peer.ts'
import { type PortGuard, sharePort } from './port.ts'
import { reflectionRoutes } from './reflection.ts'
import { refuse } from './refusal.ts'
import { type ServedCall, servedCallKey } from './served-call.ts'
import { peerOf } from './tls.ts'
import { notingUnary, type UnaryMethods } from './unary-answer.ts'
import { unaryHandler } from './unary-handler.ts'

const maxMessageBytes = 4 * 1024 * 1024
const readTimeoutMs = 30_000
const headersTimeoutMs = 10_000
const defaultStalledMs = maxTimeoutMs + 5_000
const tooLarge = codeToHttpStatus(Code.ResourceExhausted)
const resetDelayMs = 100
const lingerMs = 2_000
const maxDroppedBytes = 16 * 1024 * 1024
const defaultGraceMs = 10_000
const closeMarginMs = 1_000

/** What a process gives to serve its RPCs. */
export interface ServeRpcOptions {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Registers the handlers; called once. */
  routes: (router: ConnectRouter) => void
  /** The services of `routes`: what health and reflection tell about. */
  services: readonly DescService[]
  identity: Identity
  log: Logger
  ready?: Ready
  metrics?: RpcMetrics
  /** HTTP/1.1 routes on the same port, open to anybody, in plain text even when RPCs are not. */
  http?: (app: FastifyInstance) => void | Promise<void>
  /** Whether calls are taken over links too; they are unless told otherwise. */
  links?: boolean
  /** How long a server that closes still takes calls, telling each caller to go elsewhere. */
  drainMs?: number
  /** How long calls in flight may take to end after that. */
  graceMs?: number
  /** How long a call may stand still, with nothing read or taken, before its connection or stream is cut. */
  stalledMs?: number
}

/** A server that listens. */
export interface RpcServer {
  port: number
  /** Sends callers elsewhere, stops taking calls, lets those in flight end, then cuts. Safe to call again. */
  close(): Promise<void>
  /** How long that may take. */
  closeWithinMs: number
}

/** Listens, with health and reflection beside the given services. */
export async function serveRpc(options: ServeRpcOptions): Promise<RpcServer> {
  const { host, port, identity, log, metrics } = options
  const { drainMs = 0, graceMs = defaultGraceMs, stalledMs = defaultStalledMs } = options
  const stopping = new AbortController()
  const callLog = createCallLog(log, metrics)
  const unaryMethods: UnaryMethods = new Map()
  const router = createRouter(options, callLog, stopping.signal, unaryMethods)
  const takeUnary = unaryHandler(unaryMethods, callLog, maxMessageBytes)
  const admit = createAdmission(router.handlers, identity)
  const edge = createEdge(admit, callLog, identity.tls !== undefined)
  const links = createLinkServer({
    methods: unaryMethods,
    admit: admitLinked(admit, identity.tls !== undefined),
    log: callLog,
    maxBytes: maxMessageBytes,
    stalledMs,
  })
  const link = options.links === false ? undefined : links.serve
  const handlers = router.handlers.map((handler) => recorded(handler, callLog))

  const app = createApp()
  await app.register(async (scope) => {
    scope.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      // So the answer says that this connection ends with it.
      if (stopping.signal.aborted) reply.raw.shouldKeepAlive = false
      const call = edge.admit(raw, reply.raw)
      if (call !== undefined && !isSilent(call)) {
        reply.raw.setTimeout(stalledMs, () => raw.socket.destroy())
      }
      if (call !== undefined && !takeUnary(raw, reply.raw, call, () => edge.contextValues(raw))) {
        reply.raw.once('finish', () => dropUnread(raw))
        done()
      } else reply.hijack()
    })
    await scope.register(fastifyConnectPlugin, {
      routes: (plugin) => void plugin.handlers.push(...handlers),
      acceptCompression: [],
      contextValues: (request) => edge.contextValues(request.raw),
    })
  })
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    // No route has this path, so this answers.
    edge.admit(request.raw, reply.raw)
  })
  await options.http?.(app)
  await app.ready()

  const http2 = http2Handler(handlers, edge, stalledMs)
  const shared = sharePort(app.server, { http2, link }, guardOf(options))
  await app.listen({ host, port })
  let closing: Promise<void> | undefined
  return {
    port: (app.server.address() as AddressInfo).port,
    close() {
      stopping.abort()
      links.leave()
      closing ??= shared.leave(drainMs).then(() => {
        links.stop()
        return shared.drain(app.close(), graceMs)
      })
      return closing
    },
    closeWithinMs: drainMs + graceMs + closeMarginMs,
  }
}

function guardOf({ identity: { tls }, http, log }: ServeRpcOptions): PortGuard | undefined {
  if (tls === undefined) return undefined
  return {
    tls,
    // A payer's browser has no certificate; RPCs ask for one all the same.
    plainToo: http !== undefined,
    onRefused: (error) => log.info({ err: error }, 'handshake refused'),
  }
}

function createRouter(
  options: ServeRpcOptions,
  callLog: CallLog,
  stopping: AbortSignal,
  unaryMethods: UnaryMethods,
): ConnectRouter {
  const { routes, services, ready = () => true } = options
  const router = createConnectRouter({
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    maxTimeoutMs,
    interceptors: [callInterceptor(callLog)],
  })
  routes(notingUnary(router, unaryMethods))
  const names = services.map((service) => service.typeName)
  // A watch may last longer than a call, and ends when the server does.
  healthRoutes(notingUnary(router, unaryMethods, true), names, () => !stopping.aborted && ready(), {
    maxTimeoutMs: Number.MAX_SAFE_INTEGER,
    shutdownSignal: stopping,
  })
  reflectionRoutes(router, [...services, Health, ServerReflection, ServerReflectionAlpha])
  return router
}

/** Writes down the calls that Connect answers by itself: a malformed body, one that is too large. */
function recorded(handler: UniversalHandler, callLog: CallLog): UniversalHandler {
  if (handler.method.methodKind !== 'unary') return handler
  const answer = async (request: UniversalServerRequest) => {
    const response = await handler(request)
    const call = request.contextValues?.get(servedCallKey)
    if (call === undefined || !callLog.refused(call, response)) return response
    // A body that is too large was not read to its end, so HTTP/1.1 cannot go on with this connection.
    if (response.status === tooLarge && request.httpVersion.startsWith('1')) {
      response.header?.set('connection', 'close')
    }
    return response
  }
  return Object.assign(answer, { ...handler })
}

function createApp() {
  return fastify({
    forceCloseConnections: 'idle',
    requestTimeout: readTimeoutMs,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: 1_000 },
  })
}

function admitLinked(admit: Admit, isGuarded: boolean): AdmitLinked {
  return (path, headers, socket) => {
    const { call, refusal } = admit(path, headers)
    return { call, refusal: refusal ?? (isGuarded ? peerRefusal(call, peerOf(socket)) : undefined) }
  }
}

type AnyRequest = IncomingMessage | Http2ServerRequest

/** What both protocols do with a request before Connect sees it. */
function createEdge(admit: Admit, callLog: CallLog, isGuarded: boolean) {
  const calls = new WeakMap<AnyRequest, ServedCall>()
  return {
    /** Undefined when the request was answered here. */
    admit(request: AnyRequest, response: Parameters<typeof refuse>[1]): ServedCall | undefined {
      const { call, refusal: unwelcome } = admit(request.url ?? '', request.headers)
      const refusal =
        unwelcome ?? (isGuarded ? peerRefusal(call, peerOf(request.socket)) : undefined)
      if (refusal !== undefined) {
        refuse(request, response, callLog.failed(call, refusal))
        return undefined
      }
      if (!hasAuthority(request)) {
        call.end()
        response.statusCode = 400
        response.end()
        return undefined
      }
      calls.set(request, call)
      return call
    },
    contextValues(request: AnyRequest) {
      return createContextValues().set(servedCallKey, calls.get(request))
    },
  }
}

// Connect builds a URL from it and throws, outside any handler, when that cannot be done.
function hasAuthority(request: AnyRequest): boolean {
  const authority = 'authority' in request ? request.authority : request.headers.host
  if (authority === undefined) return false
  if (authority !== goodAuthority && URL.canParse(`http://${authority}`)) goodAuthority = authority
  return authority === goodAuthority
}

// Callers name us alike, call after call.
let goodAuthority = ''

// A call may be answered before its body has ended; the stream would stay for as long as the peer likes. The
// trailers go out after `finish`, and a stream that is closed by then loses them.
function resetUnread(this: ServerHttp2Stream): void {
  if (this.readableEnded || this.destroyed) return
  setTimeout(() => this.destroy(), resetDelayMs).unref()
}

// The same over HTTP/1.1. A caller who still sends hears nothing of his answer once his connection is cut, so the rest
// is read and dropped, within bounds.
function dropUnread(request: IncomingMessage): void {
  if (request.complete) return
  let leftBytes = maxDroppedBytes
  const cut = setTimeout(() => request.destroy(), lingerMs).unref()
  request.on('data', (chunk: Buffer) => {
    leftBytes -= chunk.length
    if (leftBytes < 0) request.destroy()
  })
  request.once('close', () => clearTimeout(cut))
  request.once('end', () => clearTimeout(cut))
  request.once('error', () => undefined)
  // Whoever stopped reading half-way still stands in its way.
  request.removeAllListeners('readable')
  request.resume()
}

/** A watch says nothing for as long as nothing changes. */
function isSilent({ rpc }: ServedCall): boolean {
  return rpc.defaultTimeoutMs === undefined
}

function http2Handler(
  handlers: readonly UniversalHandler[],
  edge: ReturnType<typeof createEdge>,
  stalledMs: number,
) {
  const handle = connectNodeAdapter({
    routes: (adapter) => void adapter.handlers.push(...handlers),
    acceptCompression: [],
    contextValues: (request) => edge.contextValues(request),
  })
  return (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const { stream } = request
    stream.once('finish', resetUnread)
    const call = edge.admit(request, response)
    if (call === undefined) return
    call.stream = stream
    // Ends a call whose body never comes and a stream that nobody reads.
    if (!isSilent(call)) stream.setTimeout(stalledMs, () => stream.destroy())
    handle(request, response)
  }
}
