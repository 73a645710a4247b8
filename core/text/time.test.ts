// Proves that the two time formats are exact and strict.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDateTime, formatIso, parseDateTime } from './time.ts'

const dates = fc.date({
  min: new Date('0001-01-01T00:00:00Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})

describe('times', () => {
  it('times are printed in UTC, with milliseconds only in ISO form', () => {
    const date = new Date('2026-07-01T09:05:03.007Z')
    expect(formatDateTime(date)).toBe('2026-07-01 09:05:03')
    expect(formatIso(date)).toBe('2026-07-01T09:05:03.007Z')
  })

  it('times are read back to the second', () => {
    fc.assert(
      fc.property(dates, (date) => {
        const seconds = new Date(Math.floor(date.getTime() / 1000) * 1000)
        expect(parseDateTime(formatDateTime(date))).toEqual(seconds)
        expect(new Date(formatIso(date))).toEqual(date)
      }),
    )
  })

  it('times never parse to a date that prints differently', () => {
    const part = fc.integer({ min: 0, max: 99 }).map((value) => String(value).padStart(2, '0'))
    fc.assert(
      fc.property(fc.tuple(part, part, part, part, part, part), ([y, mo, d, h, mi, s]) => {
        const text = `20${y}-${mo}-${d} ${h}:${mi}:${s}`
        const date = parseDateTime(text)
        expect(date ? formatDateTime(date) : text).toBe(text)
      }),
    )
  })

  it.each(['2024-02-29 00:00:00', '2000-02-29 23:59:59', '0001-01-01 00:00:00'])(
    '%s is a real time',
    (text) => expect(parseDateTime(text)).toBeInstanceOf(Date),
  )

  it.each([
    '2023-02-29 00:00:00',
    '2026-04-31 00:00:00',
    '2026-13-01 00:00:00',
    '2026-00-01 00:00:00',
    '2026-01-00 00:00:00',
    '2026-01-01 24:00:00',
    '2026-01-01 23:60:00',
    '2026-01-01 23:59:60',
    '0000-01-01 00:00:00',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00Z',
    '2026-01-01 00:00',
    '2026-1-1 00:00:00',
    ' 2026-01-01 00:00:00',
    '2026-01-01 00:00:00\n',
    '２026-01-01 00:00:00',
    '',
  ])('%j is refused', (text) => {
    expect(parseDateTime(text)).toBeUndefined()
  })

  it('times throw when they cannot be printed', () => {
    expect(() => formatIso(new Date(Number.NaN))).toThrow(RangeError)
    expect(() => formatDateTime(new Date(8.64e15))).toThrow(RangeError)
  })
})
