// Describes the patterns of the contracts in words, for refusals and the reference.

/** Each pattern that a field of a contract may have, worded to follow the field's name: "must be …". */
const patterns: ReadonlyArray<readonly [pattern: string, words: string]> = [
  [String.raw`^[^\x00-\x1f\x7f-\x9f]*$`, 'must not hold control characters'],
  [
    String.raw`^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$`,
    'must not hold control characters but tabs and line breaks',
  ],
  [String.raw`^\+[1-9][0-9]{4,14}$`, 'must be a number in E.164 with plus sign'],
  [String.raw`^[^\x00-\x20@\x7f-\xa0]+@[^\x00-\x20@\x7f-\xa0]+$`, 'must be an e-mail address'],
  [String.raw`^https[:][/][/][^\x00-\x20\x7f-\xa0]+$`, 'must be an https URL'],
  ['^[A-Z]{3}$', 'must be an ISO 4217 code'],
  ['^[A-Z]{2}$', 'must be an ISO 3166-1 alpha-2 code'],
  [
    String.raw`^(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?$`,
    'must be a decimal with at most 15 digits and 4 decimals',
  ],
  [String.raw`^[\x21-\x7e]{1,255}$`, 'must be 1 to 255 visible ASCII characters'],
  ['^(GET|POST)[ ][/][a-z_/]{1,60}$', 'must be a method and a path such as "POST /quote"'],
  ['^[0-9]{4}-[0-9]{2}-[0-9]{2}$', 'must be a contract version such as 2024-10-01'],
  ['^[A-Z0-9_]{1,64}$', 'must be 1 to 64 capitals, digits and underscores'],
  ['^[A-Z][A-Z0-9_]{0,63}$', 'must be 1 to 64 capitals, digits and underscores, a capital first'],
  ['^[a-z0-9_]{1,64}$', 'must be 1 to 64 lower-case letters, digits and underscores'],
  [
    '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$',
    'must be a UUID',
  ],
  ['^[0-9a-f]{8}$', 'must be 8 hex digits'],
  ['^[a-z0-9-]{1,32}$', 'must be 1 to 32 small letters, digits and hyphens'],
  ['^[a-z.]{1,20}$', 'must be the name of a file of keys'],
  ['^[0-9]{4,12}$', 'must be 4 to 12 digits'],
  ['^[0-9]{12}$', 'must be twelve digits'],
  ['^[#][0-9a-f]{6}$', 'must be a colour such as #0b57d0'],
  ['^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})?$', 'must be a language tag such as pt-BR'],
]

const wordsByPattern = new Map(patterns)

/** The words of a pattern, to follow a field's name; "must match …" with the pattern itself when it has none. */
export function patternWords(pattern: string): string {
  return wordsByPattern.get(pattern) ?? `must match ${pattern}`
}

/** Whether a pattern has words, as every pattern of a contract must. */
export function hasWords(pattern: string): boolean {
  return wordsByPattern.has(pattern)
}
