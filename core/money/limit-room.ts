// Computes what an account may still move within its user limits. Pure.
import { Failure } from '../errors/errors.ts'

/** The maximum that may be moved now, in minor units of the currency of the limits, each zero or above. */
export type LimitRoom = {
  /** In one transaction. */
  singleMinor: bigint
  /** In the rest of the day. */
  dayMinor: bigint
  /** In the rest of the month. */
  monthMinor: bigint
}

/**
 * Throws LIMIT_EXCEEDED unless there is room for an amount in minor units of the currency of the limits. The narrowest
 * span is checked first, so that the message names it.
 */
export function requireRoom(
  { singleMinor, dayMinor, monthMinor }: LimitRoom,
  amountMinor: bigint,
): void {
  if (amountMinor > singleMinor) throw limitExceeded('one transaction')
  if (amountMinor > dayMinor) throw limitExceeded('a day')
  if (amountMinor > monthMinor) throw limitExceeded('a month')
}

/** Makes (does not throw) the LIMIT_EXCEEDED that names the limit. */
export function limitExceeded(span: 'one transaction' | 'a day' | 'a month'): Failure {
  return new Failure('LIMIT_EXCEEDED', `User limits are exceeded: the limit for ${span}.`)
}
