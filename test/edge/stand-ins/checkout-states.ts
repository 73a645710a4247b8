// Every state of a payer's page, by a descriptive name: for tests with and without a browser, and for the screenshots.
import { noCardForms, type Shown } from './checkout.ts'

const shared = { payment: 'Partially_paid', othersMinor: 6_000n, othersPaidMinor: 2_000n } as const

/** A state's name, what the payment behind it is like, and the query of the page. */
export const states: Array<[name: string, shown: Shown, query?: string]> = [
  ['open', {}],
  ['open by card', { method: 'card' }],
  ['open without a card form', { method: 'card', description: noCardForms }],
  ['open at a point of sale', { channel: 'direct_pos', method: 'qr_code' }],
  ['open on the phone that scanned', { channel: 'direct_pos', method: 'qr_code' }, '?scanned=1'],
  ['open at an agent', { channel: 'agent', method: 'cash' }],
  ['open to one of several', { othersMinor: 6_000n }],
  ['partly paid by others', shared],
  ['refused', { refusedAttempts: 2 }],
  ['refused, one attempt left', { refusedAttempts: 4 }],
  ['processing', { payer: 'Processing' }],
  ['paid', { payer: 'paid', payment: 'paid' }],
  ['paid, others not', { ...shared, payer: 'paid' }],
  ['cancelled', { payer: 'Cancelled', payment: 'Cancelled' }],
  ['expired', { payer: 'Expired', payment: 'Expired' }],
  ['failed', { payer: 'Failed', payment: 'Failed', refusedAttempts: 5 }],
  ['refunded', { payer: 'Refunded', payment: 'Refunded' }],
]

/** Every state of a receipt. */
export const receiptStates: Array<[name: string, shown: Shown]> = [
  ['receipt', { payer: 'paid', payment: 'paid' }],
  ['receipt, refunded', { payer: 'Refunded', payment: 'Refunded' }],
]
