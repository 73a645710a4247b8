// Collects the first facts of a request, and counts and logs the request when it has ended.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { endHttpServerSpan, httpServerSpan } from '#platform/telemetry/spans.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { EdgeSettings } from '../options.ts'
import { isPagePath } from '../pages/index.ts'
import type { ClientIpReader } from './client-ip.ts'
import { startEdgeRequest } from './edge-request.ts'
import { transportSecurity } from './failures.ts'
import type { Ending, InFlight } from './in-flight.ts'
import type { RequestLog } from './request-log.ts'
import { traceparentOf } from './route.ts'

/** Dependencies of the first step. */
export type RequestStartOptions = {
  settings: Pick<EdgeSettings, 'publicBaseUrl'>
  metrics: GatewayMetrics
  requests: RequestLog
  inFlight: InFlight
  readClientIp: ClientIpReader
}

const commonHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

/** Makes the first step of every request that reaches the router. */
export function requestStart(options: RequestStartOptions) {
  const { settings, inFlight, readClientIp } = options
  const common = { ...commonHeaders, ...transportSecurity(settings.publicBaseUrl) }
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const { method, raw, headers } = request
    const span = httpServerSpan(method, routeOf(request), traceparentOf(headers))
    const beginMs = performance.now()
    request.edge = startEdgeRequest(raw, readClientIp, span)
    inFlight.onEnd(raw, (ending) => {
      endHttpServerSpan(span, reply.statusCode)
      // A refused connection has been counted and logged already.
      if (ending !== 'refused') note(options, request, reply, ending, performance.now() - beginMs)
    })
    void reply.headers({ ...common, 'pw-request-id': request.edge.requestId })
  }
}

function note(
  { metrics, requests }: RequestStartOptions,
  request: FastifyRequest,
  { statusCode: status }: FastifyReply,
  ending: Ending,
  elapsedMs: number,
): void {
  const { method, edge } = request
  const { requestId, projectId, reason } = edge
  const route = routeOf(request)
  const durationMs = Math.round(elapsedMs * 10) / 10
  metrics.answered(route, method, status, durationMs)
  const outcome = ending === 'aborted' ? ending : undefined
  const line = { requestId, projectId, route, method, status, reason, outcome, durationMs }
  const isRefused = status >= 400
  if (projectId !== undefined || (!isRefused && isPagePath(route))) {
    requests.each(line, 'request')
    return
  }
  const kind = reason ?? (isRefused ? String(status) : route)
  if (isRefused) metrics.refusedUnknown(kind)
  requests.sample(kind, line, 'request')
}

/** A path of ours with its parameters unfilled, or a fixed word. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
}
