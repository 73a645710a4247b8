// Proves how a number is read with and without its plus sign.
import * as fc from 'fast-check'
import { type CountryCode, getCountries, getExampleNumber } from 'libphonenumber-js/max'
import examples from 'libphonenumber-js/mobile/examples'
import { describe, expect, it } from 'vitest'
import { maskPhone, parsePhone } from './phone.ts'

const countries = fc.constantFrom(...getCountries())

function exampleOf(country: CountryCode): { e164: string; national: string; dialled: string } {
  const number = getExampleNumber(country, examples)
  if (!number) throw new Error('no example number')
  return {
    e164: number.number,
    national: number.nationalNumber,
    dialled: number.formatNational(),
  }
}

describe('parsePhone', () => {
  it.each([
    ['+18683501234', 'US', '+18683501234'],
    ['18683501234', 'TT', '+18683501234'],
    ['18683501234', 'GB', '+18683501234'],
    ['12025550101', 'US', '+12025550101'],
    ['2025550101', 'US', '+12025550101'],
    ['8683501234', 'TT', '+18683501234'],
    ['3501234', 'TT', '+18683501234'],
    ['07911 123456', 'GB', '+447911123456'],
    ['447911123456', 'TT', '+447911123456'],
    ['(868) 350-1234', 'TT', '+18683501234'],
    ['+1 (868) 350.1234', 'US', '+18683501234'],
    ['0018683501234', 'GB', '+18683501234'],
  ])('parsePhone reads %s sent from %s as %s', (text, country, e164) => {
    expect(parsePhone(text, country)).toBe(e164)
  })

  it('parsePhone keeps a mobile number at home that could also be one abroad', () => {
    expect(parsePhone('4645924281', 'US')).toBe('+14645924281')
    expect(parsePhone('8682696606', 'TT')).toBe('+18682696606')
    expect(parsePhone('9611085905', 'IN')).toBe('+919611085905')
  })

  it('parsePhone takes digits for international rather than for a landline at home', () => {
    expect(parsePhone('491711234567', 'DE')).toBe('+491711234567')
    expect(parsePhone('18683501234', 'DE')).toBe('+18683501234')
  })

  it('parsePhone takes digits with a plus sign for international only', () => {
    expect(parsePhone('+2025550101', 'US')).toBe('+2025550101')
    expect(parsePhone('+3501234', 'TT')).toBeUndefined()
  })

  it('parsePhone understands international numbers from a country without telephones of its own', () => {
    expect(parsePhone('12025550101', 'AQ')).toBe('+12025550101')
    expect(parsePhone('3501234', 'AQ')).toBeUndefined()
    expect(parsePhone('3501234', 'constructor')).toBeUndefined()
  })

  it.each([
    '',
    '+',
    '0',
    '123',
    '911',
    '+1',
    '+0123456789',
    '+99912345678',
    'abc',
    '1-800-FLOWERS',
    '+12025550101 ext. 5',
    'tel:+12025550101',
    '+12025550101;ext=5',
    ' 12025550101',
    '+12025550101\n',
    '+1202555010１',
    '++12025550101',
    '+1202555010112345',
    '120255501011234567890',
  ])('parsePhone refuses %j', (text) => {
    expect(parsePhone(text, 'US')).toBeUndefined()
  })

  it('parsePhone reads the example mobile of every country in every form that people write', () => {
    for (const country of getCountries()) {
      const { e164, national, dialled } = exampleOf(country)
      for (const text of [e164, e164.slice(1), national, dialled]) {
        expect([country, text, parsePhone(text, country)]).toEqual([country, text, e164])
      }
    }
  })

  it('parsePhone reads what it returned as itself, wherever it is sent from', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+?[0-9]{4,16}$/), countries, countries, (text, a, b) => {
        const e164 = parsePhone(text, a)
        expect(e164 ?? '+123').toMatch(/^\+[1-9]\d{1,14}$/)
        expect(e164 && parsePhone(e164, b)).toBe(e164)
      }),
      { numRuns: 1000 },
    )
  })

  it('parsePhone takes no number that can be dialled within a town alone', () => {
    expect(parsePhone('0000000', 'CA')).toBeUndefined()
  })

  it('parsePhone answers any text with E.164 or nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (text, country) => {
        expect(parsePhone(text, country) ?? '+123').toMatch(/^\+\d+$/)
      }),
    )
  })
})

describe('maskPhone', () => {
  it('maskPhone leaves the last four digits', () => {
    expect(maskPhone('+18683501234')).toBe('*******1234')
    expect(maskPhone('868-350-1234')).toBe('******1234')
    expect(maskPhone('1234')).toBe('****')
    expect(maskPhone('')).toBe('')
  })
})
