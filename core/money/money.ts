// Reads, prints, rounds and splits money in bigint minor units, never in floats.
import { data as listedCurrencies } from 'currency-codes'
import { Failure } from '../errors/errors.ts'

/** The form of every amount in a request. */
export const amountPattern = /^(0|[1-9]\d{0,14})(\.\d{1,4})?$/

/** An exact decimal: `digits` divided by ten to the power of `scale`. */
export type Decimal = { digits: bigint; scale: number }

// Changes of ISO 4217 amendments 175 to 180 that the package does not have yet.
const added: ReadonlyArray<readonly [string, number]> = [['XCG', 2]]
const withdrawn = ['ANG', 'BGN', 'CUC']

// On the list, but with no minor unit: metals, baskets, units of account, testing, "no currency".
const notMoney = 'XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ')

const digitsByCurrency = new Map<string, number>([
  ...listedCurrencies.map((row): [string, number] => [row.code, row.digits]),
  ...added,
])
for (const code of [...withdrawn, ...notMoney]) digitsByCurrency.delete(code)

// 15 digits and three decimals; leaves room for fees within a 64-bit column.
const maxAmountMinor = 10n ** 18n - 1n

/**
 * The decimals of a currency (ISO 4217, upper case): 2 for TTD, 0 for JPY, 3 for BHD. Returns undefined for a code that
 * nobody can pay with, such as XAU.
 */
export function currencyDigits(code: string): number | undefined {
  return digitsByCurrency.get(code)
}

/** Returns whether an ISO 4217 code, in upper case, is a currency to pay with. */
export function isCurrency(code: string): boolean {
  return digitsByCurrency.has(code)
}

/** What the text of an amount must be; reads on from the name of the field. */
export const amountRule =
  'must be a decimal string such as "100.00", of at most 15 digits before the point and 4 after it'

/**
 * Reads the amount of a request, such as "100.00", into minor units. Throws INVALID_PARAMETER for another form, more
 * decimals than the currency has, an unknown currency, zero unless `allowZero`, and more than 10^18 - 1 minor units.
 * Its message reads on from the name of the field: "must be …".
 */
export function parseAmount(
  text: string,
  currency: string,
  { allowZero = false }: { allowZero?: boolean } = {},
): bigint {
  if (!amountPattern.test(text)) {
    throw invalid(amountRule)
  }
  const digits = currencyDigits(currency)
  if (digits === undefined) throw invalid('must be in an ISO 4217 currency')
  const [whole = '', fraction = ''] = text.split('.')
  if (fraction.length > digits) {
    throw invalid(`must have at most ${digits} decimals in ${currency}`)
  }
  const minor = BigInt(whole + fraction.padEnd(digits, '0'))
  if (minor === 0n && !allowZero) throw invalid('must be above zero')
  if (minor > maxAmountMinor) throw invalid('is too large')
  return minor
}

function invalid(message: string): Failure {
  return new Failure('INVALID_PARAMETER', message)
}

/**
 * Prints minor units with all decimals of the currency: "100.00" TTD, "100" JPY, "1.000" BHD. Throws RangeError for an
 * unknown currency.
 */
export function formatAmount(amountMinor: bigint, currency: string): string {
  const digits = currencyDigits(currency)
  if (digits === undefined) throw new RangeError('the currency is not one of ISO 4217')
  const sign = amountMinor < 0n ? '-' : ''
  const text = String(amountMinor < 0n ? -amountMinor : amountMinor).padStart(digits + 1, '0')
  if (digits === 0) return sign + text
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/**
 * Reads an exact decimal such as a rate or a percentage, of up to 30 digits on each side of the point. Returns
 * undefined for any other text.
 */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^(-?\d{1,30})(?:\.(\d{1,30}))?$/.exec(text)
  if (!match) return undefined
  const [, whole = '', fraction = ''] = match
  return { digits: BigInt(whole + fraction), scale: fraction.length }
}

/** Divides to a whole number, rounding a half to the even neighbour. Throws RangeError for a denominator of zero. */
export function divideHalfEven(numerator: bigint, denominator: bigint): bigint {
  if (denominator < 0n) return divideHalfEven(-numerator, -denominator)
  const quotient = numerator / denominator
  const rest = numerator % denominator
  const twice = 2n * (rest < 0n ? -rest : rest)
  const isUp = twice > denominator || (twice === denominator && quotient % 2n !== 0n)
  if (!isUp) return quotient
  return numerator < 0n ? quotient - 1n : quotient + 1n
}

/**
 * A percentage ("2.90" is 2.90 %) of minor units, rounded half-even to whole minor units. Throws RangeError for a text
 * that is not a decimal.
 */
export function percentHalfEven(amountMinor: bigint, percentText: string): bigint {
  const percent = parseDecimal(percentText)
  if (!percent) throw new RangeError('the percentage is not a decimal')
  return divideHalfEven(amountMinor * percent.digits, 100n * 10n ** BigInt(percent.scale))
}

/**
 * Splits minor units in proportion to the weights by largest remainder: the parts add up to the total exactly, and each
 * is less than one minor unit away from its exact share. Of equal remainders the earlier part gets the unit. Throws
 * RangeError for a negative total or weight, and for a total above zero with no weight above zero.
 */
export function splitByWeights(totalMinor: bigint, weights: bigint[]): bigint[] {
  const sum = weights.reduce((sofar, weight) => sofar + weight, 0n)
  if (totalMinor < 0n || weights.some((weight) => weight < 0n)) {
    throw new RangeError('a split takes no negative total and no negative weight')
  }
  if (sum === 0n) {
    if (totalMinor > 0n) throw new RangeError('a split needs a weight above zero')
    return weights.map(() => 0n)
  }
  const parts = weights.map((weight) => (totalMinor * weight) / sum)
  const left = totalMinor - parts.reduce((sofar, part) => sofar + part, 0n)
  const lucky = weights
    .map((weight, index) => ({ index, remainder: (totalMinor * weight) % sum }))
    .toSorted((a, b) => Number(b.remainder > a.remainder) - Number(b.remainder < a.remainder))
    .slice(0, Number(left))
  for (const { index } of lucky) parts[index] = (parts[index] ?? 0n) + 1n
  return parts
}
