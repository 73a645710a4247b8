// Step 2 of the edge: reads and parses request bodies.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayOptions } from '../../options.ts'
import { type ClientErrorOptions, incompleteRefuser } from '../client-error-handler.ts'
import { publicFailure, refusal } from '../envelope.ts'
import { headerCheck } from '../headers.ts'
import type { RouteRow } from '../route.ts'
import { requestTimeoutMs } from '../server.ts'
import { bodyLimits, bodyReader } from './body-reader.ts'
import { readJson } from './json-body.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    row?: RouteRow
  }
}

/** Registers the parsers. A body of another type is read up to the limit too, because its size is refused before its type. */
export function parseBodies(
  app: FastifyInstance,
  options: GatewayOptions,
  belowRouter: ClientErrorOptions,
): void {
  const readBody = readerOf(options, belowRouter)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, raw, done) => {
    readBody(request, raw, (failed, bytes) => {
      try {
        if (failed !== null) throw failed
        const { 'content-type': type, 'content-encoding': encoding } = request.headers
        request.edge.body = readJson(bytes ?? Buffer.alloc(0), type, encoding)
        done(null, undefined)
      } catch (error) {
        done(publicFailure(error), undefined)
      }
    })
  })
  app.addContentTypeParser('*', (request, raw, done) => {
    readBody(request, raw, (failed) => {
      done(failed === null ? refusal('UNSUPPORTED_MEDIA_TYPE') : publicFailure(failed), undefined)
    })
  })
}

/** Makes the reader of bodies. It runs steps 3 (headers) and 4 (subscription key) early for a body that arrives slowly. */
function readerOf(
  { settings, services: { access } }: GatewayOptions,
  belowRouter: ClientErrorOptions,
) {
  const limits = settings.bodyLimits ?? bodyLimits
  const checkHeaders = headerCheck(settings.requestDateToleranceS)
  const keyOf = ({ headers, routeOptions }: FastifyRequest): string | undefined => {
    try {
      return checkHeaders(headers, routeOptions.config.row ?? {}).subscriptionKey
    } catch {
      return undefined
    }
  }
  return bodyReader({
    limits: {
      ...limits,
      unauthenticatedMs: Math.min(
        limits.unauthenticatedMs,
        settings.requestTimeoutMs ?? requestTimeoutMs,
      ),
    },
    isAuthenticated(request) {
      const key = keyOf(request)
      return access.acceptedProject(key) !== undefined
    },
    async authenticate(request) {
      const key = keyOf(request)
      if (key === undefined) return false
      try {
        await access.openProject(key)
        return true
      } catch {
        return false
      }
    },
    refuse: incompleteRefuser(belowRouter),
  })
}
