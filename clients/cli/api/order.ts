// Makes the bodies that the command line sends: orders, payers, transfers, bills, profiles.
import { randomBytes, randomInt } from 'node:crypto'
import type { Json } from './api-call.ts'

export const walletName = 'Demo Wallet'
export const closedBankName = 'Restricted Bank'

/** A short unique text: the prefix, a dash and 12 hex digits. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`
}

/** The mobile number of person NN (0 to 99) of the sandbox, in E.164. */
export function person(nn: number): string {
  return `+120255501${String(nn).padStart(2, '0')}`
}

/** A random mobile number in E.164, which most likely has no account. */
export function newNumber(): string {
  return `+1246${String(randomInt(2_000_000, 9_999_999))}`
}

/** A payer by wallet on a payment link; person 20 is not simulated and acts by hand. */
export function payer(nn: number, more: Json = {}): Json {
  return {
    mobile_number: person(nn),
    payment_channel: 'payment_link',
    payment_method: 'wallet',
    ...more,
  }
}

/** A transaction request of 100.00 USD, by default for one payer who acts by hand. */
export function order(more: Json = {}): Json & { id: string } {
  return { id: unique('order'), amount: '100.00', currency: 'USD', payers: [payer(20)], ...more }
}

/** A bill of 20.00 USD that the biller accepts unless `more` changes that. */
export function bill(more: Json = {}): Json {
  return {
    biller_code: 'DEMO_POWER',
    product_code: 'PREPAID',
    amount: '20.00',
    currency: 'USD',
    customer_reference: '12345678',
    external_reference: unique('order'),
    ...more,
  }
}

/** The profile of a new person. */
export function profile(more: Json = {}): Json & { mobile_number: string; email: string } {
  return {
    first_name: 'Efua',
    last_name: 'Sutherland',
    email: `${unique('efua')}@example.com`,
    mobile_number: newNumber(),
    institution_name: walletName,
    ...more,
  }
}
