// Converts amounts of one currency into another by an exact rate.
import { currencyDigits, type Decimal, parseDecimal } from './money.ts'

const minDecimals = 4
// Far more digits than any real pair of currencies needs, but a bound, so that no product of a conversion grows large.
const maxWholeDigits = 12
const maxDecimals = 18

/** Amounts are kept in a 64-bit column, with room for fees. */
const maxMinor = 10n ** 18n - 1n

/**
 * A rate as it is shown: exactly as its source gave it, with zeros added up to four decimals. Returns undefined unless
 * the text is a plain decimal above zero with at most 12 digits before the point and 18 after it.
 */
export function normalRate(text: string): string | undefined {
  const decimal = parseDecimal(text)
  const [whole = '', fraction = ''] = text.split('.')
  if (decimal === undefined || decimal.digits <= 0n) return undefined
  if (whole.length > maxWholeDigits || fraction.length > maxDecimals) return undefined
  if (whole.length > 1 && whole.startsWith('0')) return undefined
  return `${whole}.${fraction.padEnd(minDecimals, '0')}`
}

/** An amount converted into another currency. */
export type ConvertedAmount = {
  /** Rounded down to whole minor units; may be zero. */
  amountMinor: bigint
  /** Exact worth less the rounded one, in units of the other currency: zero to less than one minor unit. */
  residual: Decimal
}

/**
 * Converts an amount above zero at a rate of `to` units for one `from` unit (major units, ISO 4217 codes). Rounds down
 * to whole minor units, so that exchanging back and forth never makes money. Returns undefined when the result is above
 * 10^18 - 1 minor units. Throws RangeError for an unknown currency.
 */
export function convert(
  amountMinor: bigint,
  from: string,
  to: string,
  rate: Decimal,
): ConvertedAmount | undefined {
  const { numerator, denominator, scale } = exactResult(amountMinor, from, to, rate)
  const rounded = numerator / denominator
  if (rounded > maxMinor) return undefined
  return {
    amountMinor: rounded,
    residual: { digits: numerator - rounded * denominator, scale },
  }
}

/**
 * Converts as `convert` does but rounds up, in minor units of `to`: the result is above a whole limit exactly when the
 * exact value is, and an amount above zero never becomes zero. Returns undefined above 10^18 - 1 minor units. Throws
 * RangeError for an unknown currency.
 */
export function convertUp(
  amountMinor: bigint,
  from: string,
  to: string,
  rate: Decimal,
): bigint | undefined {
  const { numerator, denominator } = exactResult(amountMinor, from, to, rate)
  const rounded = (numerator + denominator - 1n) / denominator
  return rounded > maxMinor ? undefined : rounded
}

/** Prints a decimal without trailing zeros: "-0.0031", "0". */
export function formatDecimal({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale)
  const fraction = text.slice(text.length - scale).replace(/0+$/, '')
  return fraction === '' ? sign + whole : `${sign}${whole}.${fraction}`
}

/** The exact result in minor units of `to`, as a fraction; `scale` is that of the residual in major units. */
function exactResult(amountMinor: bigint, from: string, to: string, rate: Decimal) {
  const fromDigits = digitsOf(from)
  const toDigits = digitsOf(to)
  return {
    numerator: amountMinor * rate.digits * 10n ** BigInt(toDigits),
    denominator: 10n ** BigInt(fromDigits + rate.scale),
    scale: fromDigits + rate.scale + toDigits,
  }
}

function digitsOf(currency: string): number {
  const digits = currencyDigits(currency)
  if (digits === undefined) throw new RangeError('the currency is not one of ISO 4217')
  return digits
}
