// Rates between currencies, crossed over the dollar in exact decimals, never in floats.
import { Failure } from '#core/errors/errors.ts'
import { isCurrency, parseDecimal } from '#core/money/money.ts'

/** Units of each currency for one US dollar. */
export const unitsPerDollar: Readonly<Record<string, string>> = {
  USD: '1',
  TTD: '6.7829',
  EUR: '0.9210',
  GBP: '0.7870',
  JPY: '149.35',
  JMD: '157.20',
  BHD: '0.3760',
  XOF: '604.10',
}

const minDecimals = 4
const crossDecimals = 8

/**
 * Quoted units for one base unit. From the dollar it is the figure of the table with at least 4 decimals, between
 * others a cross with 8, rounded down; of any currency to itself it is "1.0000". No circle of rates multiplies to more
 * than one, as `payweave.backend.v1` obliges a source: crosses rounded to the nearest decimal gained 3 parts of a million on the way
 * from USD to XOF and back.
 */
export function rateBetween(base: string, quoted: string): string {
  if (base === quoted && isCurrency(base)) return print(1n, 0, minDecimals)
  const dividend = unitsOf(quoted)
  const divisor = unitsOf(base)
  if (base === 'USD') return print(dividend.digits, dividend.scale, minDecimals)
  // (q / 10^s) / (b / 10^t), as whole units of the eighth decimal.
  const numerator = dividend.digits * 10n ** BigInt(divisor.scale + crossDecimals)
  const denominator = divisor.digits * 10n ** BigInt(dividend.scale)
  return print(numerator / denominator, crossDecimals, crossDecimals)
}

function unitsOf(currency: string) {
  const text = Object.hasOwn(unitsPerDollar, currency) ? unitsPerDollar[currency] : undefined
  const units = text === undefined ? undefined : parseDecimal(text)
  if (units !== undefined) return units
  throw new Failure('CURRENCY_NOT_SUPPORTED', 'there is no rate for one of the currencies')
}

/** Digits with a point before the last `scale` of them, padded to at least `minDecimals` decimals. */
function print(digits: bigint, scale: number, minDecimals: number): string {
  const decimals = Math.max(scale, minDecimals)
  const text = String(digits * 10n ** BigInt(decimals - scale)).padStart(decimals + 1, '0')
  return `${text.slice(0, -decimals)}.${text.slice(-decimals)}`
}
