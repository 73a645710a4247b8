// Checks the pushes: each of a payment's comes once as one delivery, with the same bytes on every attempt, its callbacks in order.
import type { Operation, Push, Records } from '../load/records.ts'
import type { Window } from './answers.ts'
import { type Finding, findingOf } from './finding.ts'

/** The different deliveries of one subject that were accepted, by what they say, sorted. */
function receivedOf(pushes: readonly Push[]): string[] {
  const byDelivery = new Map(
    pushes.filter(({ accepted }) => accepted).map(({ deliveryId, what }) => [deliveryId, what]),
  )
  return [...byDelivery.values()].toSorted()
}

function bySubject(pushes: readonly Push[]): Map<string, Push[]> {
  return Map.groupBy(pushes, ({ subject }) => subject)
}

/** What an operation's pushes must be. */
type Wanted = { subject: string; words: string; isMetBy: (came: string[]) => boolean }

/** Undefined for an operation that has none. */
function wantedOf({ payment, onboarding }: Operation): Wanted | undefined {
  if (payment !== undefined) {
    const { id } = payment.body['transaction_request'] as { id: string }
    const lists = payment.outcomes.map(({ pushes }) => pushes.join())
    return {
      subject: id,
      words: lists.join(' or '),
      isMetBy: (came) => lists.includes(came.join()),
    }
  }
  if (onboarding === undefined) return undefined
  const { requestId, outcomes, max } = onboarding
  return {
    subject: requestId,
    words: `1 to ${max} of ${outcomes.join(' or ')}`,
    isMetBy: (came) =>
      came.length > 0 && came.length <= max && came.every((one) => outcomes.includes(one)),
  }
}

/** An operation whose pushes are not, or not yet, those that were promised. */
type Late = { operation: Operation; words: string }

export function lateOf({ operations, pushes }: Records): Late[] {
  const received = bySubject(pushes)
  return operations.flatMap((operation) => {
    const wanted = wantedOf(operation)
    if (wanted === undefined || operation.broken !== undefined) return []
    const came = receivedOf(received.get(wanted.subject) ?? [])
    if (wanted.isMetBy(came)) return []
    const words = `${operation.kind} ${operation.id}: came [${came.join()}], wanted ${wanted.words}`
    return [{ operation, words }]
  })
}

export function checkPushes(records: Records): Finding[] {
  return [
    ...findingOf(
      'payments and accounts without exactly their pushes',
      lateOf(records).map(({ words }) => words),
    ),
    ...findingOf(
      'deliveries that came and were never accepted',
      [...Map.groupBy(records.pushes, ({ deliveryId }) => deliveryId).values()]
        .filter((attempts) => !attempts.some(({ accepted }) => accepted))
        .map(([first]) => `${first?.what} of ${first?.subject}: ${first?.deliveryId}`),
    ),
    ...checkReceived(records),
  ]
}

/** What is wrong with the pushes that came so far. */
export function checkReceived({ operations, pushes }: Records): Finding[] {
  const known = new Set(operations.map((operation) => wantedOf(operation)?.subject))
  // Each try of an operation that was repeated is known by the operation's own id.
  const ids = new Set(operations.map(({ id }) => id))
  const digests = Map.groupBy(pushes, ({ deliveryId }) => deliveryId)
  return [
    ...findingOf(
      'pushes that the documents do not show',
      pushes.flatMap(({ what, undocumented }) =>
        undocumented === undefined ? [] : [`${what}: ${undocumented}`],
      ),
    ),
    ...findingOf(
      'deliveries whose bytes changed',
      [...digests]
        .filter(([, all]) => new Set(all.map(({ digest }) => digest)).size > 1)
        .map(([id]) => id),
    ),
    ...findingOf(
      'pushes of nothing that was asked for',
      pushes
        // The callback of a profile whose answer was lost has a request id that no answer named.
        .filter(
          ({ subject, what }) => !known.has(subject) && !ids.has(subject) && !isOfAccount(what),
        )
        .map(({ subject, what }) => `${what} of ${subject}`),
    ),
  ]
}

function isOfAccount(what: string): boolean {
  return ['completed', 'rejected', 'approved'].includes(what)
}

/** When the last of an operation's pushes was first accepted, or its outcome was answered. Milliseconds since 1970. */
function completedMs(operation: Operation, received: Map<string, Push[]>): number {
  const wanted = wantedOf(operation)
  const firsts = new Map<string, number>()
  for (const { deliveryId, receivedMs, accepted } of received.get(wanted?.subject ?? '') ?? [])
    if (accepted && !firsts.has(deliveryId)) firsts.set(deliveryId, receivedMs)
  return Math.max(operation.doneMs ?? 0, ...firsts.values())
}

/** Operations that were begun by a moment and are not answered yet, or not pushed. */
export function unfinishedOf({ operations, pushes }: Records, begunByMs: number): Operation[] {
  const begun = operations.filter(({ begunMs }) => begunMs <= begunByMs)
  const late = new Set(lateOf({ operations: begun, pushes }).map(({ operation }) => operation))
  return begun.filter((operation) => operation.doneMs === undefined || late.has(operation))
}

/** Seconds after the end of a step until everything that began before it ended was answered and pushed. */
export function effectsRecoveredS(
  records: Records,
  { beganMs, overMs }: Pick<Window, 'beganMs' | 'overMs'>,
): number {
  const received = bySubject(records.pushes)
  const all = records.operations
    .filter((operation) => operation.begunMs <= overMs)
    .map((operation) => completedMs(operation, received))
    .filter((endMs) => endMs >= beganMs)
  return Math.max(0, ...all.map((endMs) => endMs - overMs)) / 1_000
}

/** Milliseconds from the last time at which something was broken before a moment, or from the begin, to that moment. */
export function undisturbedMs(begunMs: number, endMs: number, windows: readonly Window[]): number {
  const before = windows.filter(({ beganMs }) => beganMs <= endMs)
  return Math.max(0, endMs - Math.max(begunMs, ...before.map(({ overMs }) => overMs)))
}

export const lateRule = 'operations that took too long after the last fault'

/**
 * Operations whose last answer or push came later than `limitS` after the last fault before it, or after the operation's begin if
 * that was later. `slackOf` gives what the limit of a time is multiplied by.
 */
export function checkEffects(
  records: Records,
  windows: readonly Window[],
  limitS: number,
  slackOf: (fromMs: number, toMs: number) => number = () => 1,
): Finding[] {
  const received = bySubject(records.pushes)
  const late = records.operations.flatMap((operation) => {
    const endMs = completedMs(operation, received)
    const tookMs = undisturbedMs(operation.begunMs, endMs, windows)
    if (tookMs <= limitS * 1_000 || tookMs <= limitS * 1_000 * slackOf(endMs - tookMs, endMs))
      return []
    return [`${operation.kind} ${operation.id}: ${(tookMs / 1_000).toFixed(1)} s`]
  })
  return findingOf(lateRule, late)
}
