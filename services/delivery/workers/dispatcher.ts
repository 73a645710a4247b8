// Posts leased deliveries when their lanes have free slots, and passes the outcomes on to lanes and completer.
import { idTimeMs } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { endPushSpan, pushSpan } from '#platform/telemetry/spans.ts'
import { type Claimed, judge, type PostEnd, type Verdict } from '../domain/delivery.ts'
import type { BreakerTerms } from '../domain/lane.ts'
import type { DeliveryMetrics } from '../metrics.ts'
import type { Sign } from '../operations/signing.ts'
import type { Poster } from '../ports/post.ts'
import { wakeLanes } from '../store/lane-store.ts'
import { type Lease, releaseUnsentLeases } from '../store/lease-store.ts'
import { type Completer, createCompleter, type EndedAttempt } from './completer.ts'
import type { LeaseOwner } from './instance.ts'
import { createLanes, type Lanes } from './lanes.ts'

/** Dependencies of the dispatcher. */
export interface DispatcherOptions {
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
  /** Time-out of a whole attempt. A lease lasts twice that and 10 s, at least a minute. */
  timeoutMs: number
  /** Maximum POSTs in flight to one hostname, over all projects. */
  hostLimit: number
  /** The clock of the lanes, in milliseconds. */
  nowMs: () => number
  /** Draws the jitter; Math.random when unset. */
  random?: () => number
  /** Called with attempts as they are recorded. */
  onEnded?: (ended: EndedAttempt[]) => void
  /** Called when a claim may find something. */
  onDue: () => void
}

/** A dispatcher that runs. */
export interface Dispatcher {
  lanes: Lanes
  /** The clock of the lanes, in milliseconds. */
  nowMs: () => number
  /** Posts leased deliveries as soon as they have slots. */
  accept(leased: readonly Claimed[]): void
  /** Deliveries that are leased and not yet recorded. */
  inFlight(): number
  /** Whether the lease is of one of those. */
  holds(lease: Lease): boolean
  /** Resolves when the condition holds, when nothing was recorded for `stalledMs`, or after half a second. */
  untilFree(isFree: () => boolean, stalledMs: number): Promise<void>
  isStopping(): boolean
  /** Takes no more fresh pushes from now on. */
  stop(): void
  /** Puts back what was not posted, drains the POSTs in flight and records them. */
  close(): Promise<void>
  /** Stops at once and records nothing more, as a crash would. For tests. */
  abandon(): void
}

/** Longer than the time-out of an attempt (15 s), so a POST that has not ended by then is aborted. */
const finishWithinMs = 16_000
const recordWithinMs = 5_000
const storeLanesMs = 1_000
const maxWaitMs = 500
const sweepMs = 500
/** Pause between the polls of the worker. A retry that is due sooner needs a timer of its own. */
const pollMs = 1_000

/** Starts with nothing in flight. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const { nowMs } = options
  let isStopping = false
  const freed = createFreed()
  const lanes = createLanes({ ...options, instances: options.leases.instances })
  const held = new Map<string, string>()
  const completer = createCompleter({
    ...options,
    onRecorded(batch) {
      for (const { claimed } of batch) drop(held, claimed)
      freed.notify()
      if (batch.some(({ makesReady }) => makesReady === true)) options.onDue()
    },
  })
  const dispatching: Dispatching = {
    options,
    lanes,
    completer,
    held,
    posts: new Set(),
    cutting: new AbortController(),
    abandoned: false,
    storing: createTimer(() => storeNow(dispatching)),
    sweeping: createTimer(() => sweep(dispatching)),
    dueAgain: createTimer(async () => options.onDue()),
  }
  return {
    lanes,
    nowMs,
    accept: (leased) => accept(dispatching, leased),
    inFlight: () => dispatching.posts.size + lanes.queued() + completer.waiting(),
    holds: ({ deliveryId, leaseToken }) => held.get(deliveryId) === leaseToken,
    async untilFree(isFree, stalledMs) {
      const untilMs = performance.now() + maxWaitMs
      while (!isFree() && performance.now() < untilMs) {
        if (!(await freed.next(stalledMs))) return
      }
    },
    isStopping: () => isStopping,
    stop() {
      isStopping = true
    },
    close: () => close(dispatching),
    abandon() {
      isStopping = true
      dispatching.abandoned = true
      dispatching.cutting.abort()
      completer.abandon()
      stopTimers(dispatching)
    },
  }
}

interface Dispatching {
  options: DispatcherOptions
  lanes: Lanes
  completer: Completer
  /** Lease tokens of the deliveries that are leased and not yet recorded or released, by id. */
  held: Map<string, string>
  posts: Set<Promise<void>>
  cutting: AbortController
  abandoned: boolean
  storing: Timer
  sweeping: Timer
  dueAgain: Timer
}

function accept(dispatching: Dispatching, leased: readonly Claimed[]): void {
  if (dispatching.abandoned) return
  const { lanes, held, sweeping } = dispatching
  for (const one of leased) {
    held.set(one.deliveryId, one.leaseToken)
    lanes.take(one)
  }
  for (const one of leased) lanes.enqueue(one)
  for (const host of new Set(leased.map(({ hostname }) => hostname))) startNext(dispatching, host)
  if (lanes.queued() > 0) sweeping.start(sweepMs)
}

/** Posts what the lanes of a host have slots for. */
function startNext(dispatching: Dispatching, hostname: string): void {
  const { posts, lanes } = dispatching
  for (const claimed of lanes.next(hostname)) {
    const post = deliver(dispatching, claimed).finally(() => posts.delete(post))
    posts.add(post)
  }
}

async function deliver(dispatching: Dispatching, claimed: Claimed): Promise<void> {
  const { options, lanes, completer, cutting, dueAgain } = dispatching
  const startedMs = options.nowMs()
  // By the id of the event: its time may be that of a sandbox whose clock was moved.
  const ageMs = Date.now() - idTimeMs(claimed.eventId)
  const end = await attempt(options, claimed, cutting.signal)
  if (dispatching.abandoned) return
  if (claimed.number === 1 && end.outcome !== 'unsigned' && end.outcome !== 'blocked') {
    options.metrics.firstPost.observe(Math.max(0, ageMs) / 1e3)
  }
  const makesReady = lanes.end(claimed, { ...end, startedMs, endedMs: options.nowMs() })
  const verdict = verdictOn(options, claimed, end)
  completer.add({ claimed, end, verdict, makesReady })
  const { delayMs = pollMs } = verdict
  if (delayMs < pollMs) dueAgain.start(delayMs)
  const gone = verdict.state === 'gone' ? lanes.like(claimed) : []
  storeSoon(dispatching)
  startNext(dispatching, claimed.hostname)
  await release(dispatching, gone, true)
}

/** Stores a breaker that opened at once, and puts the deliveries that wait for its slots back into the table. */
function storeSoon({ lanes, storing, sweeping }: Dispatching): void {
  const changed = lanes.changed()
  if (changed === undefined) return
  storing.start(changed === 'breaker' ? 0 : storeLanesMs)
  if (changed === 'breaker' && lanes.queued() > 0) sweeping.start(0)
}

/** Tries until it succeeds: while the table has an open breaker as closed, claims take pushes that cannot be posted. */
async function storeNow(dispatching: Dispatching): Promise<void> {
  const isStored = await dispatching.lanes.store()
  if (!isStored && !dispatching.abandoned) dispatching.storing.start(storeLanesMs)
}

async function sweep(dispatching: Dispatching): Promise<void> {
  const { lanes, sweeping } = dispatching
  await release(dispatching, lanes.stale())
  if (lanes.queued() > 0) sweeping.start(sweepMs)
}

/** Releases deliveries that were never posted, and ends those whose URL is gone. When that fails, their leases are released later. */
async function release(
  { options, held }: Dispatching,
  leased: Claimed[],
  areGone = false,
): Promise<void> {
  if (leased.length === 0) return
  await releaseUnsentLeases(options.db, leased, areGone).catch((error: unknown) => {
    options.log.warn({ count: leased.length, err: error }, 'leases not released')
    options.leases.releaseUnheld()
  })
  for (const one of leased) drop(held, one)
  options.onDue()
}

/** Forgets a lease, unless the delivery is held under a later one by now. */
function drop(held: Map<string, string>, { deliveryId, leaseToken }: Lease): void {
  if (held.get(deliveryId) === leaseToken) held.delete(deliveryId)
}

async function close(dispatching: Dispatching): Promise<void> {
  const { lanes, completer, posts, cutting } = dispatching
  const left = lanes.drain()
  if (!dispatching.abandoned) await release(dispatching, left)
  const cut = setTimeout(() => cutting.abort(), finishWithinMs)
  while (posts.size > 0) await Promise.all(posts)
  clearTimeout(cut)
  await completer.close(recordWithinMs)
  if (!dispatching.abandoned) {
    await lanes.store()
    await leaveBacklog(dispatching)
  }
  stopTimers(dispatching)
}

/** Other processes claim what waits in lanes that this one has claimed from without making them ready. */
async function leaveBacklog({ options, lanes }: Dispatching): Promise<void> {
  const endpointIds = lanes.backlogged()
  if (endpointIds.length === 0) return
  await wakeLanes(options.db, endpointIds).catch((error: unknown) => {
    options.log.warn({ count: endpointIds.length, err: error }, 'lanes not made ready')
  })
}

function stopTimers({ storing, sweeping, dueAgain }: Dispatching): void {
  for (const timer of [storing, sweeping, dueAgain]) timer.stop()
}

/** A signal for several waiters: slots became free. */
function createFreed() {
  const waiting = new Set<(isFreed: boolean) => void>()
  return {
    notify() {
      for (const resolve of waiting) resolve(true)
    },
    /** False when the time is over. */
    async next(withinMs: number): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const timer = setTimeout(resolve, withinMs, false)
      waiting.add(resolve)
      const isFreed = await promise
      waiting.delete(resolve)
      clearTimeout(timer)
      return isFreed
    },
  }
}

/** Runs once after it was started; an earlier time replaces a later one. */
interface Timer {
  start(afterMs: number): void
  stop(): void
}

function createTimer(work: () => Promise<unknown>): Timer {
  let timer: NodeJS.Timeout | undefined
  let atMs = Number.POSITIVE_INFINITY
  const stop = () => {
    clearTimeout(timer)
    atMs = Number.POSITIVE_INFINITY
  }
  return {
    start(afterMs) {
      const nextMs = performance.now() + afterMs
      if (nextMs >= atMs) return
      stop()
      atMs = nextMs
      timer = setTimeout(() => {
        stop()
        void work()
      }, afterMs)
    },
    stop,
  }
}

function verdictOn(
  { scheduleS, random = Math.random }: DispatcherOptions,
  claimed: Claimed,
  end: PostEnd,
): Verdict {
  const { failures, number, earlierAttempts } = claimed
  const uncounted = number - 1 - earlierAttempts - failures
  return judge(end, { scheduleS, failures, uncounted, random: random() })
}

/** One POST, signed when its kind is: each attempt anew. */
async function attempt(
  options: DispatcherOptions,
  claimed: Claimed,
  signal: AbortSignal,
): Promise<PostEnd> {
  const span = pushSpan(claimed, claimed.traceparent)
  const end = await postSigned(options, claimed, signal)
  endPushSpan(span, end)
  return end
}

async function postSigned(
  { poster, sign }: DispatcherOptions,
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
