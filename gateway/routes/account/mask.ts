// Masks the identifier that an account was looked up by, so that an answer can show it.
import { maskPhone } from '#core/text/phone.ts'

/** The last four digits of a number; the first letter and the domain of an e-mail address. */
export function maskLookup(type: 'MOBILE' | 'EMAIL' | 'ACCOUNT_NUMBER', value: string): string {
  if (type === 'EMAIL') {
    const domain = value.slice(value.lastIndexOf('@'))
    return `${Array.from(value)[0] ?? ''}***${domain}`
  }
  if (type === 'MOBILE') return maskPhone(value)
  const characters = Array.from(value)
  const hidden = Math.max(0, characters.length - 4)
  // A short number is hidden whole.
  return hidden === 0
    ? '*'.repeat(characters.length)
    : '*'.repeat(hidden) + characters.slice(-4).join('')
}
