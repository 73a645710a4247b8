// Masks what identifies a customer, so that an answer or a page can show it.
import { maskPhone } from './phone.ts'

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

/** The first letter of a name. */
export function maskName(name: string): string {
  return `${Array.from(name)[0] ?? ''}***`
}
