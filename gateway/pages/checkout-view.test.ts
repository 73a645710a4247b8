// Holds what a payer's page says in each state and offers on each channel.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import {
  channelMethods,
  numberOf,
  type PayerState,
  type PaymentChannel,
  type PaymentMethod,
  payerStates,
  paymentChannels,
  paymentMethods,
} from '#core/payment-words.ts'
import { type CheckoutMessage, checkoutView } from './checkout-view.ts'

type Wanted = { state?: PayerState; channel?: PaymentChannel; method?: PaymentMethod }

function checkout({ state = 'Pending', channel = 'payment_link', method = 'wallet' }: Wanted) {
  const others = channelMethods[channel].filter((other) => other !== method)
  return {
    businessName: 'Demo Store',
    description: 'Order 1001',
    currency: 'TTD',
    amountMinor: 10_000n,
    feeMinor: 290n,
    paymentState: 1,
    payerState: numberOf(payerStates, state),
    expireTime: timestampFromDate(new Date('2026-01-02T03:04:05Z')),
    paymentChannel: numberOf(paymentChannels, channel),
    paymentMethod: numberOf(paymentMethods, method),
    allowedMethods: [method, ...others].map((one) => numberOf(paymentMethods, one)),
    refusedAttempts: 0,
    cashCode: channel === 'agent' ? '123456789012' : '',
    successUrl: 'https://shop.example/thanks',
    errorUrl: 'https://shop.example/sorry',
  } satisfies CheckoutMessage
}

describe('an open request', () => {
  it('shows the total with its fee, the deadline and every way of its channel', () => {
    const view = checkoutView(checkout({}))
    expect(view).toMatchObject({
      total: '102.90 TTD',
      amount: '100.00 TTD',
      fee: '2.90 TTD',
      expires: '2026-01-02 03:04:05 UTC',
      means: 'wallet',
      methodLabels: ['Mobile wallet', 'Card', 'Credit card', 'Debit card'],
      otherMeans: [{ label: 'Card', method: 'card' }],
      returnUrl: '',
    })
  })

  it('opens what the payer chose, if the channel offers it', () => {
    expect(checkoutView(checkout({}), 'card').means).toBe('card')
    expect(checkoutView(checkout({}), 'cash').means).toBe('wallet')
    expect(checkoutView(checkout({ method: 'debit' })).means).toBe('card')
  })

  it('shows a QR code in the store and a cash code at the agent', () => {
    expect(checkoutView(checkout({ channel: 'direct_pos' })).showsQr).toBe(true)
    const agent = checkoutView(checkout({ channel: 'agent', method: 'card' }))
    expect(agent).toMatchObject({ means: 'cash_code', cashCode: '1234 5678 9012', showsQr: false })
    expect(agent.otherMeans).toEqual([])
  })

  it('says that an attempt was refused', () => {
    const view = checkoutView({ ...checkout({}), refusedAttempts: 2 })
    expect(view.notice).toContain('refused')
    expect(view.isOpen).toBe(true)
  })
})

describe('every other state', () => {
  const closed = payerStates.filter((state) => state !== 'Pending')
  it.each(closed)('%s is said in words and offers nothing to pay', (state) => {
    const view = checkoutView(checkout({ state, channel: 'direct_pos' }))
    expect(view.title).not.toBe('Payment request')
    expect(view).toMatchObject({ isOpen: false, means: undefined, otherMeans: [], showsQr: false })
  })

  it('leads back to where the merchant wants the payer', () => {
    expect(checkoutView(checkout({ state: 'paid' })).returnUrl).toBe('https://shop.example/thanks')
    expect(checkoutView(checkout({ state: 'Expired' })).returnUrl).toBe(
      'https://shop.example/sorry',
    )
  })
})
