// How often something may be asked: calls by subscription key (step 6 of the edge), look-ups by value; it must not know why.
import { Failure, reasons } from '#core/errors.ts'
import { tokenBucket } from '#core/token-bucket.ts'

/** Lets a call under this key pass or throws RATE_LIMIT_EXCEEDED. */
export type RateLimit = (key: string) => void

/** `ratePerS` is for all gateway processes together, of which there are `replicas`; 0 lets all pass. */
export function rateLimit(
  ratePerS: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): RateLimit {
  return limit(ratePerS / replicas, (2 * ratePerS) / replicas, nowMs)
}

/** The same for a rate by the minute: at most that many at once, and as many in each minute after. */
export function lookupLimit(
  perMin: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): RateLimit {
  return limit(perMin / 60 / replicas, perMin / replicas, nowMs)
}

function limit(ratePerS: number, burst: number, nowMs: () => number): RateLimit {
  if (ratePerS === 0) return () => undefined
  const buckets = tokenBucket({ ratePerS, burst: Math.max(1, burst) })
  return (key) => {
    const { ok, retryAfterS } = buckets.take(key, nowMs())
    if (ok) return
    throw new Failure('RATE_LIMIT_EXCEEDED', reasons.RATE_LIMIT_EXCEEDED.meaning, { retryAfterS })
  }
}
