// Step 6 of the edge: how many calls a subscription key may make; it must not know why.
import { Failure, reasons } from '#core/errors.ts'
import { tokenBucket } from '#core/token-bucket.ts'

/** Lets a call of this key pass or throws RATE_LIMIT_EXCEEDED. */
export type RateLimit = (keyId: string) => void

/** `ratePerS` is for all gateway processes together, of which there are `replicas`; 0 lets all pass. */
export function rateLimit(
  ratePerS: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): RateLimit {
  if (ratePerS === 0) return () => undefined
  const shareS = ratePerS / replicas
  const buckets = tokenBucket({ ratePerS: shareS, burst: Math.max(1, 2 * shareS) })
  return (keyId) => {
    const { ok, retryAfterS } = buckets.take(keyId, nowMs())
    if (ok) return
    throw new Failure('RATE_LIMIT_EXCEEDED', reasons.RATE_LIMIT_EXCEEDED.meaning, { retryAfterS })
  }
}
