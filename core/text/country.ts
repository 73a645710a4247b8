// Recognises country codes.

// Imported by file, because the package's main entry loads the country names of some eighty languages at start.
import { getAlpha2Codes } from 'i18n-iso-countries/index.js'

// The package lists Kosovo's code, which is user-assigned and not part of the standard.
const userAssigned = 'XK'
const alpha2Codes = new Set(Object.keys(getAlpha2Codes()).filter((code) => code !== userAssigned))

/** Returns whether a code is an ISO 3166-1 alpha-2 country code in capitals. */
export function isCountry(code: string): boolean {
  return alpha2Codes.has(code)
}
