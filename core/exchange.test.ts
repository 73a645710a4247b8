// Conversion against an independent rational arithmetic, over every currency and every sensible rate.
import { data as listedCurrencies } from 'currency-codes'
import {
  assert,
  bigInt,
  constantFrom,
  integer,
  oneof,
  property,
  stringMatching,
  tuple,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { convert, convertUp, formatDecimal, normalRate } from './exchange.ts'
import { currencyDigits, type Decimal, formatAmount, parseDecimal } from './money.ts'

/** A fraction in lowest terms: says the same as core/money.ts in another way. */
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
  size(): Rational {
    return new Rational(this.top < 0n ? -this.top : this.top, this.bottom)
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

/** One minor unit of a currency. */
function unitOf(code: string): Rational {
  return new Rational(1n, 10n ** BigInt(currencyDigits(code) ?? 0))
}

const runs = { numRuns: 2_000 }

describe('a conversion', () => {
  it('has all exponents of ISO 4217 to deal with', () => {
    const exponents = new Set(currencies.map((code) => currencyDigits(code)))
    expect([...exponents].toSorted()).toEqual([0, 2, 3, 4])
  })

  it('is the exact product up to half a minor unit, and the residual is all that is missing', () => {
    assert(
      property(amountMinor, currency, currency, rateText, (amount, from, to, text) => {
        const worth = convert(amount, from, to, rateOf(text))
        if (worth === undefined) return
        const exact = Rational.of(formatAmount(amount, from)).times(Rational.of(text))
        const rounded = Rational.of(formatAmount(worth.amountMinor, to))
        const residual = exact.minus(rounded)
        expect(residual.equals(Rational.of(formatDecimal(worth.residual)))).toBe(true)
        const half = unitOf(to).times(new Rational(1n, 2n))
        expect(residual.size().isAbove(half)).toBe(false)
        // A half goes to the even neighbour.
        const isTie = residual.size().equals(half)
        expect(isTie && worth.amountMinor % 2n === 1n).toBe(false)
      }),
      runs,
    )
  })

  it('meets halves in every pair of exponents and sends them to the even neighbour', () => {
    const byExponent = [0, 2, 3, 4].map((digits) =>
      currencies.find((code) => currencyDigits(code) === digits),
    ) as string[]
    for (const from of byExponent) {
      for (const to of byExponent) {
        // 1.50 and 1.25 units for a unit of the same size: 1 is worth 1.5, and 2 are worth 2.5.
        const sizes = 10n ** BigInt(currencyDigits(from) ?? 0)
        for (const [count, hundredths, even] of [
          [1n, 150n, 2n],
          [2n, 125n, 2n],
        ] as const) {
          const rate = { digits: hundredths * sizes, scale: (currencyDigits(to) ?? 0) + 2 }
          expect(convert(count, from, to, rate)?.amountMinor).toBe(even)
        }
      }
    }
  })

  it('to the same currency at one changes nothing', () => {
    assert(
      property(amountMinor, currency, (amount, code) => {
        const worth = convert(amount, code, code, rateOf('1.0000'))
        expect(worth?.amountMinor).toBe(amount)
        expect(worth?.residual.digits).toBe(0n)
      }),
    )
  })

  it('never falls when the amount grows', () => {
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
    ['10.00 USD in TTD', 1_000n, 'USD', 'TTD', '6.7829', 6_783n, '-0.001'],
    ['10.00 USD in JPY', 1_000n, 'USD', 'JPY', '149.3500', 1_494n, '-0.5'],
    ['0.01 USD in BHD', 1n, 'USD', 'BHD', '0.3760', 4n, '-0.00024'],
    ['1 JPY in USD', 1n, 'JPY', 'USD', '0.00669568', 1n, '-0.00330432'],
    ['1 XOF in TTD, rounded down', 1n, 'XOF', 'TTD', '0.01122811', 1n, '0.00122811'],
    ['what is worth less than half a unit', 1n, 'XOF', 'USD', '0.00165535', 0n, '0.00165535'],
  ])('makes %s', (_, amount, from, to, rate, expected, residual) => {
    const worth = convert(amount, from, to, rateOf(rate))
    expect(worth?.amountMinor).toBe(expected)
    expect(worth === undefined ? '' : formatDecimal(worth.residual)).toBe(residual)
  })

  it('tells a worth that no amount can have', () => {
    expect(convert(10n ** 17n, 'USD', 'JPY', rateOf('149.3500'))).toBeDefined()
    expect(convert(10n ** 17n, 'JPY', 'USD', rateOf('1.0000'))).toBeUndefined()
    expect(convertUp(10n ** 17n, 'JPY', 'USD', rateOf('1.0000'))).toBeUndefined()
  })
})

describe('a conversion for limits', () => {
  it('is above a limit exactly when the exact worth is, and never nothing', () => {
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
  ])('%s is shown as %s', (given, shown) => {
    expect(normalRate(given)).toBe(shown)
  })

  it.each(['', '0', '0.0000', '-1.5', '1e3', ' 1.0', '01.5', '.5', '1.', 'NaN', '1234567890123'])(
    '%j is none',
    (text) => {
      expect(normalRate(text)).toBeUndefined()
    },
  )
})
