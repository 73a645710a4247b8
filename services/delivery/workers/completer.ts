// Records ended attempts in batches, and retries until the database accepts them.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { createSignal } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import { type Completed, type Completion, complete } from '../store/complete-store.ts'

/** Dependencies of the completer. */
export interface CompleterOptions {
  db: Database
  log: Logger
  metrics: DeliveryMetrics
  /** Called after each batch. */
  onRecorded: (batch: readonly Completion[]) => void
  /** Called with attempts as they are recorded. */
  onEnded?: (ended: EndedAttempt[]) => void
}

/** A recorded attempt, with the result for its delivery unless the lease was lost. */
export interface EndedAttempt extends Pick<Completion, 'claimed' | 'end'> {
  completed: Completed | undefined
}

/** A completer that runs. */
export interface Completer {
  add(completion: Completion): void
  /** Attempts that are not recorded yet. */
  waiting(): number
  /** Resolves when all is recorded or the time is over; what is left becomes `unknown` with its lease. */
  close(withinMs: number): Promise<void>
  /** Records nothing more. */
  abandon(): void
}

const batchRows = 256
/** How long completions are gathered. Only the next claim of a lane with a backlog waits for them, and cuts this short. */
const gatherMs = 20
const retryMs = 500
const maxRefusals = 2

/** Starts with nothing to record. While one batch is in flight the next one gathers. */
export function createCompleter(options: CompleterOptions): Completer {
  const stopping = new AbortController()
  const urgent = createSignal()
  let queue: Completion[] = []
  let recording: Promise<void> | undefined
  let batchSize = 0

  async function drain(): Promise<void> {
    // So that responses that arrive together are recorded together.
    await urgent.pause(gatherMs)
    while (queue.length > 0 && !stopping.signal.aborted) {
      const { batch, rest } = splitBatch(queue)
      queue = rest
      batchSize = batch.length
      await record(options, batch, stopping.signal)
      batchSize = 0
      options.onRecorded(batch)
    }
    recording = undefined
  }

  return {
    add(completion) {
      if (stopping.signal.aborted) return
      queue.push(completion)
      recording ??= drain()
      if (completion.makesReady === true) urgent.notify()
    },
    waiting: () => queue.length + batchSize,
    async close(withinMs) {
      const timer = new AbortController()
      const { signal } = timer
      urgent.notify()
      const late = delay(withinMs, undefined, { signal }).catch(() => undefined)
      await Promise.race([recording, late])
      timer.abort()
      stopping.abort()
    },
    abandon: () => stopping.abort(),
  }
}

/** Each delivery once in a batch: the statement cannot apply two outcomes to one row. */
function splitBatch(queue: Completion[]): { batch: Completion[]; rest: Completion[] } {
  const known = new Set<string>()
  const batch: Completion[] = []
  const rest: Completion[] = []
  for (const completion of queue) {
    const { deliveryId } = completion.claimed
    if (batch.length < batchRows && !known.has(deliveryId)) {
      known.add(deliveryId)
      batch.push(completion)
    } else rest.push(completion)
  }
  return { batch, rest }
}

/** Retries while the database is unavailable. If it refuses the batch twice, records each attempt alone. */
async function record(
  options: CompleterOptions,
  batch: Completion[],
  stopping: AbortSignal,
): Promise<void> {
  for (let refusals = 0; !stopping.aborted; ) {
    try {
      const completed = await complete(options.db, batch)
      note(options, batch, completed)
      return
    } catch (error) {
      options.log.warn({ count: batch.length, err: error }, 'attempts not recorded, trying again')
      if (!(error instanceof Failure)) refusals += 1
      if (refusals === maxRefusals) return recordApart(options, batch, stopping)
      await delay(retryMs)
    }
  }
}

/** An attempt that cannot be recorded does not delay the others: it becomes `unknown` with its lease. */
async function recordApart(
  options: CompleterOptions,
  batch: Completion[],
  stopping: AbortSignal,
): Promise<void> {
  const [first, ...others] = batch
  if (first !== undefined && others.length === 0) {
    const { deliveryId, projectId, kind } = first.claimed
    options.log.error({ deliveryId, projectId, kind }, 'attempt cannot be recorded')
    return
  }
  for (const completion of batch) await record(options, [completion], stopping)
}

function note(
  { log, metrics, onEnded }: CompleterOptions,
  batch: Completion[],
  completed: Completed[],
): void {
  const moved = new Map(completed.map((one) => [one.deliveryId, one]))
  onEnded?.(
    batch.map(({ claimed, end }) => ({ claimed, end, completed: moved.get(claimed.deliveryId) })),
  )
  for (const { claimed, end } of batch) {
    metrics.attempts.inc({ outcome: end.outcome })
    metrics.attemptTimes.observe({ outcome: end.outcome }, end.totalMs / 1_000)
    if (end.outcome === 'blocked') metrics.egressBlocks.inc({ cause: end.error ?? 'other' })
    const state = moved.get(claimed.deliveryId)?.state
    if (state === undefined || state === 'pending') continue
    metrics.ended.inc({ state })
    if (state === 'exhausted' || state === 'blocked') {
      const { deliveryId, projectId, kind, number } = claimed
      log.warn({ deliveryId, projectId, kind, state, attempts: number }, 'delivery given up')
    }
  }
}
