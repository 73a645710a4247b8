// Writes and reads the language and colours of a card form, those of the payer's page, in the query of the form's address.
import { type Language, languageOfTag } from '#core/text/language.ts'

/** Colours of buttons and links on a light and on a dark background, `#` and six hexadecimal digits. */
export type FrameColours = { accentColor: string; darkAccentColor: string }

/** What the query of a form's address asks for. */
export type FrameOptions = {
  language: Language
  theme: { accent: string; dark: string } | undefined
}

/** The query for a language tag, empty for the form's default, and colours, which the contract has validated. */
export function frameQuery(language: string, theme: FrameColours | undefined): string {
  const query = new URLSearchParams()
  if (language !== '') query.set('lang', language)
  if (theme !== undefined) {
    query.set('accent', theme.accentColor.slice(1))
    query.set('dark', theme.darkAccentColor.slice(1))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

/** Reads the query; anybody can write one, so that what is no colour is left out, and an unknown language is English. */
export function readFrameQuery(query: unknown): FrameOptions {
  const { lang, accent, dark } = query as Record<string, unknown>
  const language = (typeof lang === 'string' ? languageOfTag(lang) : undefined) ?? 'en'
  const theme =
    isColour(accent) && isColour(dark) ? { accent: `#${accent}`, dark: `#${dark}` } : undefined
  return { language, theme }
}

function isColour(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{6}$/i.test(text)
}
