// Ranges of amounts as operators write them.
import { Failure, invalid } from '../errors/errors.ts'
import { parseAmount } from './money.ts'

/** Smallest and largest amount of one currency, in its minor unit. */
export type AmountRange = { currency: string; minMinor: bigint; maxMinor: bigint }

/**
 * Reads ranges with commas between: `USD:1.00-5000.00,TTD:1.00-5000.00`. Throws INVALID_PARAMETER for another text and
 * for an amount that its currency does not have.
 */
export function parseRanges(text: string): AmountRange[] {
  return text.split(',').map(parseRange)
}

function parseRange(text: string): AmountRange {
  const [, currency = '', min = '', max = ''] =
    /^([A-Z]{3}):([\d.]+)-([\d.]+)$/.exec(text.trim()) ?? []
  try {
    return { currency, minMinor: parseAmount(min, currency), maxMinor: parseAmount(max, currency) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw invalid('range', 'must look like USD:1.00-5000.00,TTD:1.00-5000.00')
  }
}
