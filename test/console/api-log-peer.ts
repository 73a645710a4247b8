// The API log of the console's peers: one request in each project, whose every text tries to be markup or a formula.
import { randomUUID } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import {
  type ApiLogService,
  LoggedRequestSchema,
  RequestOutcome,
} from '#gen/payweave/delivery/v1/api_log_pb.js'
import { type Many, type Texts, time } from './rows.ts'

/** A request of a project that was refused. */
export function requestOf(projectId: string, { id, note, body }: Texts) {
  return create(LoggedRequestSchema, {
    entryId: randomUUID(),
    projectId,
    merchantId: randomUUID(),
    requestId: randomUUID(),
    route: 'POST /payments/request',
    version: '2024-10-01',
    status: 400,
    errorCode: 'INVALID_PARAMETER',
    durationMs: 12,
    clientLeft: true,
    idempotencyKey: id,
    query: JSON.stringify({ version: note }),
    requestBody: JSON.stringify({ api_key: '[32 characters]', description: body }),
    responseBody: body,
    endTime: time,
  })
}

type Owner = { projectId: string; request: ReturnType<typeof requestOf> }

/** Serves the requests of these projects; an unknown one has none. */
export function apiLogPeer(
  projects: Record<string, Owner>,
  many: Many,
  seen: (rpc: string) => void,
): Partial<ServiceImpl<typeof ApiLogService>> {
  const of = (projectId: string) =>
    Object.values(projects).find((one) => one.projectId === projectId)?.request
  return {
    listRequests({ projectId, outcome, requestId, pageToken, pageSize }) {
      seen('ListRequests')
      const request = of(projectId)
      const isWanted =
        (outcome === RequestOutcome.UNSPECIFIED || outcome === RequestOutcome.REFUSED) &&
        (requestId === '' || requestId === request?.requestId)
      if (request === undefined || !isWanted) return {}
      const requests = requestId === '' ? many(request, pageSize) : [request]
      return { requests, nextPageToken: pageToken === '' && requestId === '' ? randomUUID() : '' }
    },
    listAllRequests({ outcome, requestId, pageToken, pageSize }) {
      seen('ListAllRequests')
      if (requestId !== '') {
        const all = Object.values(projects).map(({ request }) => request)
        return { requests: all.filter((one) => one.requestId === requestId) }
      }
      if (outcome !== RequestOutcome.UNSPECIFIED && outcome !== RequestOutcome.REFUSED) return {}
      const own = Object.values(projects).map(({ request }) => request)
      const [first] = own
      const requests =
        first === undefined ? [] : [...own, ...many(first, pageSize).slice(own.length)]
      return { requests, nextPageToken: pageToken === '' ? randomUUID() : '' }
    },
    getRequest({ projectId, entryId }) {
      seen('GetRequest')
      const request = of(projectId)
      if (request?.entryId === entryId) return { request }
      throw new Failure('LOGGED_REQUEST_NOT_FOUND', 'no such request')
    },
  }
}
