// Rate limits: calls by subscription key (step 6 of the edge), look-ups by value.
import { Failure, reasons } from '#core/errors/errors.ts'
import { tokenBucket } from '#core/token-bucket.ts'

/** Values of the headers `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
export interface RateLimitHeaders {
  policy: string
  state: string
}

/** A request whose answer says which limits counted it. */
export interface CountedRequest {
  rateLimit: RateLimitHeaders | undefined
}

/** Lets a request under this key pass or throws RATE_LIMIT_EXCEEDED. */
export type RateLimit = (key: string, request: CountedRequest) => void

/** `ratePerS` is for all gateway processes together, of which there are `replicas`; 0 lets all pass. */
export function rateLimit(
  ratePerS: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): RateLimit {
  return limit('key', ratePerS / replicas, (2 * ratePerS) / replicas, nowMs)
}

/** Kinds of look-ups. Sessions by either route count together, each other kind has a limit of its own. */
export type LookupKind = 'session' | 'balance' | 'account history' | 'institution history'

/** Counts a look-up of a project's value, in the form in which values are compared, or throws RATE_LIMIT_EXCEEDED. */
export type LookupLimit = (
  kind: LookupKind,
  projectId: string,
  value: string,
  request: CountedRequest,
) => void

/** Balances and histories are read more often than sessions are opened. */
const readsBySession = 6

/** Limits look-ups by minute, project and value: `perMin` sessions, six times as many of each other kind. 0: no limit. */
export function lookupLimit(
  perMin: number,
  replicas: number,
  nowMs: () => number = () => performance.now(),
): LookupLimit {
  const byMinute = (kind: LookupKind, count: number) =>
    limit(kind, count / 60 / replicas, count / replicas, nowMs)
  const limits: Record<LookupKind, RateLimit> = {
    session: byMinute('session', perMin),
    balance: byMinute('balance', readsBySession * perMin),
    'account history': byMinute('account history', readsBySession * perMin),
    'institution history': byMinute('institution history', readsBySession * perMin),
  }
  return (kind, projectId, value, request) => limits[kind](`${projectId} ${value}`, request)
}

/** `name` is that of the policy in the headers. */
function limit(
  name: 'key' | LookupKind,
  ratePerS: number,
  burst: number,
  nowMs: () => number,
): RateLimit {
  if (ratePerS === 0) return () => undefined
  const quota = Math.max(1, burst)
  const buckets = tokenBucket({ ratePerS, burst: quota })
  const policy = `"${name}";q=${Math.floor(quota)};w=${Math.ceil(quota / ratePerS)}`
  return (key, request) => {
    const { ok, left, resetS } = buckets.take(key, nowMs())
    const state = `"${name}";r=${left};t=${resetS}`
    const { rateLimit: earlier } = request
    request.rateLimit =
      earlier === undefined
        ? { policy, state }
        : { policy: `${earlier.policy}, ${policy}`, state: `${earlier.state}, ${state}` }
    if (ok) return
    const { meaning } = reasons.RATE_LIMIT_EXCEEDED
    throw new Failure('RATE_LIMIT_EXCEEDED', meaning, { retryAfterS: resetS })
  }
}
