// Tests the rates against the sandbox's table and against independent arithmetic with fractions.
import { array, assert, constantFrom, pre, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rateBetween, unitsPerDollar } from './rate.ts'

const currencies = Object.keys(unitsPerDollar)
const currency = constantFrom(...currencies)

/** Units for one dollar in hundred-thousandths, read digit by digit. */
function perDollar(code: string): bigint {
  const [whole = '', fraction = ''] = (unitsPerDollar[code] ?? '').split('.')
  return BigInt(whole) * 100_000n + BigInt(fraction.padEnd(5, '0'))
}

/** A decimal as hundred-millionths. */
function inEighthDecimals(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole) * 100_000_000n + BigInt(fraction.padEnd(8, '0'))
}

describe('a rate from the dollar', () => {
  it.each([
    ['TTD', '6.7829'],
    ['EUR', '0.9210'],
    ['GBP', '0.7870'],
    ['JPY', '149.3500'],
    ['JMD', '157.2000'],
    ['BHD', '0.3760'],
    ['XOF', '604.1000'],
  ])('a rate from the dollar to %s is %s', (quoted, rate) => {
    expect(rateBetween('USD', quoted)).toBe(rate)
  })
})

describe('a cross', () => {
  it.each([
    ['TTD', 'USD', '0.14742956'],
    ['EUR', 'GBP', '0.85450597'],
    ['XOF', 'BHD', '0.00062241'],
    ['BHD', 'JPY', '397.20744680'],
    ['JMD', 'TTD', '0.04314821'],
  ])('a cross from %s to %s is %s', (base, quoted, rate) => {
    expect(rateBetween(base, quoted)).toBe(rate)
  })

  it('a cross is the largest eighth decimal that is not above the exact quotient', () => {
    assert(
      property(currency, currency, (base, quoted) => {
        pre(base !== 'USD' && base !== quoted)
        const text = rateBetween(base, quoted)
        expect(text).toMatch(/^(0|[1-9]\d*)\.\d{8}$/)
        const units = inEighthDecimals(text)
        expect(units).toBeGreaterThan(0n)
        // 0 ≤ q / b − units / 10^8 < 10^-8, without a division.
        const missing = perDollar(quoted) * 100_000_000n - units * perDollar(base)
        expect(missing).toBeGreaterThanOrEqual(0n)
        expect(missing).toBeLessThan(perDollar(base))
      }),
      { numRuns: 500 },
    )
  })
})

describe('any circle of rates', () => {
  it('any circle of rates multiplies to one at most, so that going round it makes no money', () => {
    const circles = array(currency, { minLength: 2, maxLength: 8 })
    assert(
      property(circles, (circle) => {
        const rates = circle.map((base, index) =>
          rateBetween(base, circle[(index + 1) % circle.length] ?? ''),
        )
        const product = rates.reduce((sofar, rate) => sofar * inEighthDecimals(rate), 1n)
        expect(product <= 100_000_000n ** BigInt(rates.length)).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('every rate', () => {
  it('every rate is a plain decimal above zero with at least four decimals', () => {
    for (const base of currencies) {
      for (const quoted of currencies) {
        expect(rateBetween(base, quoted)).toMatch(/^(?=.*[1-9])(0|[1-9]\d*)\.\d{4,}$/)
      }
    }
  })

  it.each(['USD', 'TTD', 'JPY', 'GHS'])('every rate of %s to itself is one', (code) => {
    expect(rateBetween(code, code)).toBe('1.0000')
  })

  it.each([
    ['USD', 'GHS'],
    ['GHS', 'USD'],
    ['XXX', 'XXX'],
    ['usd', 'TTD'],
    ['', ''],
    ['toString', 'USD'],
  ])('every rate from "%s" to "%s" is refused', (base, quoted) => {
    expect(() => rateBetween(base, quoted)).toThrow(
      expect.objectContaining({ reason: 'CURRENCY_NOT_SUPPORTED' }),
    )
  })
})
