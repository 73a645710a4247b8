// Maps ApiLogService to the store and back.
import { type Timestamp, timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { firstIdOf, idTimeMs } from '#core/identity/id.ts'
import { pageSizeOf } from '#core/paging.ts'
import { loggedId } from '#core/text/logged-id.ts'
import {
  type ApiLogService,
  type ListRequestsRequest,
  type LoggedRequest,
  RequestOutcome,
} from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/project.ts'
import {
  findRequest,
  insertRequests,
  type LoggedContent,
  type LoggedRequestFilter,
  type LoggedRequestRow,
  listRequests,
} from '../store/api-log-store.ts'

/**
 * The handlers of ApiLogService. All reject as a Queryable does, those of a project also as `projectOf`. `getRequest` refuses an
 * entry that the project does not have with LOGGED_REQUEST_NOT_FOUND.
 */
export function apiLogService(db: Queryable): ServiceImpl<typeof ApiLogService> {
  return {
    async recordRequests({ requests }) {
      if (requests.length > 0) await insertRequests(db, requests.map(rowOf))
      return {}
    },
    async listRequests(request, context) {
      const projectId = projectOf(context, request.projectId)
      // Keys of another form are not in the log.
      const idempotencyKey = loggedId(request.idempotencyKey)
      if (request.idempotencyKey !== '' && idempotencyKey === undefined) return {}
      const filter = { ...filterOf(request, projectId), idempotencyKey }
      const { requests, next } = await listRequests(db, filter)
      return { requests: requests.map(message), nextPageToken: next ?? '' }
    },
    async getRequest({ entryId, ...request }, context) {
      const found = await findRequest(db, projectOf(context, request.projectId), entryId)
      if (found === undefined) {
        throw new Failure('LOGGED_REQUEST_NOT_FOUND', 'the project has no such request')
      }
      return {
        request: {
          ...message(found),
          query: found.query ?? '',
          requestBody: found.requestBody ?? '',
          responseBody: found.responseBody ?? '',
        },
      }
    },
  }
}

function rowOf(request: LoggedRequest): LoggedRequestRow & LoggedContent {
  return {
    entryId: request.entryId,
    projectId: request.projectId,
    merchantId: request.merchantId || null,
    requestId: request.requestId,
    route: request.route,
    version: request.version,
    status: request.status,
    errorCode: request.errorCode || null,
    durationMs: request.durationMs,
    clientLeft: request.clientLeft,
    idempotencyKey: request.idempotencyKey || null,
    query: request.query || null,
    requestBody: request.requestBody || null,
    responseBody: request.responseBody || null,
  }
}

function message(row: LoggedRequestRow) {
  return {
    ...row,
    merchantId: row.merchantId ?? '',
    errorCode: row.errorCode ?? '',
    idempotencyKey: row.idempotencyKey ?? '',
    endTime: timestampFromMs(idTimeMs(row.entryId)),
  }
}

const statusesOf: Readonly<Record<RequestOutcome, readonly [min: number, max: number]>> = {
  [RequestOutcome.UNSPECIFIED]: [0, 599],
  [RequestOutcome.SUCCEEDED]: [0, 399],
  [RequestOutcome.REFUSED]: [400, 499],
  [RequestOutcome.FAILED]: [500, 599],
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const lastMs = 2 ** 48 - 1

function filterOf(
  request: ListRequestsRequest,
  projectId: string,
): Omit<LoggedRequestFilter, 'idempotencyKey'> {
  const { outcome, status, pageToken } = request
  const [min, max] = statusesOf[outcome]
  const end = request.endTime === undefined ? lastId : firstIdAt(request.endTime)
  return {
    projectId,
    before: pageToken !== '' && pageToken < end ? pageToken : end,
    from: request.startTime === undefined ? firstIdOf(0) : firstIdAt(request.startTime),
    minStatus: Math.max(min, status),
    maxStatus: status === 0 ? max : Math.min(max, status),
    errorCode: request.errorCode || undefined,
    route: request.route || undefined,
    requestId: request.requestId || undefined,
    limit: pageSizeOf(request.pageSize),
  }
}

/** The smallest id of this millisecond or, between two, of the next one. */
function firstIdAt(time: Timestamp): string {
  const ms = timestampDate(time).getTime() + (time.nanos % 1_000_000 === 0 ? 0 : 1)
  return firstIdOf(Math.min(Math.max(ms, 0), lastMs))
}
