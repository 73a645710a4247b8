// Maps ReplayService and EndpointService to jobs and receivers and back; it must not hold a rule about them.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors.ts'
import { fingerprint } from '#core/fingerprint.ts'
import { isUuid } from '#core/id.ts'
import type { EndpointService } from '#gen/delivery/v1/endpoint_pb.js'
import type { ReplayFilter, ReplayService } from '#gen/delivery/v1/replay_pb.js'
import type { Database } from '#runtime/db.ts'
import { type DeliveryState, endedStates } from './delivery.ts'
import { findEndpoint, listEndpoints } from './endpoint-store.ts'
import { cancelReplayJob, createReplayJob, findReplayJob } from './replay-store.ts'
import { requiredProject } from './service.ts'
import {
  invalid,
  pageSize,
  wireEndpoint,
  wireKinds,
  wireReplayJob,
  wireStates,
  wordOf,
} from './wire.ts'

const rate = { usual: 50, most: 1_000 }
const givenUp: DeliveryState[] = ['exhausted', 'blocked']
const visibleAscii = /^[\x21-\x7e]{1,255}$/

/** What the handlers need. */
export interface ReplayServiceOptions {
  db: Database
  /** Called when there is a new job. */
  onJob: () => void
}

/** The handlers of ReplayService. */
export function replayService({
  db,
  onJob,
}: ReplayServiceOptions): ServiceImpl<typeof ReplayService> {
  async function jobOf(projectId: string, jobId: string) {
    const job = isUuid(jobId) ? await findReplayJob(db, projectId, jobId) : undefined
    if (job === undefined) throw new Failure('REPLAY_NOT_FOUND', 'the project has no such replay')
    return { job: wireReplayJob(job) }
  }

  return {
    async createReplayJob(request, context) {
      const projectId = requiredProject(context, request.projectId)
      const { idempotencyKey } = request
      if (!visibleAscii.test(idempotencyKey)) {
        throw invalid('idempotency_key', 'must be 1 to 255 visible ASCII characters')
      }
      const wish = { ...readFilter(request.filter), ratePerS: readRate(request.ratePerS) }
      const { fromAt, toAt } = wish
      const asked = {
        ...wish,
        kind: wish.kind ?? null,
        fromAt: fromAt?.getTime() ?? null,
        toAt: toAt?.getTime() ?? null,
      }
      const job = await createReplayJob(db, {
        projectId,
        idempotencyKey,
        ...wish,
        fingerprint: fingerprint(asked),
      })
      onJob()
      return { job: wireReplayJob(job) }
    },
    getReplayJob: (request, context) =>
      jobOf(requiredProject(context, request.projectId), request.jobId),
    async cancelReplayJob({ projectId: asked, jobId }, context) {
      const projectId = requiredProject(context, asked)
      if (isUuid(jobId)) await cancelReplayJob(db, projectId, jobId)
      return jobOf(projectId, jobId)
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
  return { kind, states: state === undefined ? givenUp : [state], fromAt, toAt }
}

function readTime(time: Timestamp | undefined, field: string): Date | undefined {
  if (time === undefined) return undefined
  const date = timestampDate(time)
  // Outside of these PostgreSQL and JavaScript do not mean the same.
  if (date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999) return date
  throw invalid(field, 'must lie in the years 1970 to 9999')
}

function readRate(asked: number): number {
  if (asked > rate.most) throw invalid('rate_per_s', `must be at most ${rate.most}`)
  return asked === 0 ? rate.usual : asked
}

/** The handlers of EndpointService. */
export function endpointService(db: Database): ServiceImpl<typeof EndpointService> {
  return {
    async getEndpoint(request, context) {
      const projectId = requiredProject(context, request.projectId)
      const { endpointId } = request
      const row = isUuid(endpointId) ? await findEndpoint(db, projectId, endpointId) : undefined
      if (row === undefined) {
        throw new Failure('RECEIVER_NOT_FOUND', 'the project has no such receiver')
      }
      return { endpoint: wireEndpoint(row) }
    },
    async listEndpoints(request, context) {
      const projectId = requiredProject(context, request.projectId)
      const limit = pageSize(request.pageSize)
      const after = readOriginToken(request.pageToken)
      const rows = await listEndpoints(db, projectId, after, limit + 1)
      const page = rows.slice(0, limit)
      const more = rows.length > limit
      return {
        endpoints: page.map(wireEndpoint),
        nextPageToken: more ? Buffer.from(page.at(-1)?.origin ?? '').toString('base64url') : '',
      }
    },
  }
}

function readOriginToken(token: string): string {
  if (token === '') return ''
  const origin = Buffer.from(token, 'base64url').toString()
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
    throw invalid('page_token', 'is not one of ours')
  }
  return origin
}
