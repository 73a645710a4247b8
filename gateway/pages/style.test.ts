// Tests the colours of the pages for the contrast of WCAG 2.2 AA, and that the style has no motion.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contrast } from './brand/palette.ts'

const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8')
const [light = {}, darkChanges = {}] = [...style.matchAll(/:root \{([^}]*--text[^}]*)\}/g)].map(
  ([, block = '']) =>
    Object.fromEntries([...block.matchAll(/--([\w-]+): (#[\da-f]{6});/g)].map((m) => [m[1], m[2]])),
)
const palettes: Array<[string, Record<string, string>]> = [
  ['light', light],
  ['dark', { ...light, ...darkChanges }],
]

describe.each(palettes)('in the %s palette', (_, palette) => {
  it.each([
    ['text', 'surface'],
    ['text', 'notice'],
    ['text', 'good'],
    ['text', 'bad'],
    ['text', 'backdrop'],
    ['bad-line', 'surface'],
    ['muted', 'surface'],
    ['accent', 'surface'],
    ['on-action', 'action'],
  ])(`in the ${_} palette, %s on %s can be read`, (ink, ground) => {
    expect(contrast(palette[ink] ?? '', palette[ground] ?? '')).toBeGreaterThanOrEqual(4.5)
  })

  it.each(['line', 'accent', 'good-line', 'bad-line', 'action'])(
    `in the ${_} palette, %s can be seen beside its ground`,
    (line) => {
      expect(contrast(palette[line] ?? '', palette['surface'] ?? '')).toBeGreaterThanOrEqual(3)
    },
  )
})

it('the banner of a sandbox can be read in both palettes', () => {
  const [, ink = '', ground = ''] =
    /\.sandbox,[^{]*\{[^}]*color: (#\w+);\s*background: (#\w+);/.exec(style) ?? []
  expect(contrast(ink, ground)).toBeGreaterThanOrEqual(7)
})

it('a page has no animation', () => {
  expect(style).not.toMatch(/animation|transition|@keyframes|scroll-behavior/)
})

it('every link in a row, button and input is at least 44 pixels high', () => {
  expect(style).toMatch(/footer a \{[^}]*min-width: 2\.75rem;\s*min-height: 2\.75rem/)
  expect(style).toMatch(/input,\s*button,\s*\.button \{[^}]*min-height: 3rem/)
})
