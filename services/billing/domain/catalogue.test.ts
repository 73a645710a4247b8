// Tests which reference patterns are accepted: only those that match in bounded time.
import { describe, expect, it } from 'vitest'
import { isSafePattern } from './catalogue.ts'

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
