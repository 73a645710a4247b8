// Rules of short texts: characters that no text of a request may hold, country codes, e-mail addresses.

// The country codes are imported by file, because the package's main entry loads the country names of some eighty languages at start.
import { getAlpha2Codes } from 'i18n-iso-countries/index.js'

const forbidden = /[\p{Cc}\p{Cs}]/u
const forbiddenInMultiline = /(?!\t|\r?\n)[\p{Cc}\p{Cs}]/u
const allForbidden = new RegExp(forbiddenInMultiline, 'gu')

/** Whether a text may run over several lines. */
export type TextOptions = {
  /** Lets tab and newline pass; a carriage return only as part of CR LF. */
  multiline?: boolean
}

/**
 * Returns the first forbidden character of a text as "U+0000", undefined when there is none. Forbidden are control
 * characters, NUL among them, and lone surrogates: PostgreSQL refuses them, or they corrupt log lines.
 */
export function findForbiddenCharacter(
  text: string,
  { multiline = false }: TextOptions = {},
): string | undefined {
  const match = (multiline ? forbiddenInMultiline : forbidden).exec(text)
  if (!match) return undefined
  const hex = match[0].charCodeAt(0).toString(16).toUpperCase()
  return `U+${hex.padStart(4, '0')}`
}

/** The number of characters of a text as all contracts count them: code points, not the units of UTF-16. */
export function characterCount(text: string): number {
  return Array.from(text).length
}

/** A text of a peer's response as it can be stored: cut to `max` UTF-16 units, U+FFFD for each forbidden character. */
export function storableText(text: string, max: number): string {
  return text.slice(0, max).replace(allForbidden, '\uFFFD')
}

/** Returns whether a text holds a forbidden character. */
export function hasForbiddenCharacter(text: string, options: TextOptions = {}): boolean {
  return findForbiddenCharacter(text, options) !== undefined
}

// The package lists Kosovo's code, which is user-assigned and not part of the standard.
const userAssigned = 'XK'
const alpha2Codes = new Set(Object.keys(getAlpha2Codes()).filter((code) => code !== userAssigned))

/** Returns whether a code is an ISO 3166-1 alpha-2 country code in capitals. */
export function isCountry(code: string): boolean {
  return alpha2Codes.has(code)
}

/**
 * An e-mail address for comparison: lower case, Unicode NFKC, no blanks around it. Accents stay: they make another
 * mailbox.
 */
export function normalizeEmail(email: string): string {
  return email.normalize('NFKC').toLowerCase().trim()
}
