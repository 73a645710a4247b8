// Makes the colours of a page from a merchant's one colour, so that all that is written in it or on it can be read. Pure.

/** The colours of a page that a brand changes, by the names of their properties in `style.css`. */
export type Palette = { accent: string; action: string; 'on-action': string }

/** A palette for light and one for dark pages. */
export type Palettes = { light: Palette; dark: Palette }

type Rgb = readonly [red: number, green: number, blue: number]

/** WCAG 2.2, 1.4.3: text. */
const textContrast = 4.5
/** WCAG 2.2, 1.4.11: the edge of a button. */
const edgeContrast = 3
/** Background colours of `style.css` behind the accent. */
const grounds = {
  light: { surfaces: ['#ffffff', '#eaf1fd'], towards: [0, 0, 0] },
  dark: { surfaces: ['#1a1d21', '#1d2c47'], towards: [255, 255, 255] },
} as const satisfies Record<string, { surfaces: string[]; towards: Rgb }>
const steps = 100

/** The palettes of a colour such as "#0b57d0". Where the colour cannot be read it is darkened, or lightened on dark pages. */
export function palettesOf(colour: string): Palettes {
  return { light: paletteOf(colour, 'light'), dark: paletteOf(colour, 'dark') }
}

/** The contrast of two colours as WCAG 2.2 computes it, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dim = 0, bright = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (bright + 0.05) / (dim + 0.05)
}

function paletteOf(colour: string, theme: keyof typeof grounds): Palette {
  const action = moved(colour, theme, edgeContrast)
  // Black or white: one of them has 4.58 on every colour.
  const onAction = contrast('#ffffff', action) >= textContrast ? '#ffffff' : '#000000'
  return { accent: moved(colour, theme, textContrast), action, 'on-action': onAction }
}

/** The colour, moved towards black or white until it has the contrast on every ground. */
function moved(colour: string, theme: keyof typeof grounds, wanted: number): string {
  const { surfaces, towards } = grounds[theme]
  const from = rgbOf(colour)
  for (let step = 0; step < steps; step += 1) {
    const [red, green, blue] = from.map((part, at) =>
      Math.round(part + (((towards[at] ?? 0) - part) * step) / steps),
    )
    const mixed = hexOf([red ?? 0, green ?? 0, blue ?? 0])
    if (surfaces.every((surface) => contrast(mixed, surface) >= wanted)) return mixed
  }
  return hexOf(towards)
}

function rgbOf(colour: string): Rgb {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(colour.slice(at, at + 2), 16),
  )
  return [red, green, blue]
}

function hexOf(rgb: Rgb): string {
  return `#${rgb.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = rgbOf(colour).map((part) => {
    const channel = part / 255
    return channel <= 0.040_45 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
