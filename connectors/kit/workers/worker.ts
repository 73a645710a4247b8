// Does the work of one kind that a connector owes, and tries again until it is done or refused permanently.
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { delayAfter, isPermanent, maxDelayOf } from '../domain/backoff.ts'
import { createLogSampler, type LogSampler } from '../domain/log-sampler.ts'
import type { Work, WorkEnd } from '../domain/work.ts'
import { claimWork, endWork } from '../store/work-store.ts'

const maxInFlight = 50
const pauseMs = 20
const idlePauseMs = 1_000
const defaultLeaseMs = 10_000

/** Thrown by a handler: no repetition helps, an operator must look. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

/** Thrown by a handler: nothing failed, and the work is not done yet. It is tried again after the delay, or when hastened. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`not yet: again in ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

export type WorkerOptions = {
  db: Database
  log: Logger
  kind: string
  /**
   * Does the work. It may be called again for work that it did, since a process can end before that is recorded, and while an
   * earlier call still runs, when that took longer than the lease. What it writes is fenced by `holdWork` in its transaction.
   */
  handle: (work: Work) => Promise<void>
  /** Longer than `handle` takes, so that two workers rarely have the same work: 10 s by default. */
  leaseMs?: number
}

/**
 * Works until closed, on at most 50 at a time: work that waits for a slow answer does not hold up the rest. `notify` after a
 * commit that has stored work starts it at once.
 */
export function startWorker(options: WorkerOptions): Loop {
  const { db, log, kind, leaseMs = defaultLeaseMs } = options
  const inFlight = new Set<Promise<void>>()
  const sample = createLogSampler()
  const doWork = async (work: Work) => {
    try {
      const isRecorded = await endWork(db, await tryOnce(options, work, sample))
      if (!isRecorded) log.warn({ kind }, 'work taken by another worker before it ended')
    } catch (error) {
      // Its lease runs out, and then it is claimed again.
      log.warn({ err: error, kind }, 'end of work not recorded')
    }
  }
  const loop = startLoop({
    kind,
    log,
    pauseMs,
    idlePauseMs,
    gatherMs: () => 0,
    async round() {
      if (inFlight.size === maxInFlight) await Promise.race(inFlight)
      const claimed = await claimWork(db, kind, maxInFlight - inFlight.size, leaseMs)
      for (const work of claimed) {
        const done = doWork(work)
        inFlight.add(done)
        void done.finally(() => {
          inFlight.delete(done)
          // What follows on the same subject may be due now.
          loop.notify()
        })
      }
      return claimed.length > 0
    },
  })
  return {
    notify: () => loop.notify(),
    async close() {
      await loop.close()
      await Promise.all(inFlight)
    },
  }
}

async function tryOnce(
  { log, kind, handle }: WorkerOptions,
  work: Work,
  sample: LogSampler,
): Promise<WorkEnd> {
  const { position, attempts, failingMs } = work
  const claim = { position, attempts }
  try {
    await handle(work)
    return { ...claim, outcome: 'done', reason: null, delayMs: 0 }
  } catch (error) {
    if (error instanceof NotYet) {
      return { ...claim, outcome: 'again', reason: null, delayMs: error.delayMs }
    }
    const reason = error instanceof Failure ? error.reason : 'INTERNAL_ERROR'
    if (error instanceof Refused || isPermanent(reason, failingMs)) {
      log.error({ err: error, kind, reason, attempts }, 'work refused permanently')
      return { ...claim, outcome: 'dead', reason, delayMs: 0 }
    }
    const failures = work.failures + 1
    const delayMs = delayAfter(failures, maxDelayOf(reason), Math.random())
    sample(reason, (count) =>
      log.warn({ err: error, kind, reason, attempts, delayMs, count }, 'work failed'),
    )
    return { ...claim, outcome: 'again', reason, delayMs }
  }
}
