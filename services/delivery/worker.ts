// The loop that claims due deliveries, posts them and records what came of it; it must hold no statement of its own.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#runtime/db.ts'
import { createWake } from '#runtime/events/wake.ts'
import type { Logger } from '#runtime/log.ts'
import { endPushSpan, pushSpan } from '#runtime/spans.ts'
import { type Claimed, claimDue } from './claim-store.ts'
import type { BreakerTerms, Completion } from './complete-store.ts'
import { createCompleter, type EndedAttempt } from './completer.ts'
import { judge } from './delivery.ts'
import type { DeliveryMetrics } from './metrics.ts'
import type { PostEnd, Poster } from './post.ts'
import type { Sign } from './signing.ts'
import { openUrlQueues } from './url-queue-store.ts'

/** What the worker needs. */
export interface WorkerOptions {
  db: Database
  poster: Poster
  /** Makes the headers of signed pushes. */
  sign: Sign
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
  /** Of them to one hostname at most, whatever the project. */
  hostLimit?: number
  /** Told of attempts as they are recorded. */
  onEnded?: (ended: EndedAttempt[]) => void
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
const defaultHostLimit = 32
const endpointsPerClaim = 64
const pollMs = { least: 20, most: 250 }
const failedClaimPauseMs = 1_000
/** Between the beginnings of two small claims: what comes in a shower is claimed together, what comes alone at once. */
const claimSpacingMs = 10
/** One attempt takes 15 s; what has not ended by then never will. */
const finishWithinMs = 16_000
const recordWithinMs = 5_000

/** Starts the loop. */
export function startWorker(options: WorkerOptions): DeliveryWorker {
  const { db, log, metrics, inHandLimit = defaultInHandLimit, random = Math.random } = options
  const { hostLimit = defaultHostLimit } = options
  const leaseS = Math.max(60, (2 * options.timeoutMs) / 1_000 + 10)
  const pace = createPace()
  const stopping = new AbortController()
  const cutting = new AbortController()
  const posts = createPosts()
  let abandoned = false
  const completer = createCompleter({ ...options, onRecorded: pace.wake })
  const inHand = () => posts.size() + completer.waiting()
  const claimLimits = { endpoints: endpointsPerClaim, leaseS, hostLimit }

  async function deliver(claimed: Claimed): Promise<void> {
    const end = await attempt(options, claimed, cutting.signal)
    if (abandoned) return
    if (claimed.number === 1 && end.outcome !== 'unsigned' && end.outcome !== 'blocked') {
      metrics.firstPost.observe((claimed.startedAt.getTime() - claimed.occurredAt.getTime()) / 1e3)
    }
    const { scheduleS } = options
    const { failures, number, earlierAttempts } = claimed
    const uncounted = number - 1 - earlierAttempts - failures
    const terms = { scheduleS, failures, uncounted, random: random() }
    const completion: Completion = { claimed, end, verdict: judge(end, terms) }
    completer.add(completion)
  }

  async function claim(): Promise<number> {
    const free = inHandLimit - inHand()
    if (free <= 0) return 0
    const limits = { ...claimLimits, deliveries: free, inHandByHost: posts.byHost }
    const { deliveries, blockedLanes } = await claimDue(db, randomUUID(), limits)
    if (abandoned) return 0
    for (const one of deliveries) posts.add(one.hostname, deliver(one))
    if (blockedLanes.length > 0 && (await lookBehind(options, blockedLanes))) pace.kick()
    return deliveries.length
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const beganMs = performance.now()
      const claimed = await claim().catch((error: unknown) => {
        log.warn({ err: error }, 'deliveries not claimed')
        return 'failed' as const
      })
      // Perhaps only the number of receivers to look at ended the claim.
      if (typeof claimed === 'number' && claimed >= endpointsPerClaim) continue
      if (!stopping.signal.aborted) await pace.pause(claimed, beganMs)
    }
  }

  async function close(): Promise<void> {
    stopping.abort()
    pace.wake()
    await running
    const cut = setTimeout(() => cutting.abort(), finishWithinMs)
    await posts.all()
    clearTimeout(cut)
    await completer.close(recordWithinMs)
  }

  metrics.watchInHand({ inHand, inHandLimit, byHost: posts.byHost, hostLimit })
  const running = run()
  return {
    kick: pace.kick,
    inHand,
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

/** True when there may be more to claim. After a failure the next claim, a second later, finds the lanes blocked again. */
async function lookBehind({ db, log }: WorkerOptions, laneIds: string[]): Promise<boolean> {
  return openUrlQueues(db, laneIds).then(
    (opened) => opened > 0,
    (error: unknown) => {
      log.warn({ err: error }, 'queues of URLs not opened')
      return false
    },
  )
}

/** One POST, signed when its kind is: each attempt anew. */
async function attempt(
  options: WorkerOptions,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<PostEnd> {
  const span = pushSpan(claimed, claimed.traceparent)
  const end = await postSigned(options, claimed, signal)
  endPushSpan(span, end)
  return end
}

async function postSigned(
  { poster, sign }: WorkerOptions,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<PostEnd> {
  const { url, body } = claimed
  const headers = identifiersOf(claimed)
  if (claimed.kind !== 'onboarding') return poster.post(url, body, signal, headers)
  const signed = await sign(claimed)
  if ('end' in signed) return signed.end
  return poster.post(url, body, signal, { ...headers, ...signed.headers })
}

/** Headers that identify a push: only the attempt's number differs from attempt to attempt. */
function identifiersOf(claimed: Claimed): Record<string, string> {
  const { deliveryId, number, eventId, kind, subjectId } = claimed
  return {
    'PW-delivery-id': deliveryId,
    'PW-delivery-attempt': String(number),
    'PW-event-id': eventId,
    ...(kind === 'onboarding' ? {} : { 'PW-payment-details-id': subjectId }),
  }
}

/** The POSTs under way, counted by hostname. */
function createPosts() {
  const running = new Set<Promise<void>>()
  const byHost = new Map<string, number>()

  function count(hostname: string, change: 1 | -1): void {
    const now = (byHost.get(hostname) ?? 0) + change
    if (now === 0) byHost.delete(hostname)
    else byHost.set(hostname, now)
  }

  return {
    byHost: byHost as ReadonlyMap<string, number>,
    size: () => running.size,
    all: () => Promise.all(running),
    add(hostname: string, work: Promise<void>): void {
      count(hostname, 1)
      const post = work.finally(() => {
        running.delete(post)
        count(hostname, -1)
      })
      running.add(post)
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
    async pause(claimed: number | 'failed', beganMs: number): Promise<void> {
      if (claimed === 'failed') return pause(failedClaimPauseMs)
      const nowMs = claimed > 0 ? pollMs.least : pauseMs
      pauseMs = Math.min(pollMs.most, nowMs * 2)
      await pause(nowMs)
      const earlyMs = beganMs + claimSpacingMs - performance.now()
      if (earlyMs > 0) await delay(earlyMs)
    },
  }
}
