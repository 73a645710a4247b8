// Tests which products are accepted: with patterns that match in bounded time, and in currencies that exist.
import { describe, expect, it } from 'vitest'
import { checkProduct, isSafePattern } from './catalogue.ts'

it('a product may be sold in currencies that exist, each once', () => {
  const sell = (...currencies: string[]) =>
    checkProduct({
      billerCode: 'B',
      productCode: 'P',
      name: 'Water',
      referencePattern: '\\d{8}',
      active: true,
      ranges: currencies.map((currency) => ({ currency, minMinor: 1n, maxMinor: 2n })),
    })
  expect(() => sell('USD', 'TTD')).not.toThrow()
  for (const refused of [['UDS'], ['USD', 'ZZZ'], ['usd'], ['USD', 'USD']]) {
    expect(() => sell(...refused)).toThrow(
      expect.objectContaining({
        reason: 'INVALID_PARAMETER',
        details: expect.objectContaining({ field: 'product.ranges' }),
      }),
    )
  }
})

describe('a pattern of references', () => {
  it.each([
    '\\d{8,12}',
    'W\\d{7}',
    '[A-Z]{2}\\d{6}',
    'AB-[0-9]{4}',
    '\\d?[a-z]{1,3}',
    '[A-Z0-9]{1,20}-?\\d{1,30}',
  ])('a pattern of references may be %s', (pattern) => expect(isSafePattern(pattern)).toBe(true))

  it.each([
    '',
    '(a+)+$',
    'a*',
    'a+',
    '.{8}',
    '(ab)',
    'a|b',
    'a{1,}',
    '\\w{3}',
    '[^a]',
    '[z-a]',
    'a{5,2}',
    '(?=a)',
    '\\1',
    'a'.repeat(201),
    // 31 to the power of 7 ways to match digits before an X that is not there.
    `${'\\d{0,30}'.repeat(7)}X`,
    'a?'.repeat(14),
  ])('a pattern of references may not be %s', (pattern) =>
    expect(isSafePattern(pattern)).toBe(false),
  )
})
