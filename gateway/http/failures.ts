// Renders thrown errors as responses, in the form of the envelope of their route.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Failure, type Reason, reasons } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { EdgeSettings } from '../options.ts'
import { errorBody, publicFailure, statusOf } from './envelope.ts'
import { edgeHeaders, type RouteRow, showsClientIp } from './route.ts'
import { noticeHeaders } from './version-notice.ts'

/** A refusal ready to be written. */
export type Refusal = { code: number; headers: Record<string, string>; body: string }

/** The request that a refusal is for. */
export type RefusedRequest = Pick<FastifyRequest, 'edge' | 'query' | 'method'> & { path: string }

/** Finds routes by path and method. */
export type RouteTable = {
  /** The row, or another one of the same path: its group gives the form of the envelope. */
  closest(method: string, path: string): RouteRow | undefined
  /** Methods of the path for `Allow`, undefined for a path that is not ours. */
  allowed(path: string): string | undefined
}

/** Paths without a row, each with what `Allow` says of it. */
export type OpenPaths = ReadonlyArray<{ pattern: RegExp; allow: string }>

/** Makes the table of all routes and of the paths without a row (pages, documents, health). */
export function routeTable(rows: readonly RouteRow[], open: OpenPaths): RouteTable {
  const byPath = new Map<string, RouteRow[]>()
  for (const row of rows) byPath.set(row.path, [...(byPath.get(row.path) ?? []), row])
  return {
    closest(method, path) {
      const found = byPath.get(path)
      return found?.find((row) => row.method === method) ?? found?.[0]
    },
    allowed(path) {
      const methods = byPath.get(path)?.map((row) => row.method)
      if (methods !== undefined) return methods.toSorted().join(', ')
      return open.find(({ pattern }) => pattern.test(path))?.allow
    },
  }
}

/** The path of a request target, in origin form (`/path`) or absolute form (`http://host/path`). */
export function pathOf(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^[a-z]+:\/\/[^/?]*/i, '')
  const end = path.search(/[?#]/)
  return end < 0 ? path : path.slice(0, end)
}

/** Seconds for `Retry-After` of a 503 or 504 when the failure names none. */
export function retryAfterOf(reason: Reason): number | undefined {
  const row = reasons[reason]
  return 'httpRetryAfterS' in row ? row.httpRetryAfterS : undefined
}

const yearS = 31_536_000

/** `Strict-Transport-Security`, where clients reach us by https. */
export function transportSecurity(publicBaseUrl: string): Record<string, string> {
  if (!publicBaseUrl.startsWith('https:')) return {}
  return { 'strict-transport-security': `max-age=${yearS}` }
}

/** Renders a refusal of any layer. */
export function refusalFor(
  failure: Failure,
  request: RefusedRequest,
  table: RouteTable,
  settings: EdgeSettings,
): Refusal {
  const { publicBaseUrl } = settings
  const code = statusOf(failure)
  const { edge, method, path } = request
  edge.reason = failure.reason
  edge.field = failure.details['field']
  const row = table.closest(method, path)
  const clientIp = showsClientIp(row, request, settings) ? edge.clientIp : undefined
  const form = row?.envelope ?? 'full'
  const facts = { form, method, requestId: edge.requestId, clientIp }
  const headers: Record<string, string> = {
    'content-type': 'application/json; charset=utf-8',
    'pw-request-id': edge.requestId,
    ...edgeHeaders(edge),
    ...transportSecurity(publicBaseUrl),
    ...(row !== undefined && noticeHeaders(settings.versionNotices[row.version])),
  }
  const { allow } = failure.details
  if (allow !== undefined) headers['allow'] = allow
  const retryAfterS =
    failure.retryAfterS ?? (code >= 500 ? retryAfterOf(failure.reason) : undefined)
  if (retryAfterS !== undefined) {
    headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterS)))
  }
  return { code, headers, body: errorBody(facts, failure, { code, publicBaseUrl }) }
}

/** The error handler of the whole app. */
export function errorHandler(table: RouteTable, settings: EdgeSettings, log: Logger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const failure = publicFailure(error)
    if (failure.reason === 'INTERNAL_ERROR') {
      log.error({ requestId: request.edge.requestId, err: error }, 'request failed unexpectedly')
    }
    const { edge, query, method } = request
    // The path of the route: the router also knows it when the client escaped some of its letters.
    const path = (request.is404 ? undefined : request.routeOptions.url) ?? pathOf(request.url)
    const refused = { edge, query, method, path }
    const { code, headers, body } = refusalFor(failure, refused, table, settings)
    // The rest of a refused body is read and discarded, so that the client receives this answer.
    if (reply.raw.shouldKeepAlive) void reply.removeHeader('connection')
    void reply.code(code).headers(headers).send(body)
  }
}
