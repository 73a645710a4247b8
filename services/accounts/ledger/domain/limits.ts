// Decides whether what an account has moved is within its limits.
import { type LimitRoom, limitExceeded, requireRoom } from '#core/money/limit-room.ts'
import type { UserLimits } from '#platform/config/values.ts'
import { refuse, requirePositive } from './lines.ts'

/** What a movement counts against the limits of an account. */
export type LimitUse = { accountId: string; currency: string; amountMinor: bigint }

/** INVALID_PARAMETER unless it is an amount in the currency of the limits. */
export function requireLimitUse({ currency }: UserLimits, use: LimitUse): void {
  requirePositive(use.amountMinor, 'limit_use.amount')
  if (use.currency !== currency) refuse('limit_use.amount.currency', `must be ${currency}`)
}

/** The amounts that the limits of a level still allow. */
export function roomWithin(limits: UserLimits, { level, dayMinor, monthMinor }: Used): LimitRoom {
  const own = limits.levels[level]
  if (own === undefined) throw new Error(`there are no limits for level ${level}`)
  return {
    singleMinor: own.singleMinor,
    dayMinor: left(own.dailyMinor, dayMinor),
    monthMinor: left(own.monthlyMinor, monthMinor),
  }
}

/** What is left of a limit; zero when it was lowered below what was used. */
function left(limitMinor: bigint, usedMinor: bigint): bigint {
  return usedMinor < limitMinor ? limitMinor - usedMinor : 0n
}

/** LIMIT_EXCEEDED unless an amount, which `counted` already includes, is within the limits of the level. */
export function requireWithinLimits(
  limits: UserLimits,
  amountMinor: bigint,
  { level, dayMinor, monthMinor }: Counted,
): void {
  if (dayMinor === undefined || monthMinor === undefined) throw limitExceeded('one transaction')
  const before = { level, dayMinor: dayMinor - amountMinor, monthMinor: monthMinor - amountMinor }
  requireRoom(roomWithin(limits, before), amountMinor)
}

/** The level of an account, and what it has used in the current day and month. */
export type Used = { level: number; dayMinor: bigint; monthMinor: bigint }

/** The same, including a movement. The spans are undefined when the amount alone exceeds the limit of one movement: then it was not counted. */
export type Counted = {
  level: number
  dayMinor: bigint | undefined
  monthMinor: bigint | undefined
}
