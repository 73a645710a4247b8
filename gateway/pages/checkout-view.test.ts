// Tests what a payer's page says in each state and offers on each channel.
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
  paymentStates,
} from '#core/payment/words.ts'
import { type CheckoutMessage, checkoutView } from './checkout-view.ts'
import { languageCodes } from './language.ts'

const partiallyPaid = numberOf(paymentStates, 'Partially_paid')

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
    requestAmountMinor: 10_000n,
    paidAmountMinor: state === 'paid' ? 10_000n : 0n,
  } satisfies CheckoutMessage
}

describe('an open request', () => {
  it('an open request shows the total with its fee, the deadline and every method of its channel', () => {
    const view = checkoutView(checkout({}), 'en')
    expect(view).toMatchObject({
      total: '102.90',
      currency: 'TTD',
      amount: '100.00 TTD',
      fee: '2.90 TTD',
      expires: { text: '2026-01-02 03:04:05 UTC', iso: '2026-01-02T03:04:05.000Z' },
      means: 'wallet',
      methodLabels: ['Mobile wallet', 'Card', 'Credit card', 'Debit card'],
      otherMeans: [{ label: 'Card', method: 'card' }],
      returnUrl: '',
    })
  })

  it('an open request opens what the payer chose, if the channel offers it', () => {
    expect(checkoutView(checkout({}), 'en', 'card').means).toBe('card')
    expect(checkoutView(checkout({}), 'en', 'cash').means).toBe('wallet')
    expect(checkoutView(checkout({ method: 'debit' }), 'en').means).toBe('card')
  })

  it('an open request shows a QR code in the store and a cash code at the agent', () => {
    expect(checkoutView(checkout({ channel: 'direct_pos' }), 'en').showsQr).toBe(true)
    const agent = checkoutView(checkout({ channel: 'agent', method: 'card' }), 'en')
    expect(agent).toMatchObject({ means: 'cash_code', cashCode: '1234 5678 9012', showsQr: false })
    expect(agent.otherMeans).toEqual([])
  })

  it('an open request says that an attempt was refused and how many are left', () => {
    const view = checkoutView({ ...checkout({}), refusedAttempts: 2 }, 'en')
    expect(view.title).toContain('declined')
    expect(view.notices).toEqual([expect.stringContaining('Attempts left: 3.')])
    expect(view).toMatchObject({ isAlert: true, phase: 'open', means: 'wallet' })
  })

  it('an open request of several payers says what others have paid and what remains', () => {
    const several = { ...checkout({}), requestAmountMinor: 16_000n }
    const untouched = checkoutView(several, 'en')
    expect(untouched.notices).toEqual(['This is your share of a total of 160.00 TTD.'])
    expect(untouched.share).toBeUndefined()
    const partly = { ...several, paymentState: partiallyPaid, paidAmountMinor: 2_000n }
    const view = checkoutView(partly, 'en')
    expect(view.notices).toEqual([
      'Others have paid 20.00 TTD of 160.00 TTD. 140.00 TTD remains; your share of it is 100.00 TTD.',
    ])
    expect(view.share).toEqual({ label: 'Paid: 20.00 TTD of 160.00 TTD', percent: 12 })
    expect(view.means).toBe('wallet')
    expect(view.stamp).not.toBe(checkoutView({ ...partly, paidAmountMinor: 6_000n }, 'en').stamp)
  })
})

describe('a part that is paid', () => {
  it('a part that is paid says what is paid of the whole and what others still have to pay', () => {
    const paid = { ...checkout({ state: 'paid' }), requestAmountMinor: 16_000n }
    const view = checkoutView({ ...paid, paymentState: partiallyPaid }, 'en')
    expect(view.notices).toEqual([
      'Thank you. 100.00 TTD of 160.00 TTD has been paid. Others still have to pay 60.00 TTD.',
    ])
    expect(view).toMatchObject({ isLive: true, phase: 'ended', share: { percent: 62 } })
    const whole = { ...paid, paymentState: 3, paidAmountMinor: 16_000n }
    expect(checkoutView(whole, 'en')).toMatchObject({ isLive: false, share: undefined })
  })
})

describe('every other state', () => {
  const closed = payerStates.filter((state) => state !== 'Pending')
  it.each(closed)('a page in state %s says it in words and offers nothing to pay', (state) => {
    const view = checkoutView(checkout({ state, channel: 'direct_pos' }), 'en')
    expect(view.title).not.toBe('Payment request')
    expect(view.phase).toBe(state === 'Processing' ? 'processing' : 'ended')
    expect(view.notices).toHaveLength(1)
    expect(view).toMatchObject({ means: undefined, otherMeans: [], showsQr: false, cashCode: '' })
  })

  it.each(languageCodes)('no two states have the same title in %s', (language) => {
    const titles = payerStates.map((state) => checkoutView(checkout({ state }), language).title)
    titles.push(checkoutView({ ...checkout({}), refusedAttempts: 1 }, language).title)
    const part = {
      ...checkout({ state: 'paid' }),
      paymentState: partiallyPaid,
      requestAmountMinor: 16_000n,
    }
    titles.push(checkoutView(part, language).title)
    expect(new Set(titles).size).toBe(titles.length)
  })

  it('a page in every other state leads back to where the merchant wants the payer', () => {
    expect(checkoutView(checkout({ state: 'paid' }), 'en').returnUrl).toBe(
      'https://shop.example/thanks',
    )
    expect(checkoutView(checkout({ state: 'Expired' }), 'en').returnUrl).toBe(
      'https://shop.example/sorry',
    )
  })
})
