// Rate limits: calls by subscription key (step 6 of the edge), look-ups by value.
import { Failure, reasons } from '#core/errors/errors.ts'
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

/** Kinds of look-ups. Sessions by either route count together, each other kind has a limit of its own. */
export type LookupKind = 'session' | 'balance' | 'account history' | 'institution history'

/** Counts a look-up of a project's value, in the form in which values are compared, or throws RATE_LIMIT_EXCEEDED. */
export type LookupLimit = (kind: LookupKind, projectId: string, value: string) => void

/** Balances and histories are read more often than sessions are opened. */
const readsBySession = 6

/** Limits look-ups by minute, project and value: `perMin` sessions, six times as many of each other kind. 0: no limit. */
export function lookupLimit(
  perMin: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): LookupLimit {
  const byMinute = (count: number) => limit(count / 60 / replicas, count / replicas, nowMs)
  const limits: Record<LookupKind, RateLimit> = {
    session: byMinute(perMin),
    balance: byMinute(readsBySession * perMin),
    'account history': byMinute(readsBySession * perMin),
    'institution history': byMinute(readsBySession * perMin),
  }
  return (kind, projectId, value) => limits[kind](`${projectId} ${value}`)
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
