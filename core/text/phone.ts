// Parses phone numbers into E.164 and masks them. Does not check that a number is in use.
import {
  type CountryCode,
  getCountries,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max'

// Digits with the separators that people write between them, an opening parenthesis at most in front.
const writtenPattern = /^\+?\(?\d[\d ().-]{2,30}$/
const countriesWithNumbers = new Set<string>(getCountries())
const e164Pattern = /^\+[1-9]\d{1,14}$/

/**
 * Returns the E.164 form, with plus sign, of a number that is possible; undefined for any other text.
 * `country` is the ISO 3166-1 alpha-2 code of the country whose national numbers are understood.
 *
 * With a plus sign only the international reading counts. Without one the digits are read both as
 * a national number of the country and as an international number that lost its plus sign. When
 * the readings differ and both are possible, the national one wins if it is valid and either the
 * international one is not, or it is a mobile number; else the international one wins. So a
 * ten-digit US number that happens to start like +46 stays in the US, and +49 171 1234567 without
 * its plus sign does not become a German landline.
 */
export function parsePhone(text: string, country: string): string | undefined {
  if (!writtenPattern.test(text)) return undefined
  if (text.startsWith('+')) return possible(readInternational(text))?.number
  const national = possible(readNational(text, country))
  const international = possible(readInternational(`+${text}`))
  if (!national || !international) return (national ?? international)?.number
  const isNational = national.isValid() && (isMobile(national) || !international.isValid())
  return (isNational ? national : international).number
}

function readInternational(text: string): PhoneNumber | undefined {
  return parsePhoneNumberFromString(text, { extract: false })
}

function readNational(text: string, country: string): PhoneNumber | undefined {
  if (!hasNumbers(country)) return undefined
  return parsePhoneNumberFromString(text, { defaultCountry: country, extract: false })
}

function hasNumbers(country: string): country is CountryCode {
  return countriesWithNumbers.has(country)
}

function possible(number: PhoneNumber | undefined): PhoneNumber | undefined {
  if (!number?.isPossible() || !e164Pattern.test(number.number)) return undefined
  // Some impossible digits ("+31 0000000") turn into other ones each time that they are read, and what can be dialled
  // within a town alone ("000 0000" in Canada) is possible there and nowhere else.
  const again = readInternational(number.number)
  return again?.number === number.number && again.isPossible() ? number : undefined
}

function isMobile(number: PhoneNumber): boolean {
  const type = number.getType()
  return type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE'
}

/**
 * Hides all but the last four digits and drops everything that is not a digit: "+18683501234" becomes "*******1234".
 */
export function maskPhone(phone: string): string {
  const digits = phone.replaceAll(/\D/g, '')
  if (digits.length <= 4) return '*'.repeat(digits.length)
  return '*'.repeat(digits.length - 4) + digits.slice(-4)
}
