// Writes a brand as a page shows it: colours as a style, contacts as links. Pure.
import type { Brand } from './brands.ts'
import type { Palette } from './palette.ts'

/** A contact as it is read, and where it leads. */
export type Contact = { text: string; href: string }

/** The style of a brand's colours, after that of the pages; empty for a brand without one. */
export function coloursOf({ palettes }: Brand): string {
  if (palettes === undefined) return ''
  return `${ruleOf(palettes.light)}@media (prefers-color-scheme:dark){${ruleOf(palettes.dark)}}`
}

function ruleOf(palette: Palette): string {
  const colours = Object.entries(palette).map(([name, colour]) => `--${name}:${colour}`)
  return `:root{${colours.join(';')}}`
}

/** How payers reach the merchant. */
export function contactsOf({ supportEmail, supportPhone, websiteUrl }: Brand): Contact[] {
  const host = URL.parse(websiteUrl)?.host ?? ''
  return [
    {
      text: supportEmail,
      href: `mailto:${supportEmail.split('@').map(encodeURIComponent).join('@')}`,
    },
    { text: supportPhone, href: `tel:${supportPhone}` },
    { text: host, href: websiteUrl },
  ].filter(({ text }) => text !== '')
}
