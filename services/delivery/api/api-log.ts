// Maps ApiLogService to the store and back.
import { promisify } from 'node:util'
import { zstdDecompress as zstdDecompressCallback } from 'node:zlib'
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { firstIdOf, idTimeMs } from '#core/identity/id.ts'
import { pageSizeOf } from '#core/paging.ts'
import { searchedId } from '#core/text/logged-id.ts'
import {
  type ApiLogService,
  type ListAllRequestsRequest,
  type ListRequestsRequest,
  type LoggedRequest,
  type RequestContents,
  RequestOutcome,
} from '#gen/payweave/delivery/v1/api_log_pb.js'
import type { Queryable } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import {
  findRequest,
  insertRequests,
  type LoggedContent,
  type LoggedRequestFilter,
  type LoggedRequestRow,
  listRequests,
  type StoredContent,
} from '../store/api-log-store.ts'

/**
 * The handlers of ApiLogService. All reject as a Queryable does, those of a project also as `projectOf`. `getRequest` refuses an
 * entry that the project does not have with LOGGED_REQUEST_NOT_FOUND.
 */
export function apiLogService(db: Queryable): ServiceImpl<typeof ApiLogService> {
  return {
    async recordRequests({ requests, contents }) {
      checkProjects(requests, contents)
      if (requests.length > 0) await insertRequests(db, requests.map(rowOf), contents)
      return {}
    },
    async listRequests(request, context) {
      return await pageOf(db, request, projectOf(context, request.projectId))
    },
    listAllRequests: (request) => pageOf(db, request, undefined),
    async getRequest({ entryId, ...request }, context) {
      const found = await findRequest(db, projectOf(context, request.projectId), entryId)
      if (found === undefined) {
        throw new Failure('LOGGED_REQUEST_NOT_FOUND', 'the project has no such request')
      }
      return { request: { ...message(found), ...(await contentOf(found)) } }
    },
  }
}

/** What is asked for, of a project or of all. */
type Asked = Omit<ListRequestsRequest | ListAllRequestsRequest, '$typeName' | 'projectId'>

async function pageOf(db: Queryable, request: Asked, projectId: string | undefined) {
  // Keys of another form are not in the log.
  const idempotencyKey = searchedId(request.idempotencyKey)
  if (request.idempotencyKey !== '' && idempotencyKey === undefined) return {}
  const filter = { ...filterOf(request, projectId), idempotencyKey }
  const { requests, next } = await listRequests(db, filter)
  return { requests: requests.map(message), nextPageToken: next ?? '' }
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

/** Throws INVALID_PARAMETER for contents that no request could be read from. */
function checkProjects(requests: LoggedRequest[], contents: RequestContents[]): void {
  const known = new Set(requests.map(({ projectId }) => projectId))
  for (const { projectId } of contents) {
    if (!known.delete(projectId)) {
      throw invalid('contents', 'must have each project of requests once')
    }
  }
}

const zstdDecompress = promisify(zstdDecompressCallback)
const linesOfRequest = 3
/** More than a batch of the gateway has: below a million characters, of three bytes at most. A few bytes could become far more. */
const maxOutputLength = 4 * 1024 * 1024

/** The texts of a request: its lines in the contents of its batch or, for requests of the previous release, its own columns. */
async function contentOf({ place, compressedLines, ...own }: StoredContent) {
  if (place === null || compressedLines === null) {
    const { query, requestBody, responseBody } = own
    return {
      query: query ?? '',
      requestBody: requestBody ?? '',
      responseBody: responseBody ?? '',
    }
  }
  const text = (await zstdDecompress(compressedLines, { maxOutputLength })).toString()
  const begin = place * linesOfRequest
  const lines = text.split('\n', begin + linesOfRequest)
  const [query = '', requestBody = '', responseBody = ''] = lines.slice(begin)
  return { query, requestBody, responseBody }
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
  request: Asked,
  projectId: string | undefined,
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
function firstIdAt({ seconds, nanos }: Timestamp): string {
  const ms = Number(seconds) * 1_000 + Math.ceil(nanos / 1_000_000)
  return firstIdOf(Math.min(Math.max(ms, 0), lastMs))
}
