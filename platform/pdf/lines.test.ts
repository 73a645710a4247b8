// Tests how text of several scripts is broken into lines and put in the order in which it is drawn.
import { expect, it } from 'vitest'
import { type Setting, setLines } from './lines.ts'

/** Every letter is one unit wide. Letters outside the named scripts have no font. */
const setting: Setting = {
  width: 20,
  direction: undefined,
  fontOf: (letter, before) => {
    if (/\p{sc=Arabic}/u.test(letter)) return 'arabic'
    if (/\p{sc=Han}/u.test(letter)) return 'han'
    if (/\p{sc=Thai}/u.test(letter)) return undefined
    return /[\p{L}\d]/u.test(letter) ? 'latin' : (before ?? 'latin')
  },
  widthOf: (text) => Array.from(text).length,
}

const drawn = (text: string, more: Partial<Setting> = {}) =>
  setLines(text, { ...setting, ...more }).map(({ pieces }) => pieces.map((piece) => piece.text))

it('a line is broken at blanks, and every blank is one', () => {
  expect(drawn('one  two\n three four five', { width: 9 })).toEqual([
    ['one two'],
    ['three'],
    ['four five'],
  ])
})

it('a word that is longer than a line is broken, and nothing of it is lost', () => {
  const address = `https://pay.example/receipts/${'x'.repeat(49)}`
  const lines = drawn(address)
  expect(lines.flat().join('')).toBe(address)
  expect(lines.map(([line = '']) => line.length).every((length) => length <= 20)).toBe(true)
})

it('Chinese is broken between any two letters, but not before a mark', () => {
  expect(drawn('北京市朝阳区，建国路', { width: 6 })).toEqual([['北京市朝阳'], ['区，建国路']])
})

it('Arabic among Latin stays together and keeps its place', () => {
  expect(drawn('Paid to شركة النور (Kofi)', { width: 40 })).toEqual([
    ['Paid to ', 'شركة النور', ' (', 'Kofi)'],
  ])
})

it('in a line from right to left the first word stands last, and brackets face it', () => {
  // The shaper draws the letters of the last piece from right to left.
  expect(drawn('شركة النور (Kofi)', { width: 40 })).toEqual([['(', 'Kofi', 'شركة النور )']])
})

it('money is read from left to right in any surrounding text', () => {
  const [line = []] = drawn('1,250.00 USD', { direction: 'ltr' })
  expect(line.join('')).toBe('1,250.00 USD')
})

it('marks of direction order the line and are not drawn', () => {
  const text = 'دُفع \u2068102.90 TTD\u2069 من'
  const [line = []] = drawn(text, { width: 40 })
  expect(line.join('')).not.toMatch(/[\u2066-\u2069]/)
  expect(line.join('')).toContain('102.90 TTD')
})

it('a letter that no font has becomes a question mark', () => {
  expect(drawn('a ไทย b')).toEqual([['a ??? b']])
})
