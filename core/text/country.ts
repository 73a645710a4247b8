// Recognises country codes.

// The package's own entry would load the country names of some eighty languages at boot.
import { getAlpha2Codes } from 'i18n-iso-countries/index.js'

// User-assigned, not of the standard, though the package lists it.
const userAssigned = 'XK'
const alpha2Codes = new Set(Object.keys(getAlpha2Codes()).filter((code) => code !== userAssigned))

/** Returns whether a code is an ISO 3166-1 alpha-2 country code in capitals. */
export function isCountry(code: string): boolean {
  return alpha2Codes.has(code)
}
