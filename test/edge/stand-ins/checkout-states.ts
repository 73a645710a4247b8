// Every state of a payer's page, by a descriptive name: for tests with and without a browser, and for the screenshots.
import { noCardForms, type Shown } from './checkout.ts'

const shared = { payment: 'Partially_paid', othersMinor: 6_000n, othersPaidMinor: 2_000n } as const

/** A state's name, and what the payment behind it is like. */
export const states: Array<[string, Shown]> = [
  ['open', {}],
  ['open by card', { method: 'card' }],
  ['open without a card form', { method: 'card', description: noCardForms }],
  ['open at a point of sale', { channel: 'direct_pos', method: 'qr_code' }],
  ['open at an agent', { channel: 'agent', method: 'cash' }],
  ['open to one of several', { othersMinor: 6_000n }],
  ['partly paid by others', shared],
  ['refused', { refusedAttempts: 2 }],
  ['processing', { payer: 'Processing' }],
  ['paid', { payer: 'paid', payment: 'paid' }],
  ['paid, others not', { ...shared, payer: 'paid' }],
  ['cancelled', { payer: 'Cancelled', payment: 'Cancelled' }],
  ['expired', { payer: 'Expired', payment: 'Expired' }],
  ['failed', { payer: 'Failed', payment: 'Failed', refusedAttempts: 5 }],
  ['refunded', { payer: 'Refunded', payment: 'Refunded' }],
]
