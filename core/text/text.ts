// Finds characters that no text of a request may hold; does not change the text.

const forbidden = /[\p{Cc}\p{Cs}]/u
const forbiddenInMultiline = /(?!\t|\r?\n)[\p{Cc}\p{Cs}]/u

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

/** Returns whether a text holds a forbidden character. */
export function hasForbiddenCharacter(text: string, options: TextOptions = {}): boolean {
  return findForbiddenCharacter(text, options) !== undefined
}
