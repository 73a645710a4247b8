// The concurrency limit (AIMD) and the circuit breaker of a lane, and how the outcome of an attempt changes them. Pure.
import type { AttemptOutcome } from './delivery.ts'

/** State of a circuit breaker. */
export type Breaker = 'closed' | 'open' | 'half_open'

/** An answer of a URL, by the clock of the process. */
interface ResponseTime {
  url: string
  atMs: number
}

/** The state of a lane in one process. All times are milliseconds by the clock of the process. */
export interface Lane {
  /** Attempts that may be in flight at once, over all processes: 1 to 16. */
  limit: number
  /** Successes toward the next growth of the limit. */
  growth: number
  breaker: Breaker
  /** End of the time for which the breaker is open. */
  breakerUntilMs: number
  /** How often in a row the breaker opened. */
  breakerOpened: number
  /** Attempts in a row that could not connect. */
  connectFailures: number
  /** Attempts of the past minute at most, and the failures among them. */
  window: { startedMs: number; attempts: number; failures: number }
  /** The latest answer, and the latest one of any other URL. */
  latest: ResponseTime | undefined
  latestOther: ResponseTime | undefined
  /** When the limit was last halved: attempts that began before say nothing about the new limit. */
  halvedMs: number
}

/** An attempt that has ended. */
export interface LaneAttempt {
  url: string
  startedMs: number
  endedMs: number
  outcome: AttemptOutcome
  /** HTTP status, when there was an answer. */
  status?: number | undefined
  /** Unset when no connection was made. */
  peerAddress?: string | undefined
}

/** How long a breaker stays open: the first time, and at most. */
export interface BreakerTerms {
  openS: number
  maxS: number
}

const minLimit = 2
const maxLimit = 16
const successesPerGrowth = 20
const limitAfterBreaker = 4
const windowMs = 60_000
/** A receiver that answered within this time keeps two slots, even if other requests fail. */
const answersCountMs = 600_000
const connectFailuresToOpen = 5
const failuresToOpen = { attempts: 10, share: 0.8 }
const maxDoublings = 20

/** The state of a lane without attempts. */
export function newLane(nowMs: number): Lane {
  return {
    limit: minLimit,
    growth: 0,
    breaker: 'closed',
    breakerUntilMs: 0,
    breakerOpened: 0,
    connectFailures: 0,
    window: { startedMs: nowMs, attempts: 0, failures: 0 },
    latest: undefined,
    latestOther: undefined,
    halvedMs: Number.NEGATIVE_INFINITY,
  }
}

/** Attempts for one URL that may be in flight at once: half of the slots, at least one. */
export function urlShare(slots: number): number {
  return Math.max(1, Math.floor(slots / 2))
}

/**
 * The lane after an attempt: additive increase, multiplicative decrease. The limit grows by one for each 20 successes. It is
 * halved when connecting fails, by 429 and 503, and by a time-out during which no other URL of the lane answered; once for all
 * attempts that were in flight together. It stays at 2 or more while the receiver answers, and is 2, then 4 after the breaker
 * closes. Other errors may be about one order only, so they count for the breaker alone. A time-out while other URLs answer
 * counts for neither: only that URL is slow.
 */
export function learn(lane: Lane, attempt: LaneAttempt, terms: BreakerTerms): Lane {
  const { outcome, status, endedMs } = attempt
  // Nothing was sent: a missing secret, a refused address, or a stop of the process.
  if (outcome === 'unsigned' || outcome === 'unknown') return lane
  const isGood = outcome === 'delivered'
  const isUnconnected = outcome === 'connection_failed' && attempt.peerAddress === undefined
  const isTimeOut = outcome === 'timed_out' && !othersAnswered(lane, attempt)
  const isBad =
    isTimeOut || outcome === 'connection_failed' || (outcome === 'refused' && status !== 410)
  const isOverload = isTimeOut || isUnconnected || status === 429 || status === 503
  const next = {
    ...lane,
    ...answersAfter(lane, attempt),
    connectFailures: isUnconnected ? lane.connectFailures + 1 : 0,
    window: windowAfter(lane, endedMs, { isGood, isBad }),
  }
  if (isBad && opens(next)) return opened(next, endedMs, terms)
  if (isGood && lane.breaker === 'half_open') return closed(next, endedMs)
  if (isOverload) return halved(next, attempt)
  return isGood ? grown(next) : atLeastMin(next, endedMs)
}

/** Whether another URL of the lane answered since the attempt began. */
function othersAnswered({ latest, latestOther }: Lane, { url, startedMs }: LaneAttempt): boolean {
  const other = latest?.url === url ? latestOther : latest
  return other !== undefined && other.atMs >= startedMs
}

function answersAfter(
  { latest, latestOther }: Lane,
  { url, endedMs, status }: LaneAttempt,
): Pick<Lane, 'latest' | 'latestOther'> {
  if (status === undefined) return { latest, latestOther }
  return {
    latest: { url, atMs: endedMs },
    latestOther: latest === undefined || latest.url === url ? latestOther : latest,
  }
}

function windowAfter(
  { window }: Lane,
  nowMs: number,
  { isGood, isBad }: { isGood: boolean; isBad: boolean },
): Lane['window'] {
  const open =
    nowMs - window.startedMs > windowMs ? { startedMs: nowMs, attempts: 0, failures: 0 } : window
  return {
    startedMs: open.startedMs,
    attempts: open.attempts + (isGood || isBad ? 1 : 0),
    failures: open.failures + (isBad ? 1 : 0),
  }
}

function opens({ breaker, connectFailures, window }: Lane): boolean {
  if (breaker !== 'closed') return breaker === 'half_open'
  return (
    connectFailures >= connectFailuresToOpen ||
    (window.attempts >= failuresToOpen.attempts &&
      window.failures >= window.attempts * failuresToOpen.share)
  )
}

const emptyWindow = (nowMs: number) => ({ startedMs: nowMs, attempts: 0, failures: 0 })

function opened(lane: Lane, nowMs: number, { openS, maxS }: BreakerTerms): Lane {
  const openForS = Math.min(maxS, openS * 2 ** Math.min(lane.breakerOpened, maxDoublings))
  return {
    ...lane,
    breaker: 'open',
    breakerUntilMs: nowMs + openForS * 1_000,
    breakerOpened: lane.breakerOpened + 1,
    connectFailures: 0,
    window: emptyWindow(nowMs),
    limit: minLimit,
  }
}

function closed(lane: Lane, nowMs: number): Lane {
  return { ...lane, breaker: 'closed', window: emptyWindow(nowMs), limit: minLimit }
}

function halved(lane: Lane, { startedMs, endedMs }: LaneAttempt): Lane {
  if (startedMs < lane.halvedMs) return atLeastMin({ ...lane, growth: 0 }, endedMs)
  const limit = Math.floor(lane.limit / 2)
  return atLeastMin({ ...lane, growth: 0, limit, halvedMs: endedMs }, endedMs)
}

function grown(lane: Lane): Lane {
  if (lane.breakerOpened > 0 && lane.limit < limitAfterBreaker) {
    return { ...lane, limit: Math.min(limitAfterBreaker, Math.max(minLimit, lane.limit * 2)) }
  }
  const growth = lane.growth + 1
  const grows = growth >= successesPerGrowth
  return {
    ...lane,
    breakerOpened: 0,
    growth: grows ? 0 : growth,
    limit: Math.min(maxLimit, Math.max(minLimit, grows ? lane.limit + 1 : lane.limit)),
  }
}

function atLeastMin(lane: Lane, nowMs: number): Lane {
  const answers = lane.latest !== undefined && nowMs - lane.latest.atMs < answersCountMs
  return { ...lane, limit: Math.max(answers ? minLimit : 1, lane.limit) }
}
