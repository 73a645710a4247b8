// Maps delivery.v1 to deliveries and back; it must not change any.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import { Failure } from '#core/errors.ts'
import { isUuid } from '#core/id.ts'
import {
  type DeliveryService,
  DeliveryKind as WireKind,
  AttemptOutcome as WireOutcome,
  DeliveryState as WireState,
} from '#gen/delivery/v1/delivery_pb.js'
import type { Database } from '#runtime/db.ts'
import { projectOf } from '#runtime/rpc/project.ts'
import type { AttemptOutcome, DeliveryKind, DeliveryState } from './delivery.ts'
import {
  type AttemptRow,
  type DeliveryFilter,
  type DeliveryRow,
  findDelivery,
  listAttempts,
  listDeliveries,
} from './read-store.ts'

const wireKinds = {
  notify: WireKind.NOTIFY,
  callback: WireKind.CALLBACK,
  onboarding: WireKind.ONBOARDING,
} as const satisfies Record<DeliveryKind, WireKind>

const wireStates = {
  pending: WireState.PENDING,
  sending: WireState.SENDING,
  delivered: WireState.DELIVERED,
  exhausted: WireState.EXHAUSTED,
  gone: WireState.GONE,
  blocked: WireState.BLOCKED,
  cancelled: WireState.CANCELLED,
} as const satisfies Record<DeliveryState, WireState>

const wireOutcomes = {
  started: WireOutcome.STARTED,
  delivered: WireOutcome.DELIVERED,
  refused: WireOutcome.REFUSED,
  timed_out: WireOutcome.TIMED_OUT,
  connection_failed: WireOutcome.CONNECTION_FAILED,
  blocked: WireOutcome.BLOCKED,
  unknown: WireOutcome.UNKNOWN,
} as const satisfies Record<AttemptOutcome, WireOutcome>

const pageRows = { usual: 50, most: 200 }

/** The handlers of DeliveryService. */
export function deliveryService(db: Database): ServiceImpl<typeof DeliveryService> {
  return {
    async listDeliveries(request, context) {
      const projectId = requiredProject(projectOf(context, request.projectId))
      const limit = pageSize(request.pageSize)
      const rows = await listDeliveries(db, {
        projectId,
        subjectId: request.subjectId === '' ? undefined : request.subjectId,
        kind: wordOf(wireKinds, request.kind, 'kind'),
        state: wordOf(wireStates, request.state, 'state'),
        before: readPageToken(request.pageToken),
        limit: limit + 1,
      })
      const page = rows.slice(0, limit)
      const last = page.at(-1)
      return {
        deliveries: page.map((row) => wireDelivery(row)),
        nextPageToken: rows.length > limit && last !== undefined ? pageToken(last) : '',
      }
    },
    async getDelivery(request, context) {
      const projectId = requiredProject(projectOf(context, request.projectId))
      const { deliveryId } = request
      const row = isUuid(deliveryId) ? await findDelivery(db, projectId, deliveryId) : undefined
      if (row === undefined) {
        throw new Failure('DELIVERY_NOT_FOUND', 'the project has no such delivery')
      }
      const attempts = await listAttempts(db, row.deliveryId)
      return { delivery: { ...wireDelivery(row), attempts: attempts.map(wireAttempt) } }
    },
  }
}

function wireDelivery(row: DeliveryRow) {
  return {
    deliveryId: row.deliveryId,
    projectId: row.projectId,
    kind: wireKinds[row.kind],
    subjectId: row.subjectId,
    origin: row.origin,
    state: wireStates[row.state],
    attemptCount: row.attempts,
    ...(row.nextAttemptAt === null
      ? {}
      : { nextAttemptTime: timestampFromDate(row.nextAttemptAt) }),
    createTime: timestampFromDate(row.createdAt),
  }
}

function wireAttempt(row: AttemptRow) {
  return {
    number: row.number,
    startTime: timestampFromDate(row.startedAt),
    outcome: wireOutcomes[row.outcome],
    status: row.status ?? 0,
    durationMs: row.totalMs ?? 0,
    peerAddress: row.peerAddress ?? '',
    error: row.error ?? '',
  }
}

function requiredProject(projectId: string): string {
  if (!isUuid(projectId)) throw invalid('project_id', 'must be a UUID')
  return projectId
}

function pageSize(asked: number): number {
  if (asked > pageRows.most) throw invalid('page_size', `must be at most ${pageRows.most}`)
  return asked === 0 ? pageRows.usual : asked
}

/** The word of an enum value; undefined for UNSPECIFIED. */
function wordOf<W extends string>(
  words: Record<W, number>,
  value: number,
  field: string,
): W | undefined {
  if (value === 0) return undefined
  const found = (Object.keys(words) as W[]).find((word) => words[word] === value)
  if (found === undefined) throw invalid(field, 'has an unknown value')
  return found
}

function pageToken({ createdAt, deliveryId }: DeliveryRow): string {
  return Buffer.from(`${createdAt.getTime()} ${deliveryId}`).toString('base64url')
}

function readPageToken(token: string): DeliveryFilter['before'] {
  if (token === '') return undefined
  const [, ms = '', deliveryId = ''] =
    /^(\d{1,14}) (\S{36})$/.exec(Buffer.from(token, 'base64url').toString()) ?? []
  if (ms === '' || !isUuid(deliveryId)) throw invalid('page_token', 'is not one of ours')
  return { createdAt: new Date(Number(ms)), deliveryId }
}

function invalid(field: string, what: string): Failure {
  return new Failure('INVALID_PARAMETER', `${field} ${what}`, { details: { field } })
}
