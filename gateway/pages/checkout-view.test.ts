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
  type RefundState,
  refundStates,
  refusalReasons,
} from '#core/payment/words.ts'
import { type Language, languageCodes, localMoney } from '#core/text/language.ts'
import { refusals } from '#core/text/refusals.ts'
import { type CheckoutMessage, type CheckoutView, checkoutView } from './checkout-view.ts'
import { fill, languages } from './language.ts'
import { receiptView } from './receipts/receipt-view.ts'

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
    payerName: 'Kofi B.',
    payerNumberEnding: '0101',
    paymentId: '0198c000-0000-7000-8000-0000000000aa',
    cancellable: state === 'Pending',
    transactionId: 'order-1001',
    refusalReason: 0,
    merchantId: '',
    projectId: '',
  } satisfies CheckoutMessage
}

function refundedNotice(language: Language): string {
  const total = localMoney(10_290n, 'TTD', language)
  return fill(languages[language].refundedToWallet, { total })
}

describe('an open request', () => {
  it('an open request shows the total with its fee, the deadline and every method of its channel', () => {
    const view = checkoutView(checkout({}), 'en')
    expect(view).toMatchObject({
      totalLabel: 'To pay',
      total: { text: '102.90', exact: '102.90' },
      currency: 'TTD',
      rows: [
        { label: 'Amount', text: '100.00 TTD' },
        { label: 'Fee', text: '2.90 TTD' },
      ],
      expires: {
        text: 'Jan 2, 2026, 3:04 AM UTC',
        iso: '2026-01-02T03:04:05.000Z',
        utc: '2026-01-02 03:04:05 UTC',
      },
      payer: 'Kofi B., ••• 0101',
      option: 'wallet',
      methodLabels: 'Mobile wallet, card, credit card, or debit card',
      otherOptions: [{ label: 'Pay by card instead', method: 'card' }],
      isCancellable: true,
      isCancelled: false,
      returnUrl: '',
    })
  })

  it('an open request opens what the payer chose, if the channel offers it', () => {
    expect(checkoutView(checkout({}), 'en', { method: 'card' }).option).toBe('card')
    expect(checkoutView(checkout({}), 'en', { method: 'cash' }).option).toBe('wallet')
    expect(checkoutView(checkout({ method: 'debit' }), 'en').option).toBe('card')
  })

  it('a point of sale has a display to scan, and a page for who scanned it', () => {
    const atPointOfSale = checkout({ channel: 'direct_pos' })
    const display = checkoutView(atPointOfSale, 'en')
    expect(display).toMatchObject({ isDisplay: true, option: undefined, countsDown: true })
    const scanned = checkoutView(atPointOfSale, 'en', { isScanned: true })
    expect(scanned).toMatchObject({ isDisplay: false, option: 'wallet', countsDown: true })
    expect(scanned.methodLabels).toBe('Mobile wallet, card, credit card, debit card, or QR code')
    expect(checkoutView(checkout({}), 'en').countsDown).toBe(false)
  })

  it('an agent is shown a cash code, and the payer what to bring', () => {
    const agent = checkoutView(checkout({ channel: 'agent', method: 'cash' }), 'en')
    expect(agent).toMatchObject({
      option: 'cash_code',
      cashCode: '1234\u00a05678\u00a09012',
      agentText: 'Go to an agent with 102.90 TTD in cash and show this code.',
      isDisplay: false,
      otherOptions: [],
    })
    const byCard = checkoutView(checkout({ channel: 'agent', method: 'card' }), 'en')
    expect(byCard.agentText).toBe('Go to an agent with your card and show this code.')
  })

  it.each([
    [1, 'You were not charged.'],
    [2, 'You were not charged. Attempts left: 3.'],
    [4, 'You were not charged. This is your last attempt.'],
  ])('an open request after %s refusals says: %s', (refusedAttempts, text) => {
    const view = checkoutView({ ...checkout({}), refusedAttempts }, 'en')
    expect(view.title).toContain('declined')
    expect(view.notices.join(' ')).toBe(text)
    expect(view).toMatchObject({ isAlert: true, phase: 'open', option: 'wallet' })
  })

  it.each(languageCodes.flatMap((code) => refusalReasons.map((reason) => [reason, code] as const)))(
    'a payer who was refused for %s reads why and what to do, in %s',
    (reason, language) => {
      const refusalReason = numberOf(refusalReasons, reason)
      const { why, advice } = refusals[language][reason]
      const again = checkoutView({ ...checkout({}), refusedAttempts: 1, refusalReason }, language)
      expect(again.notices[0]).toBe(`${why} ${advice}`)
      const failed = { ...checkout({ state: 'Failed' }), refusedAttempts: 5, refusalReason }
      expect(checkoutView(failed, language).notices[0]).toBe(why)
    },
  )

  it('a share that failed because of another payer gives no reason of its own', () => {
    const failed = { ...checkout({ state: 'Failed' }), refusedAttempts: 1, refusalReason: 2 }
    expect(checkoutView(failed, 'en').notices).toHaveLength(1)
  })

  it('each reason of a refusal has words of its own in every language', () => {
    for (const language of languageCodes) {
      const texts = Object.values(refusals[language]).map(({ why }) => why)
      expect(new Set(texts).size).toBe(refusalReasons.length)
    }
  })

  it('amounts are written as the payer writes them, and exactly for machines', () => {
    const yen = { ...checkout({}), currency: 'JPY', amountMinor: 1_250_000n, feeMinor: 0n }
    expect(checkoutView(yen, 'en').total).toEqual({ text: '1,250,000', exact: '1250000' })
    expect(checkoutView(yen, 'es').total).toEqual({ text: '1.250.000', exact: '1250000' })
  })

  it('an open request of several payers says what others have paid and what remains', () => {
    const several = { ...checkout({}), requestAmountMinor: 16_000n }
    const untouched = checkoutView(several, 'en')
    expect(untouched.notices).toEqual(['This is your share of a total of 160.00 TTD.'])
    expect(untouched.share).toBeUndefined()
    const partly = { ...several, paymentState: partiallyPaid, paidAmountMinor: 2_000n }
    const view = checkoutView(partly, 'en')
    expect(view.notices).toEqual(['20.00 TTD of 160.00 TTD is paid. Your share is 100.00 TTD.'])
    expect(view.share).toEqual({ label: 'Paid: 20.00 TTD of 160.00 TTD', percent: 12 })
    expect(view.option).toBe('wallet')
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
    expect(view).toMatchObject({
      option: undefined,
      otherOptions: [],
      isDisplay: false,
      cashCode: '',
    })
    expect(view.isCancellable).toBe(false)
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

  it('a page leads to the shop in final states only, never to its URL for errors while money may come', () => {
    const leadsTo = (state: PayerState) => checkoutView(checkout({ state }), 'en').returnUrl
    expect(payerStates.map((state) => [state, leadsTo(state)])).toEqual([
      ['Pending', ''],
      ['Processing', ''],
      ['paid', 'https://shop.example/thanks'],
      ['Cancelled', 'https://shop.example/sorry'],
      ['Expired', 'https://shop.example/sorry'],
      ['Failed', 'https://shop.example/sorry'],
      ['Refunded', 'https://shop.example/sorry'],
    ])
  })

  it.each([
    ['wallet', 'payment_link', '102.90 TTD goes back to your wallet.'],
    ['debit', 'payment_link', '102.90 TTD goes back to your card.'],
    ['cash', 'agent', '102.90 TTD goes back to you.'],
  ] as const)('a refund of a payment by %s says where the money goes', (method, channel, text) => {
    const view = checkoutView(checkout({ state: 'Refunded', method, channel }), 'en')
    expect(view.notices).toEqual([text])
  })

  it('money that was received is proved by its times, method, reference and receipt', () => {
    const time = (text: string) => timestampFromDate(new Date(text))
    const receipt = {
      receiptId: 'r-1',
      paidTime: time('2026-01-02T03:04:05Z'),
      refundAmountMinor: 0n,
      refundState: 0,
      receiptToken: 'token',
    }
    const shown = (state: PayerState, more: object = {}) =>
      checkoutView({ ...checkout({ state }), receipt: { ...receipt, ...more } }, 'en')
    const rowsOf = (view: CheckoutView) => view.rows.map(({ label, text }) => `${label}: ${text}`)
    const paid = shown('paid')
    const proof = [
      'Paid on: Jan 2, 2026, 3:04 AM UTC',
      'Paid with: Mobile wallet',
      'Payer: Kofi B., ••• 0101',
      'Reference: order-1001',
      'Receipt: r-1',
    ]
    const fee = ['Amount: 100.00 TTD', 'Fee: 2.90 TTD']
    expect(rowsOf(paid)).toEqual([...fee, ...proof])
    expect(paid.receiptToken).toBe('token')
    const more = { refundTime: time('2026-01-03T03:04:05Z'), refundAmountMinor: 10_290n }
    expect(rowsOf(shown('Refunded', more))).toEqual([
      ...fee,
      ...proof.toSpliced(1, 0, 'Refunded: 102.90 TTD', 'Refunded on: Jan 3, 2026, 3:04 AM UTC'),
    ])
    const open = checkoutView(checkout({}), 'en')
    expect([rowsOf(open), open.receiptToken]).toEqual([fee, ''])
  })

  const refundedReceipt = (state: RefundState) => ({
    receiptId: 'r-1',
    paidTime: timestampFromDate(new Date('2026-01-02T03:04:05Z')),
    refundTime: timestampFromDate(new Date('2026-01-03T03:04:05Z')),
    refundAmountMinor: 10_290n,
    refundState: numberOf(refundStates, state),
    receiptToken: 'token',
  })

  it.each(languageCodes)(
    'a failed share whose money came late says in %s that it was taken and goes back, not that nothing was',
    (language) => {
      const failed = { ...checkout({ state: 'Failed' }), refusedAttempts: 5, refusalReason: 1 }
      const nothing = checkoutView(failed, language)
      const receipt = refundedReceipt('sent')
      const late = checkoutView({ ...failed, receipt }, language)
      const { failedText, failedTitle, lateMoneyText, totalPaid } = languages[language]
      expect(nothing.notices).toContain(fill(failedText, { merchant: 'Demo Store' }))
      expect(late).toMatchObject({ title: failedTitle, isAlert: true, totalLabel: totalPaid })
      expect(late.notices).toEqual([lateMoneyText, refundedNotice(language)])
      expect(late.stamp).not.toBe(nothing.stamp)
    },
  )

  it.each(languageCodes)(
    'a refund that failed is said in %s to be held by us, until it was paid by hand',
    (language) => {
      const refunded = (state: RefundState) => {
        const receipt = refundedReceipt(state)
        const share = { ...checkout({ state: 'Refunded' }), receipt }
        return { page: checkoutView(share, language), paper: receiptView(share, language) }
      }
      const say = languages[language]
      const held = refunded('failed')
      const total = localMoney(10_290n, 'TTD', language)
      expect(held.page.notices).toEqual([
        fill(say.refundHeldText, { total, merchant: 'Demo Store' }),
      ])
      const labels = held.paper.rows.map(({ label }) => label)
      for (const { title } of [held.page, held.paper]) expect(title).toBe(say.refundHeldTitle)
      expect(labels).toContain(say.refundDue)
      expect(labels).not.toContain(say.refundedOn)
      expect(labels).not.toContain(say.refundedAmount)
      const byHand = refunded('settled')
      expect(byHand.page.notices).toEqual([fill(say.refundedToYou, { total })])
      for (const { title } of [byHand.page, byHand.paper]) expect(title).toBe(say.refundedTitle)
      const stamps = (['sent', 'failed', 'settled'] as const).map(
        (state) => refunded(state).page.stamp,
      )
      expect(new Set(stamps).size).toBe(3)
    },
  )

  it('a total is called what it is', () => {
    const label = (state: PayerState) => checkoutView(checkout({ state }), 'es').totalLabel
    expect(label('Pending')).toBe('Total a pagar')
    expect(label('paid')).toBe('Total pagado')
    expect(label('Expired')).toBe('Total')
  })
})
