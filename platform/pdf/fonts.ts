// Finds the font that prints a letter. Noto fonts come in slices of some hundred letters, so that few bytes are read.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { create, type Font } from 'fontkit'
import { unpackWoff } from './woff.ts'

/** Thickness of the letters. Chinese, Japanese and Korean letters have one; the fonts of Chinese print Japanese too. */
export type Weight = 'regular' | 'bold'

type Slice = { from: number; to: number; file: string }

/** In the order in which a letter is looked for; Latin, Greek and Cyrillic are in the first. */
const packages = [
  { name: 'noto-sans', weights: { regular: 400, bold: 700 } },
  { name: 'noto-sans-arabic', weights: { regular: 400, bold: 700 } },
  { name: 'noto-sans-sc', weights: { regular: 400, bold: 400 } },
  { name: 'noto-sans-kr', weights: { regular: 400, bold: 400 } },
] as const

const slices: Partial<Record<Weight, Slice[]>> = {}
const fonts = new Map<string, { content: Buffer; font: Font }>()
const filesOf: Record<Weight, Map<number, string[]>> = { regular: new Map(), bold: new Map() }

/**
 * The path of the font file that has a letter: the one of the letter before it where that has both, so that words stay
 * together. Undefined when none has it.
 */
export function fontFileOf(
  letter: string,
  weight: Weight,
  before: string | undefined,
): string | undefined {
  const codePoint = letter.codePointAt(0) ?? 0
  let files = filesOf[weight].get(codePoint)
  if (files === undefined) {
    files = slicesOf(weight)
      .filter(({ from, to }) => codePoint >= from && codePoint <= to)
      .map(({ file }) => file)
      // Ranges of a slice may name letters that its font lacks.
      .filter((file) => fontOf(file).font.hasGlyphForCodePoint(codePoint))
    filesOf[weight].set(codePoint, files)
  }
  return files.find((file) => file === before) ?? files[0]
}

/** The font in a file that `fontFileOf` returned. Each document opens it anew: one that was drawn with forgets letters. */
export function readFont(file: string): Buffer {
  return fontOf(file).content
}

function fontOf(file: string): { content: Buffer; font: Font } {
  let found = fonts.get(file)
  if (found === undefined) {
    const content = unpackWoff(readFileSync(file))
    const font = create(content)
    if (!('layout' in font)) throw new Error(`${file} has several fonts`)
    found = { content, font }
    fonts.set(file, found)
  }
  return found
}

function slicesOf(weight: Weight): Slice[] {
  return (slices[weight] ??= packages.flatMap(({ name, weights }) =>
    readSlices(name, weights[weight]),
  ))
}

/** The slices of a package of Fontsource: its `unicode.json` has the ranges of each. */
function readSlices(name: string, weight: number): Slice[] {
  const folder = new URL('.', import.meta.resolve(`@fontsource/${name}/unicode.json`))
  const ranges = JSON.parse(readFileSync(new URL('unicode.json', folder), 'utf8')) as Record<
    string,
    string
  >
  return Object.entries(ranges).flatMap(([slice, list]) => {
    const part = slice.replaceAll(/[[\]]/g, '')
    const file = fileURLToPath(new URL(`files/${name}-${part}-${weight}-normal.woff`, folder))
    return list.split(',').map((range) => {
      const [from = '', to = from] = range.trim().replace('U+', '').split('-')
      return { from: Number.parseInt(from, 16), to: Number.parseInt(to, 16), file }
    })
  })
}
