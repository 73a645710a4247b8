// Tests that no cell of a CSV file is a formula for a spreadsheet that separates cells by commas, semicolons or tabs.
import { expect, it } from 'vitest'
import { csvLine } from '../../console/routes/list.ts'

it.each([
  ['=1+1', `"'=1+1"`],
  ['+1', `"'+1"`],
  ['-1+1', `"'-1+1"`],
  ['-12.34', '-12.34'],
  ['@sum(a1)', `"'@sum(a1)"`],
  ['\t=1', `"\t'=1"`],
  ['a,b', '"a,b"'],
  ['a;b', '"a;b"'],
  ['a\tb', '"a\tb"'],
  ['a;=1+1', `"a;'=1+1"`],
  ['a\t @sum(a1)', `"a\t '@sum(a1)"`],
  ['say "x"', '"say ""x"""'],
  ['two\nlines', '"two\nlines"'],
  ['plain', 'plain'],
])('a cell of a CSV file with %j is %s', (text, cell) => {
  expect(csvLine([text])).toBe(`${cell}\r\n`)
})

/** The cells of a line for a spreadsheet with this separator, to which a quote counts at the beginning of a cell alone. */
function cellsOf(line: string, separator: string): string[] {
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"?)?([^${separator}\\r\\n]*)(?:[${separator}\\r\\n]|$)`,
    'y',
  )
  const cells: string[] = []
  while (cell.lastIndex < line.length) {
    const [, quoted = '', rest = ''] = cell.exec(line) ?? []
    cells.push(quoted.replaceAll('""', '"') + rest)
  }
  return cells
}

const attacks = [
  'a;=1+1',
  'a\n=1+1;',
  'a\r\n=1+1',
  'a\t@x',
  'a; \t=1+1',
  'a;"=1+1"',
  "Shoes;=cmd|' /C calc'!A0;x",
  'a;b;-1+1;|x;%x',
]
const places = [0, 1, 2]
const separators = [',', ';', '\t']

it.each(
  attacks.flatMap((text) =>
    places.flatMap((at) => separators.map((separator) => ({ text, at, separator }))),
  ),
)(
  '$text in cell $at of a line is no formula for a spreadsheet that separates by $separator',
  ({ text, at, separator }) => {
    const cells = ['id1', '-25.00', 'end'].with(at, text)
    const read = cellsOf(csvLine(cells), separator)
    expect(read.length).toBeGreaterThan(0)
    const isNumber = (cell: string) => /^-?\d+(\.\d+)?$/.test(cell)
    expect(read.filter((cell) => /^\s*[=+\-@|%]/.test(cell) && !isNumber(cell))).toEqual([])
  },
)
