// Keeps the access token of one MTN product until it expires.

/** A token and how long MTN takes it, in seconds. */
export type Token = { value: string; expiresInS: number }

export type TokenCache = {
  /** The token, which is fetched once for all that wait for it. Rejects as `fetchToken` does. */
  current(): Promise<string>
  /** Forgets a token that MTN refused, unless a newer one has replaced it. */
  forget(value: string): void
}

/** A token is renewed this long before it expires. */
const marginMs = 60_000

/** Makes the cache; it fetches no token before the first one is needed. */
export function createTokenCache(
  fetchToken: () => Promise<Token>,
  nowMs: () => number = () => performance.now(),
): TokenCache {
  let cached: { value: string; untilMs: number } | undefined
  let fetching: Promise<string> | undefined
  const renew = async () => {
    try {
      const { value, expiresInS } = await fetchToken()
      cached = { value, untilMs: nowMs() + expiresInS * 1_000 - marginMs }
      return value
    } finally {
      fetching = undefined
    }
  }
  return {
    async current() {
      if (cached !== undefined && nowMs() < cached.untilMs) return cached.value
      fetching ??= renew()
      return await fetching
    },
    forget(value) {
      if (cached?.value === value) cached = undefined
    },
  }
}
