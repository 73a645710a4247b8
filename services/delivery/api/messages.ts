// Renders deliveries, attempts, receivers and jobs as payweave.delivery.v1 shows them, and reads what requests have in common.
import { type Timestamp, timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { invalid } from '#core/errors/errors.ts'
import {
  DeliveryKind as WireKind,
  AttemptOutcome as WireOutcome,
  DeliveryState as WireState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import { ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import type { AttemptOutcome, DeliveryKind, DeliveryState } from '../domain/delivery.ts'
import type { EndpointRow } from '../store/endpoint-store.ts'
import type { AttemptRow, DeliveryRow } from '../store/read-store.ts'
import type { ReplayJob, ReplayState } from '../store/replay-store.ts'

/** Enum numbers of the kinds. */
export const wireKinds = {
  notify: WireKind.NOTIFY,
  callback: WireKind.CALLBACK,
  onboarding: WireKind.ONBOARDING,
} as const satisfies Record<DeliveryKind, WireKind>

/** Enum numbers of the states. */
export const wireStates = {
  pending: WireState.PENDING,
  sending: WireState.SENDING,
  delivered: WireState.DELIVERED,
  exhausted: WireState.EXHAUSTED,
  gone: WireState.GONE,
  blocked: WireState.BLOCKED,
  cancelled: WireState.CANCELLED,
} as const satisfies Record<DeliveryState, WireState>

/** Enum numbers of the outcomes. */
export const wireOutcomes = {
  started: WireOutcome.STARTED,
  delivered: WireOutcome.DELIVERED,
  refused: WireOutcome.REFUSED,
  timed_out: WireOutcome.TIMED_OUT,
  connection_failed: WireOutcome.CONNECTION_FAILED,
  blocked: WireOutcome.BLOCKED,
  unknown: WireOutcome.UNKNOWN,
  unsigned: WireOutcome.UNSIGNED,
} as const satisfies Record<AttemptOutcome, WireOutcome>

/** Enum numbers of the states of a breaker. */
export const wireBreakers = {
  closed: BreakerState.CLOSED,
  open: BreakerState.OPEN,
  half_open: BreakerState.HALF_OPEN,
} as const satisfies Record<EndpointRow['breaker'], BreakerState>

/** Enum numbers of the states of a replay. */
export const wireReplayStates = {
  running: ReplayJobState.RUNNING,
  paused: ReplayJobState.PAUSED,
  done: ReplayJobState.DONE,
  cancelled: ReplayJobState.CANCELLED,
} as const satisfies Record<ReplayState, ReplayJobState>

/** A delivery without its attempts, as a message. */
export function wireDelivery(row: DeliveryRow) {
  return {
    deliveryId: row.deliveryId,
    projectId: row.projectId,
    kind: wireKinds[row.kind],
    subjectId: row.subjectId,
    origin: row.origin,
    state: wireStates[row.state],
    attemptCount: row.attempts,
    nextAttemptTime: timeOf(row.nextAttemptAt),
    createTime: timestampFromDate(row.createdAt),
    round: row.round,
    eventId: row.eventId,
    endpointId: row.endpointId,
    occurredTime: timestampFromDate(row.occurredAt),
    endTime: timeOf(row.endedAt),
    bodyBytes: row.bodyBytes,
  }
}

/** An attempt without its answer, as a message; durations in milliseconds. */
export function wireAttempt(row: Omit<AttemptRow, 'answer'>) {
  return {
    number: row.number,
    startTime: timestampFromDate(row.startedAt),
    outcome: wireOutcomes[row.outcome],
    status: row.status ?? 0,
    durationMs: row.totalMs ?? 0,
    peerAddress: row.peerAddress ?? '',
    error: row.error ?? '',
    round: row.round,
    resolveMs: row.resolveMs ?? undefined,
    connectMs: row.connectMs ?? undefined,
    firstByteMs: row.firstByteMs ?? undefined,
    retryAfterS: row.retryAfterS ?? undefined,
    nextAttemptTime: timeOf(row.nextAttemptAt),
  }
}

/** A lane as a message. */
export function wireEndpoint(row: EndpointRow) {
  return {
    endpointId: row.endpointId,
    projectId: row.projectId,
    origin: row.origin,
    kind: row.kind === null ? WireKind.UNSPECIFIED : wireKinds[row.kind],
    limitNow: row.limitNow,
    breaker: wireBreakers[row.breaker],
    openUntilTime: timeOf(row.breaker === 'open' ? row.breakerUntil : null),
    pendingCount: row.pending,
    sendingCount: row.sending,
    oldestDueTime: timeOf(row.oldestDueAt),
    createTime: timestampFromDate(row.createdAt),
    pauseTime: timeOf(row.pausedAt),
  }
}

/** A replay job as a message. The state is UNSPECIFIED for a job of all deliveries that were given up. */
export function wireReplayJob(job: ReplayJob) {
  const [state = 'exhausted', ...others] = job.states
  return {
    jobId: job.jobId,
    projectId: job.projectId,
    filter: {
      kind: job.kind === null ? WireKind.UNSPECIFIED : wireKinds[job.kind],
      state: others.length > 0 ? WireState.UNSPECIFIED : wireStates[state],
      fromTime: timestampFromDate(job.fromAt),
      toTime: timestampFromDate(job.toAt),
      origin: job.origin ?? '',
      subjectId: job.subjectId ?? '',
    },
    ratePerS: job.ratePerS,
    state: wireReplayStates[job.state],
    replayedCount: job.replayed,
    createTime: timestampFromDate(job.createdAt),
    endTime: timeOf(job.endedAt),
    cursorTime: timeOf(job.cursorAt),
  }
}

function timeOf(time: Date | null) {
  return time === null ? undefined : timestampFromDate(time)
}

/**
 * The word of an enum number; undefined for UNSPECIFIED. Throws INVALID_PARAMETER, which names `field`, for an unknown
 * number.
 */
export function wordOf<W extends string>(
  words: Record<W, number>,
  value: number,
  field: string,
): W | undefined {
  if (value === 0) return undefined
  const found = (Object.keys(words) as W[]).find((word) => words[word] === value)
  if (found === undefined) throw invalid(field, 'has an unknown value')
  return found
}

/** The time of a request; undefined for none. Throws INVALID_PARAMETER, which names `field`, for one that is not stored exactly. */
export function readTime(time: Timestamp | undefined, field: string): Date | undefined {
  if (time === undefined) return undefined
  const date = timestampDate(time)
  // Outside of these years PostgreSQL and JavaScript read the same text as different times.
  if (date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999) return date
  throw invalid(field, 'must lie in the years 1970 to 9999')
}
