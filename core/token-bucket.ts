// Limits a rate per key in bounded memory. The clock is a parameter.

/** Whether a request may pass, how many more may pass now, and in how many whole seconds one more than those. */
export type Admission = { ok: boolean; left: number; resetS: number }

/** A limiter for many keys. */
export type TokenBucket = {
  /**
   * Takes one token of the key, if it has one. `nowMs` is any clock in milliseconds; one that goes back adds no tokens.
   */
  take(key: string, nowMs: number): Admission
}

// Fractions of tokens add up inexactly: without it, a caller that waited `resetS` could be refused again.
const roundingTokens = 1e-9

type Bucket = { tokens: number; filledMs: number }

/**
 * Makes a limiter with one bucket for each key: `burst` requests at once, `ratePerS` per second in the long run. Keeps
 * at most `maxKeys` buckets and forgets the least recently used first, since it has refilled the most. Throws
 * RangeError unless the rate is above zero, and the burst and `maxKeys` are at least one.
 */
export function tokenBucket({
  ratePerS,
  burst,
  maxKeys = 10_000,
}: {
  ratePerS: number
  burst: number
  maxKeys?: number
}): TokenBucket {
  if (!(ratePerS > 0 && burst >= 1 && maxKeys >= 1)) {
    throw new RangeError('a token bucket needs a rate above zero, and a burst and keys from one up')
  }
  const buckets = new Map<string, Bucket>()

  function refill(key: string, nowMs: number): Bucket {
    const bucket = buckets.get(key)
    if (!bucket) return { tokens: burst, filledMs: nowMs }
    // A clock that was set back adds no tokens, and counting starts from its new time.
    const elapsedMs = Math.max(0, nowMs - bucket.filledMs)
    const tokens = Math.min(burst, bucket.tokens + (elapsedMs * ratePerS) / 1000)
    return { tokens, filledMs: nowMs }
  }

  function keep(key: string, bucket: Bucket): void {
    buckets.delete(key)
    const oldest = buckets.size >= maxKeys ? buckets.keys().next().value : undefined
    if (oldest !== undefined) buckets.delete(oldest)
    buckets.set(key, bucket)
  }

  return {
    take(key, nowMs) {
      const bucket = refill(key, nowMs)
      const ok = bucket.tokens >= 1 - roundingTokens
      if (ok) bucket.tokens = Math.max(0, bucket.tokens - 1)
      keep(key, bucket)
      const left = Math.floor(bucket.tokens + roundingTokens)
      const resetS = Math.max(1, Math.ceil((left + 1 - bucket.tokens) / ratePerS))
      return { ok, left, resetS }
    },
  }
}
