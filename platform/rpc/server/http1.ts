// Calls over HTTP/1.1, through Fastify: unary ones of Connect straight to their handler, the others by Connect.

import type { UniversalHandler } from '@connectrpc/connect/protocol'
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify'
import { type FastifyInstance, fastify } from 'fastify'
import type { BodyDropper } from '../limits/unread.ts'
import type { Edge } from './edge.ts'
import type { TakeUnary } from './unary-handler.ts'

const readTimeoutMs = 30_000
const headersTimeoutMs = 10_000

/** Dependencies of the application. */
export interface Http1Options {
  handlers: readonly UniversalHandler[]
  edge: Edge
  dropper: BodyDropper
  takeUnary: TakeUnary
  /** Aborted when the server stops. */
  stopping: AbortSignal
  /** Milliseconds without a byte read or written after which the connection of a call is closed. */
  stalledMs: number
}

/** Makes the application, which answers each path that is no method as an unknown one. It does not listen yet. Rejects with Fastify's error. */
export async function createHttp1App(options: Http1Options): Promise<FastifyInstance> {
  const { handlers, edge, dropper, takeUnary, stopping, stalledMs } = options
  const app = fastify({
    forceCloseConnections: 'idle',
    requestTimeout: readTimeoutMs,
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: 1_000 },
  })
  await app.register(async (scope) => {
    scope.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      // Adds `connection: close`, so that the caller goes to another instance.
      if (stopping.aborted) reply.raw.shouldKeepAlive = false
      const call = edge.admit(raw, reply.raw)
      if (call !== undefined && !call.isSilent) {
        reply.raw.setTimeout(stalledMs, () => raw.socket.destroy())
      }
      if (call !== undefined && !takeUnary(raw, reply.raw, call, () => edge.contextValues(raw))) {
        reply.raw.once('finish', () => dropper.drop(raw, call))
        reply.raw.once('close', () => call.lease?.release())
        done()
      } else reply.hijack()
    })
    // Keeps Fastify from reading bodies: Connect reads them within the limits of the call, or refuses their type.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_, __, parsed) => parsed(null))
    await scope.register(fastifyConnectPlugin, {
      routes: (plugin) => void plugin.handlers.push(...handlers),
      acceptCompression: [],
      contextValues: (request) => edge.contextValues(request.raw),
    })
  })
  app.setNotFoundHandler(() => undefined)
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    reply.hijack()
    // Refuses a path without a method here, because Fastify's handlers run only after it has read the body.
    edge.admit(request.raw, reply.raw)
  })
  return app
}
