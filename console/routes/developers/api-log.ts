// The API log of a project: the requests of 30 days, the same as a CSV file, one with its masked query and bodies.
import type { FastifyInstance } from 'fastify'
import { isPublicReason, type Reason, reasons } from '#core/errors/errors.ts'
import { type LoggedRequest, RequestOutcome } from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Clients } from '../../clients.ts'
import { asFile, type ProjectWork, pathId, type Worker } from '../../http/work.ts'
import { type Cell, chosen, code, row, type Section, text } from '../../pages/blocks.ts'
import { sendSections } from '../../pages/render.ts'
import { timeOf, valueOf } from '../../pages/words.ts'
import { nextPageUrl, readTime, sendCsv, withFilters } from '../list.ts'

type Options = { worker: Worker; clients: Clients }

const csvPageSize = 200

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
      const filter = { ...filterOf(work), pageSize: csvPageSize }
      return sendCsv(work, 'api-log', csvHead, async (pageToken) => {
        const page = await clients.apiLog.listRequests({ ...filter, pageToken })
        return { rows: page.requests.map(csvCells), nextPageToken: page.nextPageToken }
      })
    }, asFile),
  )
  app.get(
    `${path}/:entryId`,
    worker.projectPage((work) => sendRequest(work, clients)),
  )
}

/** What the query asks for. Services refuse values that no request can have. */
function filterOf({ query, project: { projectId } }: ProjectWork) {
  const startTime = readTime('from', query.get('from'))
  const endTime = readTime('to', query.get('to'))
  return {
    projectId,
    outcome: valueOf(RequestOutcome, query.get('outcome')) ?? RequestOutcome.UNSPECIFIED,
    errorCode: query.get('code') ?? '',
    route: query.get('route') ?? '',
    requestId: query.get('request') ?? '',
    idempotencyKey: query.get('key') ?? '',
    ...(startTime && { startTime }),
    ...(endTime && { endTime }),
  }
}

async function sendList(work: ProjectWork, { apiLog }: Clients) {
  const { request, reply, project, query } = work
  const base = `/projects/${project.projectId}/api-log`
  const listed = await apiLog.listRequests({
    ...filterOf(work),
    pageToken: query.get('page') ?? '',
  })
  const field = (label: string, name: string, maxlength?: number) => ({
    label,
    name,
    value: query.get(name) ?? '',
    maxlength,
  })
  return sendSections(reply, {
    title: `API log of ${project.name}`,
    sections: [
      {
        note: 'Requests of the last 30 days. Secrets, personal data and free text are masked before they are stored.',
        filters: {
          fields: [
            chosen('Outcome', 'outcome', RequestOutcome, query),
            field('Error code', 'code', 64),
            field('Route, such as POST /quote', 'route', 66),
            field('Request id', 'request', 36),
            field('Idempotency key', 'key', 255),
            { ...field('From (UTC)', 'from'), type: 'datetime-local' },
            { ...field('Until (UTC)', 'to'), type: 'datetime-local' },
          ],
          links: [{ label: 'CSV', href: withFilters(`${base}.csv`, request.url) }],
        },
        table: {
          head: ['Route', 'Status', 'Outcome', 'Error code', 'Duration', 'Ended', 'Request id'],
          empty:
            listed.nextPageToken === ''
              ? 'No request matches. Requests appear a second after their response; another filter may show more.'
              : 'No request matches among those of this page. Older ones follow.',
          rows: listed.requests.map((one) => [
            row(one.route, `${base}/${one.entryId}`),
            text(one.status),
            outcomeOf(one),
            code(one.errorCode),
            text(`${one.durationMs} ms`),
            { at: one.endTime },
            code(one.requestId),
          ]),
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

const csvHead = [
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

function csvCells(one: LoggedRequest): string[] {
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
