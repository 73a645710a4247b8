// Tests the money of a quote: its terms, and what leaves the account when it is executed.
import { expect, it } from 'vitest'
import { debitOf, priceQuote } from './quote.ts'

const rate = { text: '6.7829', sourceTime: new Date(0) }
const requested = { amountMinor: 1_000n, currency: 'USD' }

it('what leaves the account is the requested amount and what the sender pays in fees', () => {
  const terms = priceQuote(requested, 'TTD', rate)
  expect(debitOf(terms)).toEqual(requested)
  const fees = { ...terms.fees, totalMinor: 9n, senderPaysMinor: 5n, recipientPaysMinor: 4n }
  expect(debitOf({ ...terms, fees })).toEqual({ amountMinor: 1_005n, currency: 'USD' })
})

it('rounding takes a part of a minor unit, which the ledger posts as one, or nothing', () => {
  expect(priceQuote(requested, 'TTD', rate)).toMatchObject({
    quoted: { amountMinor: 6_782n, currency: 'TTD' },
    residual: '0.009',
    roundingMinor: 1n,
  })
  const whole = { amountMinor: 10_000n, currency: 'USD' }
  expect(priceQuote(whole, 'TTD', rate)).toMatchObject({ residual: '0', roundingMinor: 0n })
})

it('an amount that is worth less than a minor unit is refused by its field', () => {
  const tiny = { amountMinor: 1n, currency: 'JPY' }
  expect(() => priceQuote(tiny, 'USD', { ...rate, text: '0.00669568' })).toThrow(
    expect.objectContaining({
      reason: 'INVALID_PARAMETER',
      message: 'request_amount is worth less than 0.01 USD',
      details: { field: 'request_amount' },
    }),
  )
})
