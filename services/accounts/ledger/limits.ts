// Says whether an account's use of its limits is within them; it must not count.
import { Failure } from '#core/errors.ts'
import type { UserLimits } from '#runtime/setting-rules.ts'
import type { Usage } from './limit-store.ts'
import { refuse, requirePositive } from './lines.ts'

/** What a movement counts against the limits of an account. */
export type LimitUse = { accountId: string; currency: string; amountMinor: bigint }

/** INVALID_PARAMETER unless it is an amount in the currency of the limits. */
export function requireLimitUse({ currency }: UserLimits, use: LimitUse): void {
  requirePositive(use.amountMinor, 'limit_use.amount')
  if (use.currency !== currency) refuse('limit_use.amount.currency', `must be ${currency}`)
}

/** LIMIT_EXCEEDED unless an amount, and what is used with it counted, is within the limits of the level. */
export function requireWithinLimits(
  limits: UserLimits,
  amountMinor: bigint,
  { level, dayMinor, monthMinor }: Usage,
): void {
  const own = limits.levels[level]
  if (own === undefined) throw new Error(`there are no limits for level ${level}`)
  if (amountMinor > own.singleMinor || dayMinor === undefined || monthMinor === undefined) {
    throw exceeded('one transaction')
  }
  if (dayMinor > own.dailyMinor) throw exceeded('a day')
  if (monthMinor > own.monthlyMinor) throw exceeded('a month')
}

function exceeded(span: string): Failure {
  return new Failure('LIMIT_EXCEEDED', `User limits are exceeded: the limit for ${span}.`)
}
