// Renders responses of services as lines for people and for programs.
import { type DescMessage, type MessageShape, toJsonString } from '@bufbuild/protobuf'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import {
  type Attempt,
  AttemptOutcome,
  type Delivery,
  DeliveryKind,
  DeliveryState,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { type ReplayJob, ReplayJobState } from '#gen/payweave/delivery/v1/replay_pb.js'
import { UsageError } from '../usage-error.ts'

/** The name of an enum value in lower case: `delivered` for `DELIVERED`. */
export function wordOf(words: Record<number, string>, value: number): string {
  return (words[value] ?? String(value)).toLowerCase()
}

/**
 * The enum value of a typed word; 0 (unspecified) for none. Throws a UsageError that lists the words for an unknown
 * one, and before them `others`, which the caller takes too.
 */
export function valueOf(
  words: Record<string, string | number>,
  word: string | undefined,
  option: string,
  others: readonly string[] = [],
): number {
  if (word === undefined) return 0
  const value = words[word.toUpperCase()]
  if (typeof value === 'number' && value !== 0) return value
  throw new UsageError(`--${option} must be one of ${[...others, ...wordsOf(words)].join(', ')}`)
}

/** What `wordOf` returns for the values of an enum, except 0 (unspecified). */
export function wordsOf(words: Record<string, string | number>): string[] {
  const names = Object.keys(words).filter((name) => /^[A-Z]/.test(name) && words[name] !== 0)
  return names.map((name) => name.toLowerCase())
}

/** A message as one line of JSON, with the field names of the contract. */
export function jsonLine<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  return toJsonString(schema, message, { useProtoFieldName: true })
}

/** A time in ISO 8601 UTC with milliseconds, or a dash. */
export function time(timestamp: Timestamp | undefined): string {
  return timestamp === undefined ? '-' : timestampDate(timestamp).toISOString()
}

/** A delivery with its attempts. */
export function deliveryLines(delivery: Delivery): string[] {
  return [
    `delivery   ${delivery.deliveryId}`,
    `kind       ${wordOf(DeliveryKind, delivery.kind)}`,
    `about      ${printable(delivery.subjectId)}`,
    `receiver   ${delivery.origin}${printable(delivery.path)}`,
    `state      ${wordOf(DeliveryState, delivery.state)}`,
    `round      ${delivery.round}`,
    `happened   ${time(delivery.occurredTime)}`,
    `created    ${time(delivery.createTime)}`,
    `next       ${time(delivery.nextAttemptTime)}`,
    `ended      ${time(delivery.endTime)}`,
    ...(delivery.body.length === 0
      ? []
      : [`body       ${printable(new TextDecoder().decode(delivery.body))}`]),
    ...delivery.attempts.flatMap(attemptLines),
  ]
}

function attemptLines(attempt: Attempt): string[] {
  const answer = printable(new TextDecoder().decode(attempt.answer))
  return [
    `attempt ${attempt.number}  round ${attempt.round}  ${time(attempt.startTime)}  ${attemptResult(attempt)}`,
    ...(answer === '' ? [] : [`  answer   ${answer}`]),
  ]
}

function known(name: string, value: number | undefined, unit: string): string[] {
  return value === undefined ? [] : [`${name} ${value} ${unit}`]
}

/** How an attempt ended, in words. */
export function attemptResult(attempt: Attempt): string {
  return [
    wordOf(AttemptOutcome, attempt.outcome),
    ...(attempt.status === 0 ? [] : [`HTTP ${attempt.status}`]),
    ...(attempt.error === '' ? [] : [attempt.error]),
    `${attempt.durationMs} ms`,
    ...known('first byte', attempt.firstByteMs, 'ms'),
    ...known('Retry-After', attempt.retryAfterS, 's'),
    ...(attempt.peerAddress === '' ? [] : [`from ${attempt.peerAddress}`]),
  ].join('  ')
}

/** A replay job in one line. */
export function jobLine(job: ReplayJob): string {
  const state = wordOf(ReplayJobState, job.state)
  return `replay ${job.jobId}  ${state}  ${job.replayedCount} made due, ${job.ratePerS} a second`
}

/** Text from outside in one line, without the control characters by which it could steer a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/\p{C}/gu, '?').trim()
}
