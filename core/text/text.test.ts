// Proves which characters a text may hold.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  findForbiddenCharacter,
  hasForbiddenCharacter,
  isCountry,
  normalizeEmail,
  storableText,
} from './text.ts'

describe('forbidden characters', () => {
  it.each([
    ['a\u0000b', 'U+0000'],
    ['\u001b[31m', 'U+001B'],
    ['\u007f', 'U+007F'],
    ['\u0085', 'U+0085'],
    ['\ud800', 'U+D800'],
    ['x\udc00y', 'U+DC00'],
    ['\udc00\ud800', 'U+DC00'],
    ['a\tb', 'U+0009'],
    ['a\nb', 'U+000A'],
  ])('forbidden characters are found and named in %j', (text, name) => {
    expect(findForbiddenCharacter(text)).toBe(name)
  })

  it('forbidden characters are not found in names of the world', () => {
    for (const text of ['', "Zoë O'Neil", '李小龍', 'محمد', '👩‍👧 family', 'a\u00a0b']) {
      expect(hasForbiddenCharacter(text)).toBe(false)
    }
  })

  it('forbidden characters do not include tab and newline in a text of several lines', () => {
    const multiline = { multiline: true }
    expect(hasForbiddenCharacter('a\tb\nc\r\nd', multiline)).toBe(false)
    expect(findForbiddenCharacter('a\rb', multiline)).toBe('U+000D')
    expect(findForbiddenCharacter('a\r', multiline)).toBe('U+000D')
    expect(findForbiddenCharacter('a\n\u0000', multiline)).toBe('U+0000')
    expect(findForbiddenCharacter('a\n\udfff', multiline)).toBe('U+DFFF')
  })

  it('forbidden characters are exactly the control characters and the lone surrogates', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffff }), (unit) => {
        const isForbidden =
          unit < 0x20 || (unit >= 0x7f && unit < 0xa0) || (unit >= 0xd800 && unit < 0xe000)
        expect(hasForbiddenCharacter(`a${String.fromCharCode(unit)}b`)).toBe(isForbidden)
      }),
      { numRuns: 2000 },
    )
  })

  it('forbidden characters are replaced in a text that is to be stored, and what is too long is cut', () => {
    expect(storableText('a\u0000b\u0007\nc', 100)).toBe('a\uFFFDb\uFFFD\nc')
    expect(storableText('abc💧', 4)).toBe('abc\uFFFD')
  })

  it('forbidden characters are in every text that is not well formed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0xd700, max: 0xe0ff })), (units) => {
        const text = String.fromCharCode(...units)
        expect(hasForbiddenCharacter(text)).toBe(!text.isWellFormed())
      }),
    )
  })
})

describe('isCountry', () => {
  it.each(['TT', 'US', 'GB', 'JP', 'SS', 'CW', 'AQ'])('isCountry accepts %s', (code) => {
    expect(isCountry(code)).toBe(true)
  })

  it.each(['tt', 'Tt', 'UK', 'XK', 'XX', 'ZZ', 'AN', 'EU', 'TTO', '780', '', ' TT', 'toString'])(
    'isCountry refuses %j',
    (code) => expect(isCountry(code)).toBe(false),
  )
})

it.each(['AMA@Example.com', ' ama@example.com ', 'ａｍａ@example.com', 'ama@EXAMPLE.COM'])(
  'the e-mail address %s is normalized to ama@example.com',
  (email) => expect(normalizeEmail(email)).toBe('ama@example.com'),
)

it('an e-mail address with an accent differs from the one without, in composed and decomposed form', () => {
  expect(normalizeEmail('josé@example.com')).not.toBe(normalizeEmail('jose@example.com'))
  expect(normalizeEmail('jose\u0301@example.com')).toBe(normalizeEmail('josé@example.com'))
})
