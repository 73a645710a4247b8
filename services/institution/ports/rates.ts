// Converts amounts into the currency of the limits. Money that moves is not converted here.
import { Failure } from '#core/errors/errors.ts'
import { convertUp } from '#core/money/exchange.ts'
import { parseDecimal } from '#core/money/money.ts'
import { ttlCache } from '#platform/rpc/client/ttl-cache.ts'
import { runDetached } from '#platform/rpc/context.ts'
import type { Peers } from './peers.ts'

/** Quoted units for one base unit, as decimal text. */
export type RateOf = (base: string, quoted: string) => Promise<string>

const rateTtlMs = 10_000
const maxRates = 1_000

/** Makes the function that asks the quotes service for rates, and caches each for ten seconds: limits need no fresher one. */
export function rateKeeper(quotes: Pick<Peers['quotes'], 'getRate'>): RateOf {
  const rates = ttlCache<string>({
    ttlMs: () => rateTtlMs,
    refusedTtlMs: () => 0,
    maxEntries: maxRates,
  })
  return async (baseCurrency, quotedCurrency) =>
    rates.get(`${baseCurrency} ${quotedCurrency}`, () =>
      // Callers share this look-up, so it has the deadline and the abort of none of them.
      runDetached(async () => (await quotes.getRate({ baseCurrency, quotedCurrency })).rate),
    )
}

/** An amount as the limits count it: rounded up, so that a limit is exceeded exactly when the exact worth is above it. */
export async function countedMinor(
  rateOf: RateOf,
  { amountMinor, currency }: { amountMinor: bigint; currency: string },
  limitCurrency: string,
): Promise<bigint> {
  if (currency === limitCurrency) return amountMinor
  const rate = parseDecimal(await rateOf(currency, limitCurrency).catch(refuseCurrency))
  if (rate === undefined) throw new Error('the rate cannot be read')
  const counted = convertUp(amountMinor, currency, limitCurrency, rate)
  if (counted === undefined) throw new Failure('LIMIT_EXCEEDED', 'the amount exceeds every limit')
  return counted
}

/** Names the field of what the service quotes refuses without one. */
function refuseCurrency(error: unknown): never {
  if (!(error instanceof Failure) || error.reason !== 'CURRENCY_NOT_SUPPORTED') throw error
  const field = 'sender_currency'
  const message = `${field} has no exchange rate into the currency of the user limits`
  throw new Failure('CURRENCY_NOT_SUPPORTED', message, { details: { field }, cause: error })
}
