// Serves RPC on one port: Connect and gRPC-Web over HTTP/1.1 through Fastify, those and gRPC over HTTP/2.

import type { AddressInfo } from 'node:net'
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect'
import type { UniversalHandler } from '@connectrpc/connect/protocol'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { ServerReflection } from '#gen/grpc/reflection/v1/reflection_pb.js'
import { ServerReflection as ServerReflectionAlpha } from '#gen/grpc/reflection/v1alpha/reflection_pb.js'
import { Health } from '#gen/health/v1/health_pb.js'
import { CallService } from '#gen/payweave/rpc/v1/call_pb.js'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Identity } from '../auth/identity.ts'
import { callStreamRoutes } from '../call-stream/routes.ts'
import { type CallStreams, createCallStreams } from '../call-stream/server.ts'
import { Connections, maxMessageBytes, maxStreamMs, maxTimeoutMs } from '../limits/limits.ts'
import { createBodyDropper, resetUnread } from '../limits/unread.ts'
import { withOldPaths } from '../old-names.ts'
import { createAdmission } from './admission.ts'
import { limited } from './connect-handlers.ts'
import { createEdge, type Edge } from './edge.ts'
import { callInterceptor, registering, type UnaryMethods } from './handlers.ts'
import { healthRoutes, type Ready } from './health.ts'
import { createHttp1App } from './http1.ts'
import { type Http2Handler, type PortGuard, raiseStreams, sharePort } from './port.ts'
import { reflectionRoutes } from './reflection.ts'
import { type CallLog, createCallLog, type RpcMetrics } from './served-call.ts'
import { unaryHandler } from './unary-handler.ts'

const defaultStalledMs = maxTimeoutMs + 5_000
const defaultGraceMs = 10_000
const closeMarginMs = 1_000

/** What a process gives to serve its RPCs. */
export interface ServeRpcOptions {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Registers the handlers; called once. */
  routes: (router: ConnectRouter) => void
  identity: Identity
  log: Logger
  ready?: Ready
  /** States that health shows by these names and that do not count for the server. */
  healthApart?: Readonly<Record<string, Ready>>
  metrics?: RpcMetrics
  /** Whether call streams are served; true by default. */
  callStreams?: boolean
  /** Milliseconds for which a server that closes still accepts calls, and has each caller go to another instance. */
  drainMs?: number
  /** Milliseconds that calls in flight have to end after that. */
  graceMs?: number
  /** Milliseconds without a byte read or written after which the connection or stream of a call is closed. */
  stalledMs?: number
}

/** A server that listens. */
export interface RpcServer {
  port: number
  /**
   * Sends callers to other instances, stops accepting calls, lets those in flight end, then cuts. Safe to call again.
   */
  close(): Promise<void>
  /** Maximum milliseconds that closing takes. */
  closeWithinMs: number
}

/**
 * Listens, with health and reflection beside the given services. Rejects with the system's error, such as EADDRINUSE,
 * when the port cannot be opened, and with what `routes` throws, such as for a contract's rule that does not compile.
 */
export async function serveRpc(options: ServeRpcOptions): Promise<RpcServer> {
  const { host, port, identity, log, metrics } = options
  const { drainMs = 0, graceMs = defaultGraceMs, stalledMs = defaultStalledMs } = options
  const stopping = new AbortController()
  const callLog = createCallLog(log, metrics)
  const unaryMethods: UnaryMethods = new Map()
  const router = createRouter(options, callLog, stopping.signal, unaryMethods)
  const dropper = createBodyDropper()
  const takeUnary = unaryHandler(unaryMethods, callLog, dropper)
  const handlers = withOldPaths(router.handlers.map((handler) => limited(handler, callLog)))
  const admit = createAdmission(handlers, identity)
  const connections = new Connections()
  const isGuarded = identity.tls !== undefined
  const edge = createEdge(admit, callLog, connections, dropper, isGuarded)
  const streams = createCallStreams({
    methods: unaryMethods,
    admit,
    isGuarded,
    log: callLog,
    maxBytes: maxMessageBytes,
    stalledMs,
  })

  const app = await createHttp1App({
    handlers,
    edge,
    dropper,
    takeUnary,
    stopping: stopping.signal,
    stalledMs,
  })
  await app.ready()

  const http2 = http2Handler(handlers, edge, streams, stalledMs)
  const shared = sharePort(app.server, http2, guardOf(options))
  await app.listen({ host, port })
  let closing: Promise<void> | undefined
  return {
    port: (app.server.address() as AddressInfo).port,
    close() {
      stopping.abort()
      streams.leave()
      closing ??= shared.leave(drainMs).then(() => {
        streams.stop()
        return shared.drain(app.close(), graceMs)
      })
      return closing
    },
    closeWithinMs: drainMs + graceMs + closeMarginMs,
  }
}

function guardOf({ identity: { tls }, log }: ServeRpcOptions): PortGuard | undefined {
  if (tls === undefined) return undefined
  return {
    tls,
    onRefused: (error) => log.info({ err: error }, 'handshake refused'),
  }
}

function createRouter(
  options: ServeRpcOptions,
  callLog: CallLog,
  stopping: AbortSignal,
  unaryMethods: UnaryMethods,
): ConnectRouter {
  const { routes, ready = () => true, healthApart: apart } = options
  const router = createConnectRouter({
    acceptCompression: [],
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    // Admission has cut the time-out of each call to what its method allows.
    maxTimeoutMs: maxStreamMs,
    interceptors: [callInterceptor(callLog)],
  })
  routes(registering(router, unaryMethods))
  const services = [...new Set(router.handlers.map(({ service }) => service))]
  const sources = {
    services: services.map((service) => service.typeName),
    ready: () => !stopping.aborted && ready(),
    apart,
  }
  // A watch ends when the server does.
  healthRoutes(registering(router, unaryMethods, true), sources, {
    shutdownSignal: stopping,
  })
  const hasStreams = options.callStreams !== false
  if (hasStreams) callStreamRoutes(router)
  reflectionRoutes(registering(router, unaryMethods), [
    ...services,
    ...(hasStreams ? [CallService] : []),
    Health,
    ServerReflection,
    ServerReflectionAlpha,
  ])
  return router
}

function http2Handler(
  handlers: readonly UniversalHandler[],
  edge: Edge,
  streams: CallStreams,
  stalledMs: number,
): Http2Handler {
  const handle = connectNodeAdapter({
    routes: (adapter) => void adapter.handlers.push(...handlers),
    acceptCompression: [],
    contextValues: (request) => edge.contextValues(request),
  })
  return (request, response) => {
    const { stream } = request
    const call = edge.admit(request, response)
    if (call === undefined) return
    call.stream = stream
    stream.once('close', () => call.lease?.release())
    // After the trailers: a stream that is reset before would lose them.
    stream.once('wantTrailers', () => setImmediate(resetUnread, stream))
    if (call.caller !== undefined && call.connection?.recordCredential() === true) {
      raiseStreams(stream.session)
    }
    // Ends a call whose body never arrives, and a stream whose caller does not read.
    if (!call.isSilent) stream.setTimeout(stalledMs, () => stream.destroy())
    if (!streams.serve(call, request, response)) handle(request, response)
  }
}
