// Tests conversion against independent rational arithmetic, over every currency and every sensible rate.
import { data as listedCurrencies } from 'currency-codes'
import {
  array,
  assert,
  bigInt,
  constantFrom,
  integer,
  nat,
  oneof,
  property,
  record,
  stringMatching,
  tuple,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convert, convertUp, formatDecimal, normalRate } from './exchange.ts'
import { currencyDigits, type Decimal, formatAmount, parseDecimal } from './money.ts'

/** A fraction in lowest terms: says the same as core/money/money.ts in another way. */
class Rational {
  readonly top: bigint
  readonly bottom: bigint
  constructor(top: bigint, bottom = 1n) {
    let [a, b] = [top < 0n ? -top : top, bottom]
    while (b !== 0n) [a, b] = [b, a % b]
    this.top = top / (a || 1n)
    this.bottom = bottom / (a || 1n)
  }
  /** Reads "-12.0345" digit by digit. */
  static of(text: string): Rational {
    const sign = text.startsWith('-') ? -1n : 1n
    let top = 0n
    let bottom = 1n
    let isFraction = false
    for (const letter of text.replace('-', '')) {
      if (letter === '.') isFraction = true
      else {
        top = top * 10n + BigInt(letter)
        if (isFraction) bottom *= 10n
      }
    }
    return new Rational(sign * top, bottom)
  }
  times({ top, bottom }: Rational): Rational {
    return new Rational(this.top * top, this.bottom * bottom)
  }
  minus({ top, bottom }: Rational): Rational {
    return new Rational(this.top * bottom - top * this.bottom, this.bottom * bottom)
  }
  isAbove({ top, bottom }: Rational): boolean {
    return this.top * bottom > top * this.bottom
  }
  equals({ top, bottom }: Rational): boolean {
    return this.top === top && this.bottom === bottom
  }
}

const currencies = listedCurrencies
  .map(({ code }) => code)
  .filter((code) => currencyDigits(code) !== undefined)
const currency = constantFrom(...currencies)
const amountMinor = oneof(bigInt({ min: 1n, max: 10_000n }), bigInt({ min: 1n, max: 10n ** 15n }))
const rateText = tuple(
  bigInt({ min: 0n, max: 999_999n }),
  stringMatching(/^\d{4,12}$/),
  constantFrom('', '5', '25'),
)
  .map(([whole, fraction, tail]) => `${whole}.${fraction}${tail}`)
  .filter((text) => /[1-9]/.test(text))

function rateOf(text: string): Decimal {
  const rate = parseDecimal(text)
  if (rate === undefined) throw new Error(`no rate ${text}`)
  return rate
}

const nothing = new Rational(0n)

/** One minor unit of a currency. */
function unitOf(code: string): Rational {
  return new Rational(1n, 10n ** BigInt(currencyDigits(code) ?? 0))
}

const runs = { numRuns: 2_000 }

describe('a conversion', () => {
  it('currencies have the exponents 0, 2, 3 and 4', () => {
    const exponents = new Set(currencies.map((code) => currencyDigits(code)))
    expect([...exponents].toSorted()).toEqual([0, 2, 3, 4])
  })

  it('a conversion is the exact product rounded down, and the residual is all that is missing', () => {
    assert(
      property(amountMinor, currency, currency, rateText, (amount, from, to, text) => {
        const worth = convert(amount, from, to, rateOf(text))
        if (worth === undefined) return
        const exact = Rational.of(formatAmount(amount, from)).times(Rational.of(text))
        const rounded = Rational.of(formatAmount(worth.amountMinor, to))
        const residual = exact.minus(rounded)
        expect(residual.equals(Rational.of(formatDecimal(worth.residual)))).toBe(true)
        expect(nothing.isAbove(residual)).toBe(false)
        expect(unitOf(to).isAbove(residual)).toBe(true)
      }),
      runs,
    )
  })

  it('a conversion leaves what is short of a whole unit in every pair of exponents', () => {
    const byExponent = [0, 2, 3, 4].map((digits) =>
      currencies.find((code) => currencyDigits(code) === digits),
    ) as string[]
    for (const from of byExponent) {
      for (const to of byExponent) {
        // 1.50 and 1.99 units for a unit of the same size: 1 is worth 1.5 or 1.99, and 2 are worth 3 or 3.98.
        const sizes = 10n ** BigInt(currencyDigits(from) ?? 0)
        for (const [count, hundredths, whole] of [
          [1n, 150n, 1n],
          [2n, 150n, 3n],
          [1n, 199n, 1n],
          [2n, 199n, 3n],
        ] as const) {
          const rate = { digits: hundredths * sizes, scale: (currencyDigits(to) ?? 0) + 2 }
          expect(convert(count, from, to, rate)?.amountMinor).toBe(whole)
        }
      }
    }
  })

  it('a conversion to the same currency at one changes nothing', () => {
    assert(
      property(amountMinor, currency, (amount, code) => {
        const worth = convert(amount, code, code, rateOf('1.0000'))
        expect(worth?.amountMinor).toBe(amount)
        expect(worth?.residual.digits).toBe(0n)
      }),
    )
  })

  it('a conversion never falls when the amount grows', () => {
    assert(
      property(amountMinor, amountMinor, currency, currency, rateText, (a, b, from, to, text) => {
        const [less, more] = a < b ? [a, b] : [b, a]
        const small = convert(less, from, to, rateOf(text))
        const large = convert(more, from, to, rateOf(text))
        if (small === undefined || large === undefined) return
        expect(small.amountMinor <= large.amountMinor).toBe(true)
      }),
    )
  })

  it.each([
    ['10.00 USD in TTD', 1_000n, 'USD', 'TTD', '6.7829', 6_782n, '0.009'],
    ['100.00 USD in TTD', 10_000n, 'USD', 'TTD', '6.7829', 67_829n, '0'],
    ['10.00 USD in JPY', 1_000n, 'USD', 'JPY', '149.3500', 1_493n, '0.5'],
    ['0.01 USD in BHD', 1n, 'USD', 'BHD', '0.3760', 3n, '0.00076'],
    ['1 XOF in TTD', 1n, 'XOF', 'TTD', '0.01122810', 1n, '0.0012281'],
    ['1 JPY in USD, which is less than a unit', 1n, 'JPY', 'USD', '0.00669568', 0n, '0.00669568'],
  ])('a conversion makes %s', (_, amount, from, to, rate, expected, residual) => {
    const worth = convert(amount, from, to, rateOf(rate))
    expect(worth?.amountMinor).toBe(expected)
    expect(worth === undefined ? '' : formatDecimal(worth.residual)).toBe(residual)
  })

  it('a conversion detects a value that no amount can have', () => {
    expect(convert(10n ** 17n, 'USD', 'JPY', rateOf('149.3500'))).toBeDefined()
    expect(convert(10n ** 17n, 'JPY', 'USD', rateOf('1.0000'))).toBeUndefined()
    expect(convertUp(10n ** 17n, 'JPY', 'USD', rateOf('1.0000'))).toBeUndefined()
  })
})

/** Units of some currencies for one unit of a reference, from which every rate between them is crossed, rounded down. */
const market = array(tuple(currency, bigInt({ min: 1_000n, max: 10n ** 7n })), {
  minLength: 2,
  maxLength: 5,
})
/** Where money goes next, and how much of it is lost to fees on the way, in thousandths. */
const hop = record({ place: nat(), feeShare: nat({ max: 1_000 }) })

function crossedRate(from: bigint, to: bigint, decimals: number): Decimal {
  return { digits: (to * 10n ** BigInt(decimals)) / from, scale: decimals }
}

describe('any chain of conversions', () => {
  it('any chain of conversions at rates that were crossed down is worth no more at any step, with any amount and any fees', () => {
    const hops = array(hop, { minLength: 1, maxLength: 12 })
    assert(
      property(market, amountMinor, integer({ min: 4, max: 12 }), hops, (prices, start, d, way) => {
        let [code = '', units = 1n] = prices[0] ?? []
        let minor = start
        const worth = () => Rational.of(formatAmount(minor, code)).times(new Rational(1n, units))
        let before = worth()
        for (const { place, feeShare } of way) {
          const [nextCode = '', nextUnits = 1n] = prices[place % prices.length] ?? []
          const paid = minor - (minor * BigInt(feeShare)) / 1_000n
          const rate = crossedRate(units, nextUnits, d)
          const converted = convert(paid, code, nextCode, rate)
          if (converted === undefined || converted.amountMinor === 0n) return
          ;[code, units, minor] = [nextCode, nextUnits, converted.amountMinor]
          const now = worth()
          expect(now.isAbove(before)).toBe(false)
          before = now
        }
      }),
      runs,
    )
  })
})

describe('a conversion for limits', () => {
  it('a conversion for limits is above a limit exactly when the exact worth is, and never nothing', () => {
    assert(
      property(
        amountMinor,
        currency,
        currency,
        rateText,
        integer({ min: -2, max: 2 }),
        (amount, from, to, text, distance) => {
          const counted = convertUp(amount, from, to, rateOf(text))
          if (counted === undefined) return
          expect(counted > 0n).toBe(true)
          const limit = counted + BigInt(distance)
          const exact = Rational.of(formatAmount(amount, from)).times(Rational.of(text))
          expect(counted > limit).toBe(exact.isAbove(Rational.of(formatAmount(limit, to))))
        },
      ),
      runs,
    )
  })
})

describe('a rate', () => {
  it.each([
    ['6.7829', '6.7829'],
    ['149.35', '149.3500'],
    ['1', '1.0000'],
    ['0.00165535', '0.00165535'],
    ['6.78290', '6.78290'],
  ])('the rate %s is shown as %s', (given, shown) => {
    expect(normalRate(given)).toBe(shown)
  })

  it.each(['', '0', '0.0000', '-1.5', '1e3', ' 1.0', '01.5', '.5', '1.', 'NaN', '1234567890123'])(
    '%j is no rate',
    (text) => {
      expect(normalRate(text)).toBeUndefined()
    },
  )
})
