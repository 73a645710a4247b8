// Converts amounts into the currency of the limits. Money that moves is not converted here.
import { Failure } from '#core/errors/errors.ts'
import { convertUp } from '#core/money/exchange.ts'
import { parseDecimal } from '#core/money/money.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Peers } from './peers.ts'

/** Quoted units for one base unit, as decimal text. */
export type RateOf = (base: string, quoted: string) => Promise<string>

const rememberMs = 10_000
const maxCached = 1_000

/** Asks the quotes service for a rate, once in ten seconds and pair; limits need no fresher one. */
export function rateKeeper(
  quotes: Pick<Peers['quotes'], 'getRate'>,
  now: () => number = Date.now,
): RateOf {
  const remembered = new Map<string, { rate: Promise<string>; untilMs: number }>()
  return (baseCurrency, quotedCurrency) => {
    const key = `${baseCurrency} ${quotedCurrency}`
    const known = remembered.get(key)
    if (known !== undefined && now() < known.untilMs) return known.rate
    // Shared by calls, so bound to the deadline and the abort of none of them.
    const rate = runDetached(async () => {
      const answer = await quotes.getRate({ baseCurrency, quotedCurrency })
      return answer.rate
    })
    if (remembered.size >= maxCached) remembered.clear()
    remembered.set(key, { rate, untilMs: now() + rememberMs })
    // A failure to ask is not remembered.
    rate.catch(() => {
      if (remembered.get(key)?.rate === rate) remembered.delete(key)
    })
    return rate
  }
}

/** An amount as the limits count it: rounded up, so that a limit is exceeded exactly when the exact worth is above it. */
export async function countedMinor(
  rateOf: RateOf,
  { amountMinor, currency }: { amountMinor: bigint; currency: string },
  limitCurrency: string,
): Promise<bigint> {
  if (currency === limitCurrency) return amountMinor
  const rate = parseDecimal(await rateOf(currency, limitCurrency))
  if (rate === undefined) throw new Error('the rate cannot be read')
  const counted = convertUp(amountMinor, currency, limitCurrency, rate)
  if (counted === undefined) throw new Failure('LIMIT_EXCEEDED', 'no limit is as high as that')
  return counted
}
