// The simulator's port for the Internet: HTTP/1.1 with limits on all input. No RPC is served here.
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { Failure, reasons } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Admission, type AdmissionLimits, createAdmission } from './admission.ts'

/** Bounds of the port. */
export type PublicPortLimits = AdmissionLimits & {
  maxConnections: number
  maxHeaderBytes: number
  headersTimeoutMs: number
  /** Maximum milliseconds to read a request with its body. */
  requestTimeoutMs: number
  /** Milliseconds without a byte after which a connection is closed while a request is read or answered. */
  stalledMs: number
  /** Milliseconds that responses have to end when the process stops. */
  stopGraceMs: number
}

/** The bounds of a process: bodies take 16 MiB at most, idle connections about 20 KiB each. */
export const publicPortLimits: PublicPortLimits = {
  maxRequests: 256,
  maxBodiesBytes: 16 * 1024 * 1024,
  maxBodyBytes: 256 * 1024,
  maxPipelined: 8,
  maxConnections: 2_048,
  maxHeaderBytes: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  stalledMs: 30_000,
  stopGraceMs: 1_000,
}

// Longer than the idle time of usual load balancers, so that they close first.
const keepAliveTimeoutMs = 72_000
const retryAfterS = '1'
const yearS = 31_536_000
// A tag of 128 characters, each of up to four bytes as `%xx`.
const maxParamLength = 128 * 12

export type PublicPortOptions = {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Where browsers reach the port. */
  publicUrl: string
  log: Logger
  /** Registers the routes. */
  routes: (app: FastifyInstance, admission: Admission) => Promise<void>
  /** Every path that the routes serve, with its methods. */
  paths: readonly PublicPath[]
  limits?: PublicPortLimits
}

/** A path and what may be done with it. */
export type PublicPath = { pattern: RegExp; allow: string }

/** The port that is open. */
export type PublicPort = {
  port: number
  /** Lets responses in flight end for a moment, then cuts the connections. */
  close(): Promise<void>
  /** Maximum milliseconds that closing takes. */
  closeWithinMs: number
}

/**
 * Opens the port. Errors of handlers become the HTTP status of their Failure, or 500. Rejects with the system's error,
 * such as EADDRINUSE, when the port cannot be opened.
 */
export async function openPublicPort(options: PublicPortOptions): Promise<PublicPort> {
  const { host, port, limits = publicPortLimits } = options
  const admission = createAdmission(limits)
  const app = createApp(limits)
  app.server.maxConnections = limits.maxConnections
  app.setErrorHandler(errorHandler(options.log))
  app.addHook('onRequest', (request, reply, done) => {
    const admitted = admission.admit(request.raw, reply.raw)
    if (admitted === 'cut') {
      reply.hijack()
      return
    }
    reply.headers(securityHeaders(options.publicUrl))
    if (admitted === 'busy') sendBusy(reply)
    else if (request.is404) refuseUnknown(request, reply, options.paths)
    else done()
  })
  await options.routes(app, admission)
  await app.listen({ host, port })
  return {
    port: (app.server.address() as AddressInfo).port,
    closeWithinMs: limits.stopGraceMs + 1_000,
    async close() {
      const cut = setTimeout(() => app.server.closeAllConnections(), limits.stopGraceMs)
      try {
        await app.close()
      } finally {
        clearTimeout(cut)
      }
    },
  }
}

/** Answers 503 with `Retry-After` and closes the connection. */
export function sendBusy(reply: FastifyReply): FastifyReply {
  const message = 'The simulator is busy; try again.'
  return reply
    .code(503)
    .headers({ 'retry-after': retryAfterS, connection: 'close' })
    .send({ message })
}

function createApp(limits: PublicPortLimits): FastifyInstance {
  return fastify({
    bodyLimit: limits.maxBodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    connectionTimeout: limits.stalledMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength },
    frameworkErrors: (_error, _request, reply: FastifyReply) =>
      void reply.code(400).send({ message: 'The path is malformed.' }),
    http: {
      maxHeaderSize: limits.maxHeaderBytes,
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(1_000, limits.requestTimeoutMs),
      // A small buffer, because each connection of a slow reader holds one.
      highWaterMark: 16 * 1024,
    },
  })
}

function securityHeaders(publicUrl: string): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    // URLs carry tags and tokens of card forms, which are secrets.
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    ...(publicUrl.startsWith('https:') && { 'strict-transport-security': `max-age=${yearS}` }),
  }
}

function refuseUnknown(
  { url }: FastifyRequest,
  reply: FastifyReply,
  paths: readonly PublicPath[],
): FastifyReply {
  const path = url.split('?', 1)[0] ?? ''
  const known = paths.find(({ pattern }) => pattern.test(path))
  if (known === undefined) return reply.code(404).send({ message: 'There is no such page.' })
  const message = `The method must be ${known.allow}.`
  return reply.code(405).header('allow', known.allow).send({ message })
}

function errorHandler(log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const status = statusOf(error)
    if (status >= 500) {
      const route = request.routeOptions.url
      log.error({ err: error, status, method: request.method, route }, 'request failed')
    }
    // Closed, because the rest of a body that is too large is still unread.
    if (status === 413) reply.header('connection', 'close')
    return reply.code(status).send({ message: messageOf(status) })
  }
}

function messageOf(status: number): string {
  if (status >= 500) return 'Something failed; try again.'
  return status === 413 ? 'The body is too large.' : 'The request is malformed.'
}

/** The HTTP status of a Failure or of Fastify's own error; any other error is a bug and becomes 500. */
function statusOf(error: unknown): number {
  if (error instanceof Failure) return reasons[error.reason].http
  const { statusCode } = error as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : 500
}
