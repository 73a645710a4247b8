// The commands on the API log of a project and of all projects.
import {
  ApiLogService,
  type LoggedRequest,
  LoggedRequestSchema,
  RequestOutcome,
} from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Command } from '../command.ts'
import { time, valueOf } from '../output/print.ts'
import {
  createdOptions,
  createdTimes,
  listCommand,
  type Page,
  type Reader,
  showCommand,
} from './list-command.ts'

/** What both lists have. */
const shared = {
  part: 'delivery',
  options: {
    outcome: 'succeeded, refused or failed',
    code: 'error code',
    route: 'method and path, such as "POST /payments/request"',
    'request-id': 'PW-request-id of the response',
    'idempotency-key': 'Idempotency-Key of the request',
    ...createdOptions,
  },
  schema: LoggedRequestSchema,
  none: 'no requests',
} as const

const headings = ['ENDED', 'ENTRY', 'STATUS', 'ROUTE', 'MS', 'REQUEST', 'CODE']

function cellsOf(one: LoggedRequest): string[] {
  return [
    time(one.endTime),
    one.entryId,
    String(one.status),
    one.route,
    String(one.durationMs),
    one.requestId,
    one.errorCode,
  ]
}

/** The filters as both RPCs take them, with the page. */
function wantedOf(reader: Reader, page: Page) {
  const { options } = reader
  return {
    outcome: valueOf(RequestOutcome, options['outcome'], 'outcome'),
    errorCode: options['code'] ?? '',
    route: options['route'] ?? '',
    requestId: options['request-id'] ?? '',
    idempotencyKey: options['idempotency-key'] ?? '',
    ...createdTimes(reader),
    ...page,
  }
}

/** The commands on the API log of a project. */
export const apiLogCommands: Command[] = [
  listCommand({
    ...shared,
    name: 'api-log list',
    example: 'api-log list --route "POST /payments/request" --outcome refused',
    summary: 'Lists the requests of a project of 30 days, newest first.',
    isOfProject: true,
    headings,
    cells: cellsOf,
    async read(reader, page) {
      const { connection, projectId } = reader
      const wanted = { projectId, ...wantedOf(reader, page) }
      const listed = await connection.client(ApiLogService).listRequests(wanted)
      return { items: listed.requests, nextPageToken: listed.nextPageToken }
    },
  }),
  showCommand({
    name: 'api-log show',
    summary: 'Shows a request with its masked query and bodies.',
    operand: 'entry id',
    part: 'delivery',
    isOfProject: true,
    schema: LoggedRequestSchema,
    async read({ connection, projectId }, entryId) {
      return (await connection.client(ApiLogService).getRequest({ projectId, entryId })).request
    },
  }),
]

/** The command on the API log of all projects. */
export const allApiLogCommand: Command = listCommand({
  ...shared,
  name: 'api-log all',
  example: 'api-log all --outcome failed --created-from "2026-12-01 09:30:00"',
  summary: 'Lists the requests of all projects of 30 days, newest first.',
  isOfProject: false,
  headings: [...headings, 'PROJECT'],
  cells: (one) => [...cellsOf(one), one.projectId],
  async read(reader, page) {
    const log = reader.connection.client(ApiLogService)
    const listed = await log.listAllRequests(wantedOf(reader, page))
    return { items: listed.requests, nextPageToken: listed.nextPageToken }
  },
})
