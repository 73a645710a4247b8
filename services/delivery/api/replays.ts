// Maps ReplayService and EndpointService to jobs and receivers and back.
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure, invalid } from '#core/errors/errors.ts'
import { fingerprint } from '#core/identity/digest.ts'
import { isUuid } from '#core/identity/id.ts'
import { badPageToken, pageOf, pageSizeOf, textIn, timeCursorIn, tokenOf } from '#core/paging.ts'
import type { EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { ReplayFilter, ReplayService } from '#gen/payweave/delivery/v1/replay_pb.js'
import type { Database } from '#platform/db/db.ts'
import { projectOf } from '#platform/rpc/auth/callers.ts'
import { type DeliveryState, deliveryKinds, endedStates } from '../domain/delivery.ts'
import {
  findEndpoint,
  type LaneCursor,
  type LaneCursorOfAll,
  listAllEndpoints,
  listEndpoints,
} from '../store/endpoint-store.ts'
import {
  cancelReplayJob,
  createReplayJob,
  findReplayJob,
  listReplayJobs,
  pauseReplayJob,
  resumeReplayJob,
} from '../store/replay-store.ts'
import {
  readTime,
  wireBreakers,
  wireEndpoint,
  wireKinds,
  wireReplayJob,
  wireReplayStates,
  wireStates,
  wordOf,
} from './messages.ts'
import { pauseHandlers } from './pauses.ts'

const defaultRatePerS = 50
const givenUp: DeliveryState[] = ['exhausted', 'blocked']

/** What the handlers need. */
export interface ReplayServiceOptions {
  db: Database
  /** Called when there is a job to step: a new one, or one that goes on. */
  onJob: () => void
}

/**
 * The handlers of ReplayService. All reject as `projectOf` does. `createReplayJob` refuses a bad filter with
 * INVALID_PARAMETER and a key that was used for another replay with IDEMPOTENCY_KEY_CONFLICT; `listReplayJobs` a page token that
 * is not ours, and an unknown state, with INVALID_PARAMETER; the others an unknown job with REPLAY_NOT_FOUND.
 */
export function replayService({
  db,
  onJob,
}: ReplayServiceOptions): ServiceImpl<typeof ReplayService> {
  async function jobOf(projectId: string, jobId: string) {
    const job = await findReplayJob(db, projectId, jobId)
    if (job === undefined) throw new Failure('REPLAY_NOT_FOUND', 'the project has no such replay')
    return { job: wireReplayJob(job) }
  }

  return {
    async createReplayJob(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { idempotencyKey } = request
      const parameters = {
        ...readFilter(request.filter),
        ratePerS: request.ratePerS || defaultRatePerS,
      }
      const { fromAt, toAt, origin, subjectId, ...others } = parameters
      const requested = {
        ...others,
        kind: parameters.kind ?? null,
        fromAt: fromAt?.getTime() ?? null,
        toAt: toAt?.getTime() ?? null,
        // A key from before these filters keeps its fingerprint.
        ...(origin !== undefined && { origin }),
        ...(subjectId !== undefined && { subjectId }),
      }
      const job = await createReplayJob(db, {
        projectId,
        idempotencyKey,
        ...parameters,
        fingerprint: fingerprint(requested),
      })
      onJob()
      return { job: wireReplayJob(job) }
    },
    getReplayJob: (request, context) => jobOf(projectOf(context, request.projectId), request.jobId),
    async cancelReplayJob({ projectId: requested, jobId }, context) {
      const projectId = projectOf(context, requested)
      await cancelReplayJob(db, projectId, jobId)
      return jobOf(projectId, jobId)
    },
    async pauseReplayJob({ projectId: requested, jobId }, context) {
      const projectId = projectOf(context, requested)
      await pauseReplayJob(db, projectId, jobId)
      return jobOf(projectId, jobId)
    },
    async resumeReplayJob({ projectId: requested, jobId }, context) {
      const projectId = projectOf(context, requested)
      await resumeReplayJob(db, projectId, jobId)
      onJob()
      return jobOf(projectId, jobId)
    },
    async listReplayJobs(request, context) {
      const projectId = projectOf(context, request.projectId)
      const size = pageSizeOf(request.pageSize)
      const state = wordOf(wireReplayStates, request.state, 'state')
      const before = timeCursorIn(request.pageToken)
      const rows = await listReplayJobs(db, projectId, before, size + 1, state)
      const page = pageOf(rows, size, ({ createdAt, jobId }) => tokenOf(createdAt.getTime(), jobId))
      return { jobs: page.rows.map(wireReplayJob), nextPageToken: page.nextPageToken }
    },
  }
}

function readFilter(filter: ReplayFilter | undefined) {
  const state = wordOf(wireStates, filter?.state ?? 0, 'filter.state')
  if (state !== undefined && !endedStates.some((ended) => ended === state)) {
    throw invalid('filter.state', 'must be one in which a delivery has ended')
  }
  const fromAt = readTime(filter?.fromTime, 'filter.from_time')
  const toAt = readTime(filter?.toTime, 'filter.to_time')
  if (fromAt !== undefined && toAt !== undefined && fromAt >= toAt) {
    throw invalid('filter.to_time', 'must be later than from_time')
  }
  const kind = wordOf(wireKinds, filter?.kind ?? 0, 'filter.kind')
  const origin = filter?.origin || undefined
  if (origin !== undefined && !isOrigin(origin)) {
    throw invalid('filter.origin', 'must be scheme, host and port alone')
  }
  const subjectId = filter?.subjectId || undefined
  const states = state === undefined ? givenUp : [state]
  return { kind, states, fromAt, toAt, origin, subjectId }
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/**
 * The handlers of EndpointService, with those of `pauseHandlers`. Those of one project reject as `projectOf` does; `getEndpoint` refuses an unknown lane with
 * RECEIVER_NOT_FOUND, the lists a page token that is not ours, and an unknown state, with INVALID_PARAMETER.
 */
export function endpointService(
  db: Database,
  onDue: () => void,
): ServiceImpl<typeof EndpointService> {
  return {
    ...pauseHandlers(db, onDue),
    async getEndpoint(request, context) {
      const projectId = projectOf(context, request.projectId)
      const { endpointId } = request
      const row = await findEndpoint(db, projectId, endpointId)
      if (row === undefined) {
        throw new Failure('RECEIVER_NOT_FOUND', 'the project has no such receiver')
      }
      return { endpoint: wireEndpoint(row) }
    },
    async listEndpoints(request, context) {
      const projectId = projectOf(context, request.projectId)
      const size = pageSizeOf(request.pageSize)
      const after = laneIn(request.pageToken)
      const breaker = wordOf(wireBreakers, request.breaker, 'breaker')
      const filter = { breaker, onlyPaused: request.onlyPaused }
      const rows = await listEndpoints(db, projectId, after, size + 1, filter)
      const page = pageOf(rows, size, ({ origin, kind }) => tokenOf(origin, kind ?? ''))
      return { endpoints: page.rows.map(wireEndpoint), nextPageToken: page.nextPageToken }
    },
    async listAllEndpoints(request) {
      const size = pageSizeOf(request.pageSize)
      const breaker = wordOf(wireBreakers, request.breaker, 'breaker')
      const { onlyPaused, pageToken } = request
      const after = laneOfAllIn(pageToken)
      const rows = await listAllEndpoints(db, breaker, after, size + 1, onlyPaused)
      const page = pageOf(rows, size, ({ projectId, origin, kind }) =>
        tokenOf(projectId, origin, kind ?? ''),
      )
      return { endpoints: page.rows.map(wireEndpoint), nextPageToken: page.nextPageToken }
    },
  }
}

function laneIn(token: string): LaneCursor | undefined {
  return token === '' ? undefined : laneOf(textIn(token))
}

function laneOfAllIn(token: string): LaneCursorOfAll | undefined {
  if (token === '') return undefined
  const [, projectId = '', lane = ''] = /^(\S{36}) (.*)$/.exec(textIn(token)) ?? []
  if (!isUuid(projectId)) throw badPageToken()
  return { projectId, ...laneOf(lane) }
}

/** The lane that a page token names. Throws INVALID_PARAMETER for an invalid one. */
function laneOf(cursor: string): LaneCursor {
  const [, origin = '', word = ''] = /^(\S+) (\w*)$/.exec(cursor) ?? []
  const kind = deliveryKinds.find((known) => known === word) ?? null
  if (!isOrigin(origin) || (kind ?? '') !== word) throw badPageToken()
  return { origin, kind }
}
