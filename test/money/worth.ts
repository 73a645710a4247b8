// What amounts are worth at the table of the sandbox, exactly: for tests that compare money of several currencies.
import { currencyDigits } from '#core/money/money.ts'
import { rateBetween, unitsPerDollar } from '../../connectors/simulator/domain/rate.ts'

/** Currencies with a rate. */
export const currencies = Object.keys(unitsPerDollar)

/** Units for one dollar in hundred-thousandths, read digit by digit. */
function perDollar(code: string): bigint {
  const [whole = '', fraction = ''] = (unitsPerDollar[code] ?? '').split('.')
  return BigInt(whole) * 100_000n + BigInt(fraction.padEnd(5, '0'))
}

const maxDigits = 4n
const allPrices = currencies.reduce((product, code) => product * perDollar(code), 1n)

/** A worth as a whole number of a unit so small that every minor unit of every currency is a multiple of it. */
export function worthOf(minor: bigint, currency: string): bigint {
  const scale = 10n ** (maxDigits - BigInt(currencyDigits(currency) ?? 0))
  return minor * scale * (allPrices / perDollar(currency))
}

/** Whether an amount in TTD cents covers another one at the rate by which limits convert, before any rounding. */
export function covers(countedMinor: bigint, minor: bigint, currency: string): boolean {
  const [whole = '', fraction = ''] = rateBetween(currency, 'TTD').split('.')
  const exactCents = minor * BigInt(whole + fraction) * 100n
  return (
    countedMinor * 10n ** BigInt(fraction.length + (currencyDigits(currency) ?? 0)) >= exactCents
  )
}
