// Proves that amounts are read, printed, rounded and split without losing a minor unit.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../errors/errors.ts'
import {
  currencyDigits,
  divideHalfEven,
  formatAmount,
  isCurrency,
  parseAmount,
  parseDecimal,
  percentHalfEven,
  splitByWeights,
} from './money.ts'

const currencies = ['TTD', 'JPY', 'BHD', 'CLF']
const amounts = fc.bigInt({ min: 1n, max: 10n ** 15n - 1n })

function refusal(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    if (error instanceof Failure) return `${error.reason}: ${error.message}`
    throw error
  }
  return undefined
}

describe('currencies', () => {
  it.each([
    ['TTD', 2],
    ['USD', 2],
    ['JPY', 0],
    ['XOF', 0],
    ['XAF', 0],
    ['XPF', 0],
    ['ISK', 0],
    ['UYI', 0],
    ['BHD', 3],
    ['KWD', 3],
    ['TND', 3],
    ['CLF', 4],
    ['UYW', 4],
    ['IQD', 3],
    ['HUF', 2],
    ['COP', 2],
    ['VED', 2],
    ['SLE', 2],
    ['ZWG', 2],
    ['XCG', 2],
    ['XCD', 2],
  ])('%s has %i decimals', (code, digits) => {
    expect(currencyDigits(code)).toBe(digits)
  })

  it.each('XXX XTS XAU XAG XPT XPD XDR XSU XUA XBA XBB XBC XBD XAD'.split(' '))(
    '%s is no currency to pay with',
    (code) => expect(isCurrency(code)).toBe(false),
  )

  it.each('ANG BGN CUC HRK SLL ZWL VEF'.split(' '))('%s is withdrawn', (code) => {
    expect(isCurrency(code)).toBe(false)
  })

  it('currencies are written in capitals', () => {
    expect(isCurrency('usd')).toBe(false)
    expect(isCurrency('')).toBe(false)
    expect(isCurrency('US Dollar')).toBe(false)
  })
})

describe('parseAmount', () => {
  it.each([
    ['100', 'TTD', 10_000n],
    ['100.0', 'TTD', 10_000n],
    ['0.01', 'TTD', 1n],
    ['100', 'JPY', 100n],
    ['1.5', 'BHD', 1500n],
    ['999999999999999.99', 'USD', 99_999_999_999_999_999n],
    ['999999999999999.999', 'BHD', 10n ** 18n - 1n],
  ])('parseAmount reads %s %s exactly', (text, currency, amountMinor) => {
    expect(parseAmount(text, currency)).toBe(amountMinor)
  })

  it.each([
    '',
    ' 1',
    '1 ',
    '1\n',
    '+1',
    '-1',
    '01',
    '00',
    '1.',
    '.5',
    '1,000',
    '1e3',
    '0x10',
    'NaN',
    'infinity',
    '1_0',
    '１',
    '1000000000000000',
    '1.00000',
  ])('parseAmount refuses %j', (text) => {
    expect(refusal(() => parseAmount(text, 'TTD'))).toBe(
      'INVALID_PARAMETER: must be a decimal string such as "100.00", of at most 15 digits before the point and 4 after it',
    )
  })

  it('parseAmount refuses more decimals than the currency has, even when they are zero', () => {
    const message = 'INVALID_PARAMETER: must have at most 0 decimals in JPY'
    expect(refusal(() => parseAmount('100.0', 'JPY'))).toBe(message)
    expect(refusal(() => parseAmount('1.001', 'TTD'))).toMatch(/at most 2 decimals/)
  })

  it('parseAmount refuses zero unless it is allowed', () => {
    expect(refusal(() => parseAmount('0.00', 'TTD'))).toBe('INVALID_PARAMETER: must be above zero')
    expect(parseAmount('0.00', 'TTD', { allowZero: true })).toBe(0n)
  })

  it('parseAmount refuses an unknown currency and an amount that no 64-bit column holds', () => {
    expect(refusal(() => parseAmount('1', 'XXX'))).toMatch(/^INVALID_PARAMETER/)
    expect(refusal(() => parseAmount('999999999999999.9999', 'CLF'))).toMatch(/too large/)
  })

  it('parseAmount reads back every printed amount', () => {
    fc.assert(
      fc.property(amounts, fc.constantFrom(...currencies), (amountMinor, currency) => {
        expect(parseAmount(formatAmount(amountMinor, currency), currency)).toBe(amountMinor)
      }),
    )
  })
})

describe('formatAmount', () => {
  it.each([
    [10_000n, 'TTD', '100.00'],
    [100n, 'JPY', '100'],
    [1000n, 'BHD', '1.000'],
    [1n, 'CLF', '0.0001'],
    [0n, 'TTD', '0.00'],
    [-5n, 'TTD', '-0.05'],
    [-100n, 'JPY', '-100'],
  ])('formatAmount prints %s minor units of %s as %s', (amountMinor, currency, text) => {
    expect(formatAmount(amountMinor, currency)).toBe(text)
  })

  it('formatAmount throws on a code that is no currency', () => {
    expect(() => formatAmount(1n, 'XXX')).toThrow(RangeError)
  })
})

describe('parseDecimal', () => {
  it('parseDecimal keeps every digit', () => {
    expect(parseDecimal('6.7830')).toEqual({ digits: 67_830n, scale: 4 })
    expect(parseDecimal('-0.05')).toEqual({ digits: -5n, scale: 2 })
    expect(parseDecimal('7')).toEqual({ digits: 7n, scale: 0 })
  })

  it.each(['', '.5', '5.', '1e3', ' 1', '1\n', 'NaN', '0x1', '--1'])(
    'parseDecimal refuses %j',
    (text) => {
      expect(parseDecimal(text)).toBeUndefined()
    },
  )
})

describe('divideHalfEven', () => {
  it.each([
    [5n, 10n, 0n],
    [15n, 10n, 2n],
    [25n, 10n, 2n],
    [26n, 10n, 3n],
    [-5n, 10n, 0n],
    [-15n, 10n, -2n],
    [-25n, 10n, -2n],
    [15n, -10n, -2n],
  ])('divideHalfEven rounds %s / %s to %s', (numerator, denominator, quotient) => {
    expect(divideHalfEven(numerator, denominator)).toBe(quotient)
  })

  it('divideHalfEven is never more than half away, and even when it is half away', () => {
    const numbers = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n })
    const denominators = fc.bigInt({ min: 1n, max: 1000n })
    fc.assert(
      fc.property(numbers, denominators, (numerator, denominator) => {
        const quotient = divideHalfEven(numerator, denominator)
        const rest = numerator - quotient * denominator
        const twice = 2n * (rest < 0n ? -rest : rest)
        expect(twice <= denominator).toBe(true)
        expect(twice === denominator ? quotient % 2n : 0n).toBe(0n)
      }),
    )
  })
})

describe('percentHalfEven', () => {
  it.each([
    [10_000n, '2.90', 290n],
    [50n, '1', 0n],
    [150n, '1.00', 2n],
    [100n, '0.50', 0n],
    [300n, '0.50', 2n],
    [12_345n, '0', 0n],
    [12_345n, '100', 12_345n],
  ])('percentHalfEven of %s at %s %% is %s', (amountMinor, percent, expected) => {
    expect(percentHalfEven(amountMinor, percent)).toBe(expected)
  })

  it('percentHalfEven throws on a percentage that is no decimal', () => {
    expect(() => percentHalfEven(1n, '2,9')).toThrow(RangeError)
  })
})

describe('splitByWeights', () => {
  const weightLists = fc
    .array(fc.bigInt({ min: 0n, max: 10n ** 18n }), { minLength: 1, maxLength: 20 })
    .filter((weights) => weights.some((weight) => weight > 0n))

  it('splitByWeights gives the odd units to the largest remainders, the earlier part first', () => {
    expect(splitByWeights(10n, [1n, 1n, 1n])).toEqual([4n, 3n, 3n])
    expect(splitByWeights(100n, [1n, 2n])).toEqual([33n, 67n])
    expect(splitByWeights(7n, [0n, 5n])).toEqual([0n, 7n])
  })

  it('splitByWeights adds up to the total, each part less than one unit from its exact share', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), weightLists, (total, weights) => {
        const parts = splitByWeights(total, weights)
        const sum = weights.reduce((a, b) => a + b, 0n)
        expect(parts.reduce((a, b) => a + b, 0n)).toBe(total)
        for (const [index, weight] of weights.entries()) {
          const error = (parts[index] ?? 0n) * sum - total * weight
          expect(error < sum && error > -sum).toBe(true)
          expect(weight === 0n ? parts[index] : 0n).toBe(0n)
        }
      }),
    )
  })

  it('splitByWeights splits nothing among no weights and refuses what cannot be split', () => {
    expect(splitByWeights(0n, [])).toEqual([])
    expect(splitByWeights(0n, [0n, 0n])).toEqual([0n, 0n])
    expect(() => splitByWeights(1n, [])).toThrow(RangeError)
    expect(() => splitByWeights(1n, [0n])).toThrow(RangeError)
    expect(() => splitByWeights(-1n, [1n])).toThrow(RangeError)
    expect(() => splitByWeights(1n, [2n, -1n])).toThrow(RangeError)
  })
})
