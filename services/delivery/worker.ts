// The loop that claims due deliveries, posts them and records what came of it; it must hold no statement of its own.
import { randomUUID } from 'node:crypto'
import type { Database } from '#runtime/db.ts'
import { createWake } from '#runtime/events/wake.ts'
import type { Logger } from '#runtime/log.ts'
import { type Claimed, claimDue } from './claim-store.ts'
import type { BreakerTerms, Completion } from './complete-store.ts'
import { createCompleter } from './completer.ts'
import { judge } from './delivery.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { Poster } from './post.ts'

/** What the worker needs. */
export interface WorkerOptions {
  db: Database
  poster: Poster
  log: Logger
  metrics: DeliveryMetrics
  /** Pauses after failures; one more failure exhausts. */
  scheduleS: readonly number[]
  breaker: BreakerTerms
  /** Time of one attempt in all: a lease is twice that and 10 s, at least a minute. */
  timeoutMs: number
  /** Draws the jitter; Math.random when unset. */
  random?: () => number
  /** Deliveries in hand at most. */
  inHandLimit?: number
}

/** A worker that runs. */
export interface DeliveryWorker {
  /** Says that something may be due. */
  kick(): void
  /** Deliveries in hand: claimed and not yet recorded. */
  inHand(): number
  /** Stops claiming, lets POSTs in hand end, gives back the rest. Resolves when all of it is recorded. */
  close(): Promise<void>
  /** Drops everything where it is, as a crash would: nothing more is recorded. For tests. */
  abandon(): void
}

const defaultInHandLimit = 256
const endpointsPerClaim = 64
const pollMs = { least: 20, most: 250 }
const failedClaimPauseMs = 1_000
/** One attempt takes 15 s; what has not ended by then never will. */
const finishWithinMs = 16_000
const recordWithinMs = 5_000

/** Starts the loop. */
export function startWorker(options: WorkerOptions): DeliveryWorker {
  const { db, log, metrics, inHandLimit = defaultInHandLimit, random = Math.random } = options
  const leaseS = Math.max(60, (2 * options.timeoutMs) / 1_000 + 10)
  const pace = createPace()
  const stopping = new AbortController()
  const cutting = new AbortController()
  const posts = new Set<Promise<void>>()
  let abandoned = false
  const completer = createCompleter({ ...options, onRecorded: pace.wake })

  async function deliver(claimed: Claimed): Promise<void> {
    if (claimed.number === 1) {
      metrics.firstPost.observe((claimed.startedAt.getTime() - claimed.occurredAt.getTime()) / 1e3)
    }
    const end = await options.poster.post(claimed.url, claimed.body, cutting.signal)
    if (abandoned) return
    const { scheduleS } = options
    const terms = { scheduleS, failures: claimed.failures, random: random() }
    const completion: Completion = { claimed, end, verdict: judge(end, terms) }
    completer.add(completion)
  }

  async function claim(): Promise<number> {
    const free = inHandLimit - posts.size - completer.waiting()
    if (free <= 0) return 0
    const limits = { endpoints: endpointsPerClaim, deliveries: free, leaseS }
    const claimed = await claimDue(db, randomUUID(), limits)
    if (abandoned) return 0
    for (const one of claimed) {
      const post = deliver(one).finally(() => posts.delete(post))
      posts.add(post)
    }
    return claimed.length
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const claimed = await claim().catch((error: unknown) => {
        log.warn({ err: error }, 'deliveries not claimed')
        return 'failed' as const
      })
      // Perhaps only the number of receivers to look at ended the claim.
      if (typeof claimed === 'number' && claimed >= endpointsPerClaim) continue
      if (!stopping.signal.aborted) await pace.pause(claimed)
    }
  }

  async function close(): Promise<void> {
    stopping.abort()
    pace.wake()
    await running
    const cut = setTimeout(() => cutting.abort(), finishWithinMs)
    await Promise.all(posts)
    clearTimeout(cut)
    await completer.close(recordWithinMs)
  }

  const running = run()
  return {
    kick: pace.kick,
    inHand: () => posts.size + completer.waiting(),
    close,
    abandon() {
      abandoned = true
      stopping.abort()
      pace.wake()
      cutting.abort()
      completer.abandon()
    },
  }
}

/** Pauses between claims: short after a kick or a find, longer and longer while nothing is due. */
function createPace() {
  const { pause, wake } = createWake()
  let pauseMs = pollMs.least
  return {
    wake,
    kick() {
      pauseMs = pollMs.least
      wake()
    },
    async pause(claimed: number | 'failed'): Promise<void> {
      if (claimed === 'failed') return pause(failedClaimPauseMs)
      const nowMs = claimed > 0 ? pollMs.least : pauseMs
      pauseMs = Math.min(pollMs.most, nowMs * 2)
      await pause(nowMs)
    },
  }
}
