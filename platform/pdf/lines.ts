// Breaks text of any script into lines, and each line into pieces of one font in the order in which they are drawn.
import bidiModule from 'bidi-js'

/** A part of a line in one font. The shaper of the font orders the letters of a piece that is read from right to left. */
export type Piece = { text: string; font: string; width: number }

/** The pieces of a line from left to right. */
export type Line = { pieces: Piece[]; width: number }

/** How text is set: `direction` undefined means that of its first letter; widths are of one unit. */
export type Setting = {
  width: number
  direction: 'ltr' | 'rtl' | undefined
  /** The font of one letter with its marks, undefined when none has it; `before` is the font of the letter before it. */
  fontOf: (letter: string, before: string | undefined) => string | undefined
  /** The width of a text in a font. */
  widthOf: (text: string, font: string) => number
}

/** What stands for a letter that no font has. */
const replacement = '?'
// What its types call the default export is, in a CommonJS module, the module itself.
const bidi = (bidiModule as unknown as typeof bidiModule.default)()
const letters = new Intl.Segmenter()
/** A line may end after a blank, and beside each letter of the scripts that have no blanks. */
const unitPattern =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]\p{P}*|\s|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]+/gu
/** Marks of direction and the like, which have done their work once the order is known. The joiners shape letters. */
const invisible = /[^\P{Cf}\u200c\u200d]/gu
const shapedFromTheRight = /[\p{sc=Arabic}\p{sc=Hebrew}]/u

/** Sets a text; blanks of every kind become one. A word that is too long for a line is broken anywhere. */
export function setLines(text: string, setting: Setting): Line[] {
  const plain = text.normalize('NFC').replaceAll(/\s+/g, ' ').trim()
  const measured = (unit: string) => ({ unit, width: setLine(unit, setting).width })
  const units = (plain.match(unitPattern) ?? []).map(measured)
  const fitting = units.flatMap((one) =>
    one.width <= setting.width ? [one] : lettersOf(one.unit).map(measured),
  )
  const lines: string[] = []
  let line = ''
  let lineWidth = 0
  for (const { unit, width } of fitting) {
    if (line !== '' && unit !== ' ' && lineWidth + width > setting.width) {
      lines.push(line)
      line = ''
      lineWidth = 0
    }
    line += unit
    lineWidth += width
  }
  return [...lines, line].filter(Boolean).map((one) => setLine(one.trim(), setting))
}

/** Whether a text has letters that are read from right to left. */
export function hasRightToLeft(text: string): boolean {
  return shapedFromTheRight.test(text)
}

function lettersOf(text: string): string[] {
  return [...letters.segment(text)].map(({ segment }) => segment)
}

type Run = { text: string; font: string; level: number }

function setLine(line: string, setting: Setting): Line {
  const pieces = reordered(runsOf(line, setting)).map(({ text, font, level }) => {
    const isReversed = level % 2 === 1 && !shapedFromTheRight.test(text)
    const drawn = isReversed ? lettersOf(text).toReversed().join('') : text
    return { text: drawn, font, width: setting.widthOf(drawn, font) }
  })
  return { pieces, width: pieces.reduce((sum, { width }) => sum + width, 0) }
}

/** Parts of one font and one level of the Unicode Bidirectional Algorithm, in the order of reading. */
function runsOf(line: string, { direction, fontOf }: Setting): Run[] {
  const { levels } = bidi.getEmbeddingLevels(line, direction)
  const mirrored = bidi.getMirroredCharactersMap(line, levels)
  const runs: Run[] = []
  for (const { segment, index } of letters.segment(line)) {
    const level = levels[index] ?? 0
    const text = (mirrored.get(index) ?? segment).replaceAll(invisible, '')
    if (text === '') continue
    const last = runs.at(-1)
    const found = fontOf(text, last?.font)
    const font = found ?? fontOf(replacement, last?.font)
    if (font === undefined) throw new Error('no font has a question mark')
    const shown = found === undefined ? replacement : text
    if (last?.font === font && last.level === level) last.text += shown
    else runs.push({ text: shown, font, level })
  }
  return runs
}

/** Rule L2 of the algorithm: from the highest level down, what is on a level or above it is reversed. */
function reordered(runs: Run[]): Run[] {
  let order = runs
  for (let level = Math.max(0, ...runs.map((run) => run.level)); level > 0; level -= 1) {
    const groups: Run[][] = []
    for (const run of order) {
      const last = groups.at(-1)
      const isSame = last?.[0] !== undefined && last[0].level >= level === run.level >= level
      if (isSame) last?.push(run)
      else groups.push([run])
    }
    order = groups.flatMap((group) =>
      (group[0]?.level ?? 0) >= level ? group.toReversed() : group,
    )
  }
  return order
}
