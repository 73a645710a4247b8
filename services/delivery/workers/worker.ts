// The loop that claims due deliveries, posts them and records the outcome.
import type { Database } from '#platform/db/db.ts'
import { startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { endPushSpan, pushSpan } from '#platform/telemetry/spans.ts'
import type { Claimed, PostEnd } from '../domain/delivery.ts'
import { judge } from '../domain/delivery.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import type { Sign } from '../operations/signing.ts'
import type { Poster } from '../ports/post.ts'
import { type Claim, type ClaimLimits, claimDue } from '../store/claim-store.ts'
import type { BreakerTerms, Completion } from '../store/complete-store.ts'
import { openUrlQueues } from '../store/url-queue-store.ts'
import { createCompleter, type EndedAttempt } from './completer.ts'
import type { LeaseOwner } from './instance.ts'

/** What the worker needs. */
export interface WorkerOptions {
  db: Database
  leases: LeaseOwner
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
  /** Maximum deliveries in flight. */
  maxInFlight?: number
  /** Maximum of them to one hostname, over all projects. */
  hostLimit?: number
  /** Called with attempts as they are recorded. */
  onEnded?: (ended: EndedAttempt[]) => void
}

/** A worker that runs. */
export interface DeliveryWorker {
  /** Notifies the worker that something may be due. */
  notify(): void
  /** Deliveries in flight: claimed and not yet recorded. */
  inFlight(): number
  /** Stops claiming, drains the POSTs in flight, releases the rest. Resolves when all of it is recorded. */
  close(): Promise<void>
  /** Drops everything where it is, as a crash would: nothing more is recorded. For tests. */
  abandon(): void
}

const defaultMaxInFlight = 256
const defaultHostLimit = 32
const endpointsPerClaim = 64
const pollMs = { min: 20, max: 250 }
const failedClaimPauseMs = 1_000
/** Between the beginnings of two small claims: a burst is claimed together, a single delivery at once. */
const claimSpacingMs = 10
/** One attempt takes 15 s; what has not ended by then never will. */
const finishWithinMs = 16_000
const recordWithinMs = 5_000

/** Starts the loop. */
export function startWorker(options: WorkerOptions): DeliveryWorker {
  const { log, metrics, maxInFlight = defaultMaxInFlight, random = Math.random } = options
  const { hostLimit = defaultHostLimit } = options
  const leaseS = Math.max(60, (2 * options.timeoutMs) / 1_000 + 10)
  const cutting = new AbortController()
  const posts = createPosts()
  let abandoned = false
  const completer = createCompleter({ ...options, onRecorded: () => loop.notify() })
  const inFlight = () => posts.size() + completer.waiting()
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
    const free = maxInFlight - inFlight()
    if (free <= 0) return 0
    const limits = { ...claimLimits, deliveries: free, inFlightByHost: posts.byHost }
    const { deliveries, blockedLanes } = await claimUnderLease(options, limits)
    if (abandoned) return 0
    for (const one of deliveries) posts.add(one.hostname, deliver(one))
    if (blockedLanes.length > 0 && (await lookBehind(options, blockedLanes))) loop.notify()
    return deliveries.length
  }

  async function round(): Promise<boolean | number> {
    try {
      const claimed = await claim()
      // Perhaps only the number of receivers to look at ended the claim.
      if (claimed >= endpointsPerClaim) return true
      return claimed > 0 ? pollMs.min : false
    } catch (error) {
      log.warn({ err: error }, 'deliveries not claimed')
      return failedClaimPauseMs
    }
  }

  async function close(): Promise<void> {
    await loop.close()
    await drainPosts(posts, cutting)
    await completer.close(recordWithinMs)
  }

  metrics.observeInFlight({ inFlight, maxInFlight, byHost: posts.byHost, hostLimit })
  const loop = startLoop({
    kind: 'deliveries',
    log,
    pauseMs: pollMs.min,
    idlePauseMs: pollMs.max,
    gatherMs: ({ agoMs }) => claimSpacingMs - agoMs,
    round,
  })
  return {
    notify: loop.notify,
    inFlight,
    close,
    abandon() {
      abandoned = true
      void loop.close()
      cutting.abort()
      completer.abandon()
    },
  }
}

/** Waits for the POSTs in flight, and cuts those that take too long. */
async function drainPosts(
  posts: ReturnType<typeof createPosts>,
  cutting: AbortController,
): Promise<void> {
  const cut = setTimeout(() => cutting.abort(), finishWithinMs)
  await posts.all()
  clearTimeout(cut)
}

async function claimUnderLease({ db, leases }: WorkerOptions, limits: ClaimLimits): Promise<Claim> {
  await leases.settled()
  const token = leases.issueToken()
  try {
    return await claimDue(db, token, limits)
  } catch (error) {
    leases.abandonToken(token)
    throw error
  }
}

/** True when there may be more to claim. After a failure the next claim, a second later, finds the lanes blocked again. */
async function lookBehind({ db, log }: WorkerOptions, laneIds: string[]): Promise<boolean> {
  return openUrlQueues(db, laneIds).then(
    (opened) => opened > 0,
    (error: unknown) => {
      log.warn({ err: error }, 'URL queues not opened')
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
