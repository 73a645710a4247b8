// Starts the state and span of a request, and counts and logs it when it has ended. Logs of refused requests are sampled, so
// that a flood of them does not fill the disk.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LogFields, Logger } from '#platform/telemetry/log.ts'
import { endHttpServerSpan, httpServerSpan } from '#platform/telemetry/spans.ts'
import type { Access } from '../access/auth.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { EdgeSettings, GatewayOptions } from '../options.ts'
import { isPagePath } from '../pages/index.ts'
import { transportSecurity } from './failures.ts'
import type { ClientIpReader } from './headers.ts'
import type { Ending, InFlight } from './in-flight.ts'
import { startEdgeRequest, traceparentOf } from './route.ts'

/** Dependencies of the first step. */
export type RequestStartOptions = {
  settings: Pick<EdgeSettings, 'publicBaseUrl'>
  metrics: GatewayMetrics
  requests: RequestLog
  inFlight: InFlight
  readClientIp: ClientIpReader
  apiLog: GatewayOptions['apiLog']
  access: Pick<Access, 'acceptedProject'>
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
      const endMs = request.edge.streamedMs ?? performance.now()
      if (ending === 'refused') return
      countAndLog(options, request, reply, ending, endMs - beginMs)
      addToApiLog(options, request, reply, ending, endMs - beginMs)
    })
    void reply.headers({ ...common, 'pw-request-id': request.edge.requestId })
  }
}

function countAndLog(
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

/** A request that was refused before its project was looked up is logged too, if the cache has its subscription key. */
function addToApiLog(
  { apiLog, access }: RequestStartOptions,
  request: FastifyRequest,
  { statusCode: status }: FastifyReply,
  ending: Ending,
  durationMs: number,
): void {
  const { row } = request.routeOptions.config
  if (apiLog === undefined || row === undefined) return
  const { edge, headers } = request
  const projectId = edge.projectId ?? access.acceptedProject(headers['pw-subscription-key'])
  if (projectId === undefined) return
  const { 'idempotency-key': idempotencyKey } = headers
  apiLog.add({
    route: `${row.method} ${row.path}`,
    projectId,
    merchantId: edge.merchantId,
    requestId: edge.requestId,
    status,
    reason: edge.reason,
    field: edge.field,
    durationMs,
    clientLeft: ending === 'aborted',
    idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
    query: request.query,
    body: edge.body?.fields ?? edge.form,
    // Not what the client claims: a large Content-Length would push all other requests out of the log.
    requestBytes: request.url.length + (edge.body?.bytes ?? charactersOf(edge.form)),
    response: edge.answer,
  })
}

function charactersOf(texts: Record<string, string> = {}): number {
  return Object.entries(texts).reduce((sum, [name, text]) => sum + name.length + text.length, 0)
}

/** The route pattern, such as `/pay/:token`, or `unknown`: metrics and logs never have a path that a client chose. */
function routeOf(request: FastifyRequest): string {
  return request.is404 ? 'unknown' : (request.routeOptions.url ?? 'unknown')
}

/** The log of requests. */
export type RequestLog = {
  /** One line. */
  each(fields: LogFields, message: string): void
  /**
   * Logs the first request of a kind at once, then at most one line a second with the count of those left out. A kind is a
   * reason or a route, never text of a client: each kind takes memory.
   */
  sample(kind: string, fields: LogFields, message: string): void
  /** Logs what was left out since the last line of each kind. */
  flush(): void
}

type Line = { fields: LogFields; message: string }
/** Requests since the last line of a kind. */
type Kind = { leftOut: number; last: Line | undefined; timer: NodeJS.Timeout | undefined }

const everyMs = 1_000

/** Logs through `log`. */
export function requestLog(log: Logger): RequestLog {
  const kinds = new Map<string, Kind>()

  /** Logs how many of a kind were left out. False when none were: the next one is then logged at once. */
  function report(name: string, kind: Kind): boolean {
    const { last, leftOut } = kind
    if (last === undefined) {
      kinds.delete(name)
      return false
    }
    // `leftOut` includes the request of this line.
    const more = leftOut > 1 ? { leftOut: leftOut - 1 } : {}
    log.info({ ...last.fields, ...more }, last.message)
    kind.leftOut = 0
    kind.last = undefined
    return true
  }

  function reportLater(name: string, kind: Kind): void {
    kind.timer = setTimeout(() => {
      if (report(name, kind)) reportLater(name, kind)
    }, everyMs).unref()
  }

  return {
    each: (fields, message) => log.info(fields, message),
    sample(name, fields, message) {
      const kind = kinds.get(name)
      if (kind !== undefined) {
        kind.leftOut += 1
        kind.last = { fields, message }
        return
      }
      log.info(fields, message)
      const first: Kind = { leftOut: 0, last: undefined, timer: undefined }
      kinds.set(name, first)
      reportLater(name, first)
    },
    flush() {
      for (const [name, kind] of kinds) {
        clearTimeout(kind.timer)
        report(name, kind)
      }
      kinds.clear()
    },
  }
}
