// Tests that every colour of a merchant becomes colours that can be read, on light and on dark pages.
import { assert, integer, property } from 'fast-check'
import { expect, it } from 'vitest'
import { contrast, palettesOf } from './palette.ts'

const colours = integer({ min: 0, max: 0xff_ff_ff }).map(
  (value) => `#${value.toString(16).padStart(6, '0')}`,
)
const grounds = { light: ['#ffffff', '#eaf1fd'], dark: ['#1a1d21', '#1d2c47'] } as const

it('text in a colour and on it has a contrast of at least 4.5, and its buttons have 3', () => {
  assert(
    property(colours, (colour) => {
      const palettes = palettesOf(colour)
      for (const theme of ['light', 'dark'] as const) {
        const { accent, action, 'on-action': onAction } = palettes[theme]
        expect(contrast(onAction, action)).toBeGreaterThanOrEqual(4.5)
        for (const ground of grounds[theme]) {
          expect(contrast(accent, ground)).toBeGreaterThanOrEqual(4.5)
          expect(contrast(action, ground)).toBeGreaterThanOrEqual(3)
        }
      }
    }),
  )
})

it('a colour that can be read is not changed', () => {
  expect(palettesOf('#0b57d0').light).toEqual({
    accent: '#0b57d0',
    action: '#0b57d0',
    'on-action': '#ffffff',
  })
  expect(palettesOf('#ffd400').dark.action).toBe('#ffd400')
  expect(palettesOf('#ffd400').dark['on-action']).toBe('#000000')
})

it('a colour that is too light for a light page is darkened, and keeps its hue', () => {
  const { accent } = palettesOf('#ffd400').light
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(accent.slice(at, at + 2), 16),
  )
  expect(red).toBeGreaterThan(green)
  expect(green).toBeGreaterThan(blue)
})

it('the contrast of black and white is 21', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21, 5)
})
