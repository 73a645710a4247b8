// The API log of a project: the requests of 30 days, the same as a CSV file, one with its masked query and bodies.
import type { FastifyInstance } from 'fastify'
import { isPublicReason, type Reason, reasons } from '#core/errors/errors.ts'
import { type LoggedRequest, RequestOutcome } from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, pathId, type Work, type Worker } from '../../http/work.ts'
import {
  type Cell,
  chosen,
  code,
  count,
  type Filters,
  row,
  type Section,
  text,
} from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf } from '../../pages/words.ts'
import { nextPageUrl, readTime, sendCsv, withFilters } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

/** Requests that are read at once for a file. */
export const requestsInFile = 200

/** Registers the pages below `/projects/<id>/api-log`. */
export function registerApiLog(app: FastifyInstance, { worker, clients }: Options): void {
  const path = '/projects/:projectId/api-log'
  app.get(
    path,
    worker.projectPage((work) => sendList(work, clients)),
  )
  app.get(
    `${path}.csv`,
    worker.projectPage((work) => {
      const { projectId } = work.project
      const filter = { projectId, ...requestFilter(work), pageSize: requestsInFile }
      return sendCsv(work, 'api-log', requestHead, async (pageToken) => {
        const page = await clients.apiLog.listRequests({ ...filter, pageToken })
        return { rows: page.requests.map(requestCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:entryId`,
    worker.projectPage((work) => sendRequest(work, clients)),
  )
}

/** What the query asks for. Services refuse values that no request can have. */
export function requestFilter({ query }: Work) {
  const startTime = readTime('from', query.get('from'))
  const endTime = readTime('to', query.get('to'))
  return {
    outcome: valueOf(RequestOutcome, query.get('outcome')) ?? RequestOutcome.UNSPECIFIED,
    errorCode: query.get('code') ?? '',
    route: query.get('route') ?? '',
    requestId: query.get('request') ?? '',
    idempotencyKey: query.get('key') ?? '',
    ...(startTime && { startTime }),
    ...(endTime && { endTime }),
  }
}

/** The filters of a list of requests, with a file of the same at `file`. */
export function requestFilters({ query, request }: Work, file: string): Filters {
  const field = (label: string, name: string, maxlength?: number) => ({
    label,
    name,
    value: query.get(name) ?? '',
    maxlength,
  })
  return {
    fields: [
      chosen('Outcome', 'outcome', RequestOutcome, query),
      field('Error code', 'code', 64),
      field('Route, such as POST /quote', 'route', 66),
      field('Request id', 'request', 36),
      field('Idempotency key', 'key', 255),
      { ...field('From (UTC)', 'from'), type: 'datetime-local' },
      { ...field('Until (UTC)', 'to'), type: 'datetime-local' },
    ],
    links: [{ label: 'CSV', href: withFilters(file, request.url) }],
  }
}

/** What a list of requests says where it has none. */
export function noRequests(nextPageToken: string): string {
  return nextPageToken === ''
    ? 'No request matches. Requests appear a second after their response; another filter may show more.'
    : 'No request matches among those of this page. Older ones follow.'
}

/** What a request is listed by, but for its request id. */
export const requestColumns = ['Route', 'Status', 'Outcome', 'Error code', 'Duration', 'Ended']

/** The cells of these columns. */
export function requestRow(one: LoggedRequest): Cell[] {
  return [
    row(one.route, `/projects/${one.projectId}/api-log/${one.entryId}`),
    count(one.status),
    outcomeOf(one),
    code(one.errorCode),
    count(`${one.durationMs} ms`),
    { at: one.endTime },
  ]
}

async function sendList(work: ProjectWork, { apiLog }: Clients) {
  const { request, reply, query, project } = work
  const { projectId, name } = project
  const pageToken = query.get('page') ?? ''
  const listed = await apiLog.listRequests({ projectId, ...requestFilter(work), pageToken })
  return sendSections(reply, {
    title: `API log of ${name}`,
    sections: [
      {
        note: 'Requests of the last 30 days. Secrets, personal data and free text are masked before they are stored.',
        filters: requestFilters(work, `/projects/${projectId}/api-log.csv`),
        table: {
          head: [...requestColumns, 'Request id'],
          empty: noRequests(listed.nextPageToken),
          rows: listed.requests.map((one) => [...requestRow(one), code(one.requestId)]),
        },
        ...nextPageUrl(request.url, listed.nextPageToken),
        rpc: 'payweave.delivery.v1.ApiLogService/ListRequests',
      },
    ],
  })
}

function outcomeOf({ status }: LoggedRequest): Cell {
  if (status >= 500) return { state: 'failed' }
  return { state: status >= 400 ? 'refused' : 'succeeded' }
}

async function sendRequest(work: ProjectWork, { apiLog }: Clients) {
  const { projectId } = work.project
  const { request } = await apiLog.getRequest({ projectId, ...pathId(work, 'entryId') })
  if (request === undefined) throw new Error('an answer without its request')
  const { query, requestBody, responseBody, errorCode, requestId } = request
  const same = new URLSearchParams({ request: requestId }).toString()
  const facts: [string, Cell][] = [
    ['Status', text(request.status)],
    ['Outcome', outcomeOf(request)],
    ['Error code', code(errorCode)],
    ['Meaning', text(meaningOf(errorCode))],
    ['Version', text(request.version)],
    ['Duration', text(`${request.durationMs} ms`)],
    ['Ended', { at: request.endTime }],
    ['Response', text(request.clientLeft ? 'the client left before it was sent' : 'sent')],
    ['Request id', code(requestId, `/projects/${projectId}/api-log?${same}`)],
    ['Idempotency key', code(request.idempotencyKey)],
    ['Merchant', code(request.merchantId)],
  ]
  const shown = facts.filter(([, cell]) => !('text' in cell) || cell.text !== '')
  return sendSections(work.reply, {
    title: request.route,
    sections: [
      { facts: shown, rpc: 'payweave.delivery.v1.ApiLogService/GetRequest' },
      ...contentOf('Query', query),
      ...contentOf('Request', requestBody),
      ...contentOf('Response', responseBody),
    ],
  })
}

function meaningOf(errorCode: string): string {
  const isKnown = Object.hasOwn(reasons, errorCode) && isPublicReason(errorCode as Reason)
  return isKnown ? reasons[errorCode as Reason].meaning : ''
}

/** Masked JSON, on several lines where it is whole. */
function contentOf(heading: string, json: string): Section[] {
  if (json === '') return []
  try {
    return [{ heading, source: JSON.stringify(JSON.parse(json), null, 2) }]
  } catch {
    return [{ heading, note: 'Only the first 8,192 characters are kept.', source: json }]
  }
}

/** The columns of a file of requests. */
export const requestHead = [
  'entry_id',
  'ended',
  'route',
  'version',
  'status',
  'error_code',
  'duration_ms',
  'request_id',
  'idempotency_key',
]

/** The cells of these columns. */
export function requestCells(one: LoggedRequest): string[] {
  return [
    one.entryId,
    timeOf(one.endTime)?.iso ?? '',
    one.route,
    one.version,
    String(one.status),
    one.errorCode,
    String(one.durationMs),
    one.requestId,
    one.idempotencyKey,
  ]
}
