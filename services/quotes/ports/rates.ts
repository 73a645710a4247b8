// Returns rates that are fresh enough, from the source or cached for seconds.
import { Failure } from '#core/errors/errors.ts'
import { normalRate } from '#core/money/exchange.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { Rate } from '../domain/quote.ts'

/** The rate between two currencies. CURRENCY_NOT_SUPPORTED without one, SERVICE_UNAVAILABLE without a fresh one. */
export type FindRate = (base: string, quoted: string) => Promise<Rate>

/** What the source is asked, and how long for; its text is not checked yet. */
export type RateSource = (base: string, quoted: string, withinMs: number) => Promise<Rate>

export type RateOptions = {
  source: RateSource
  /** Age by its source time beyond which a rate is not used. */
  maxAgeS: number
  log: Logger
  onAsked: (outcome: 'fresh' | 'stale' | 'refused' | 'failed') => void
  now?: () => Date
}

const rememberMs = 5_000
// Leaves time to go on with the last rate.
const answerWithinMs = 1_500
// Without one there is nothing to go on with; the gateway gives all calls of a quote together 15 s.
const firstAnswerWithinMs = 3_500
// More than the pairs of any project; each is a few hundred bytes.
const maxCached = 5_000

type Remembered = {
  rate: Promise<Rate>
  untilMs: number
  isSettled: boolean
  /** Rate of the latest completed request. */
  last: Rate | undefined
}

/**
 * Asks the source once in some seconds for each pair; calls that come together share one request. While the source does not
 * answer, the last rate is used for as long as it is fresh.
 */
export function rateFinder({ source, maxAgeS, log, onAsked, now = () => new Date() }: RateOptions) {
  const remembered = new Map<string, Remembered>()
  const isFresh = ({ sourceTime }: Rate) =>
    now().getTime() - sourceTime.getTime() <= maxAgeS * 1_000

  async function ask(base: string, quoted: string, last: Rate | undefined): Promise<Rate> {
    try {
      const withinMs = last === undefined ? firstAnswerWithinMs : answerWithinMs
      const rate = checked(await source(base, quoted, withinMs))
      onAsked(isFresh(rate) ? 'fresh' : 'stale')
      return rate
    } catch (error) {
      const isRefusal = error instanceof Failure && error.reason === 'CURRENCY_NOT_SUPPORTED'
      onAsked(isRefusal ? 'refused' : 'failed')
      if (isRefusal) throw error
      log.warn({ err: error }, 'the source of rates did not answer')
      if (last !== undefined) return last
      throw noRate(error)
    }
  }

  const findRate: FindRate = async (base, quoted) => {
    if (base === quoted) return { text: '1.0000', sourceTime: now() }
    const key = `${base} ${quoted}`
    const nowMs = now().getTime()
    const known = remembered.get(key)
    const isServed = known !== undefined && serves(known, nowMs)
    const entry = isServed ? known : remember(key, base, quoted, nowMs, known?.last)
    const rate = await entry.rate
    if (!isFresh(rate)) throw noRate(new Error('the rate is older than it may be'))
    return rate
  }

  /** A rate that grew old while it was remembered is asked for again. */
  function serves({ untilMs, isSettled, last }: Remembered, nowMs: number): boolean {
    if (nowMs >= untilMs) return false
    return !isSettled || (last !== undefined && isFresh(last))
  }

  function remember(
    key: string,
    base: string,
    quoted: string,
    nowMs: number,
    last: Rate | undefined,
  ): Remembered {
    const entry: Remembered = {
      // Shared by calls, so bound to the deadline and the abort of none of them.
      rate: runDetached(() => ask(base, quoted, last)),
      untilMs: nowMs + rememberMs,
      isSettled: false,
      last,
    }
    remembered.delete(key)
    remembered.set(key, entry)
    if (remembered.size > maxCached) forgetOldest(remembered)
    void settle(key, entry)
    return entry
  }

  async function settle(key: string, entry: Remembered): Promise<void> {
    try {
      entry.last = await entry.rate
      entry.isSettled = true
    } catch {
      // A request that failed is repeated.
      if (remembered.get(key) === entry) remembered.delete(key)
    }
  }

  return findRate
}

/** A source that breaks its promise is as good as none. */
function checked({ text, sourceTime }: Rate): Rate {
  const normal = normalRate(text)
  if (normal === undefined || Number.isNaN(sourceTime.getTime())) {
    throw new Error('the source gave no rate')
  }
  return { text: normal, sourceTime }
}

function noRate(cause: unknown): Failure {
  return new Failure('SERVICE_UNAVAILABLE', 'there is no fresh rate', { cause })
}

function forgetOldest(remembered: Map<string, unknown>): void {
  const oldest = remembered.keys().next()
  if (oldest.done !== true) remembered.delete(oldest.value)
}
