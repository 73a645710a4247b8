// Reads the card form and knows the test cards. Card numbers are never stored or printed.
import type { Verdict } from './charge.ts'

/** The form as it was sent, texts untrimmed. */
export type CardForm = { number: string; expiry: string; cvc: string }
export type CardField = keyof CardForm

/** A card that can be tried, or what to correct first. No attempt is made of a form to correct. */
export type CardReading =
  | { verdict: Verdict; field?: undefined }
  | { field: CardField; problem: CardProblem; verdict?: undefined }

/** What is wrong with a field. */
export type CardProblem = 'noNumber' | 'noExpiry' | 'pastExpiry' | 'noCvc'

/** Test cards by number. Every other number is declined. */
export const testCards: Readonly<Record<string, Verdict>> = {
  '4242424242424242': { outcome: 'paid' },
  '4000000000000002': { outcome: 'refused', refusal: 'declined' },
  '4000000000009995': { outcome: 'refused', refusal: 'insufficient_funds' },
  '4000000000006975': { outcome: 'refused', refusal: 'limit_exceeded' },
  '4000000000000127': { outcome: 'refused', refusal: 'wrong_credentials' },
  '4000000000000069': { outcome: 'refused', refusal: 'invalid_details' },
  '4000000000000119': { outcome: 'refused', refusal: 'unavailable' },
}

const expiryPattern = /^(\d{2})\s*\/?\s*((?:20)?\d{2})$/

/** Reads a form at a moment; a card is good to the last day of its month, in UTC. */
export function readCard({ number, expiry, cvc }: CardForm, now: Date): CardReading {
  const digits = number.replaceAll(/[\s-]/g, '')
  if (!/^\d{12,19}$/.test(digits)) {
    return { field: 'number', problem: 'noNumber' }
  }
  const [, month = '', year = ''] = expiryPattern.exec(expiry.trim()) ?? []
  if (!/^(0[1-9]|1[0-2])$/.test(month)) {
    return { field: 'expiry', problem: 'noExpiry' }
  }
  const firstDayAfter = Date.UTC(2000 + Number(year.slice(-2)), Number(month), 1)
  if (firstDayAfter <= now.getTime()) {
    return { field: 'expiry', problem: 'pastExpiry' }
  }
  if (!/^\d{3,4}$/.test(cvc.trim())) {
    return { field: 'cvc', problem: 'noCvc' }
  }
  const known = Object.hasOwn(testCards, digits) ? testCards[digits] : undefined
  return { verdict: known ?? { outcome: 'refused', refusal: 'declined' } }
}
