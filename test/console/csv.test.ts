// Tests that no cell of a CSV file is a formula for a spreadsheet that separates cells by commas, semicolons or tabs.
import { expect, it } from 'vitest'
import { csvLine } from '../../console/routes/list.ts'

it.each([
  ['=1+1', `"'=1+1"`],
  ['+1', `"'+1"`],
  ['-1+1', `"'-1+1"`],
  ['-12.34', '-12.34'],
  ['@sum(a1)', `"'@sum(a1)"`],
  ['\t=1', `"'\t=1"`],
  ['a,b', '"a,b"'],
  ['a;b', '"a;b"'],
  ['a\tb', '"a\tb"'],
  ['a;=1+1', `"'a;=1+1"`],
  ['a\t @sum(a1)', `"'a\t @sum(a1)"`],
  ['say "x"', '"say ""x"""'],
  ['two\nlines', '"two\nlines"'],
  ['plain', 'plain'],
])('a cell of a CSV file with %j is %s', (text, cell) => {
  expect(csvLine([text])).toBe(`${cell}\r\n`)
})
