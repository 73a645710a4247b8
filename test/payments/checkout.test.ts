// Tests a payer's page under every response of the back end and repeated presses of the button.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AttemptOutcome } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import {
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import { absent } from './connectors.ts'
import { at, type Harness, payer, refusal, startHarness, states } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
beforeEach(() => {
  harness.backend.state.wallet = () => AttemptOutcome.PAID
})
afterAll(() => harness.stop())

const moveCharge = sql('test_move', 'update payer set connector = $2 where payer_id = $1')

/** A request of one payer that the back end knows of. */
async function announced(more: object = {}) {
  const made = await harness.create({ payers: [payer(0n, more)], description: 'Two coffees' })
  const { payerId, linkToken } = at(made.payers)
  await eventually(() => harness.backend.received.charges.has(payerId))
  return { paymentId: made.paymentId, payerId, linkToken }
}

async function stateOf(paymentId: string): Promise<string[]> {
  return states(await harness.get(paymentId))
}

describe('a payer’s page', () => {
  it('a payer’s page shows the merchant, the amount and the means that the channel allows', async () => {
    const { linkToken } = await announced({ paymentMethod: PaymentMethod.CARD })
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    expect(checkout).toMatchObject({
      businessName: 'Demo Store',
      description: 'Two coffees',
      currency: 'USD',
      amountMinor: 10_000n,
      feeMinor: 0n,
      paymentState: PaymentState.PENDING,
      payerState: PayerState.PENDING,
      allowedMethods: [
        PaymentMethod.CARD,
        PaymentMethod.WALLET,
        PaymentMethod.CREDIT,
        PaymentMethod.DEBIT,
      ],
      cashCode: '',
    })
  })

  it('a page for an agent shows the cash code that the back end received', async () => {
    const agent = { paymentChannel: PaymentChannel.AGENT, paymentMethod: PaymentMethod.CASH }
    const { linkToken, payerId } = await announced(agent)
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    expect(checkout?.cashCode).toMatch(/^\d{12}$/)
    expect(checkout?.cashCode).toBe(harness.backend.received.charges.get(payerId)?.cashCode)
  })

  it.each(['', 'x'.repeat(43), 'short'])(
    'a payer’s page does not exist for the token %j',
    async (linkToken) => {
      const { checkouts } = harness
      expect(await refusal(checkouts.getCheckout({ linkToken }))).toBe('PAYMENT_NOT_FOUND')
      const paying = checkouts.payWithWallet({ linkToken, pin: '123456' })
      expect(await refusal(paying)).toBe('PAYMENT_NOT_FOUND')
      expect(await refusal(checkouts.openCardFrame({ linkToken }))).toBe('PAYMENT_NOT_FOUND')
    },
  )

  it('a payer’s page is found by the token’s hash; the token itself is not stored', async () => {
    const { linkToken } = await announced()
    const stored = sql('test_payer_text', 'select p::text as text from payer p')
    const rows = await harness.db.rows<{ text: string }>(stored, [])
    expect(rows.some(({ text }) => text.includes(linkToken))).toBe(false)
  })
})

describe('a receipt', () => {
  /** A share that was paid, and what its page says of it. */
  async function paid(more: object = {}) {
    const { linkToken, paymentId } = await announced(more)
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    return { linkToken, paymentId, receiptToken: checkout?.receipt?.receiptToken ?? '' }
  }
  const read = (receiptToken: string) => harness.checkouts.getReceipt({ receiptToken })

  it('a receipt shows the share that was paid, and its payer as far as they recognize themselves', async () => {
    const names = { firstName: '美玲', lastName: '陳' }
    const { receiptToken, paymentId } = await paid(names)
    const { share } = await read(receiptToken)
    expect(share).toMatchObject({
      businessName: 'Demo Store',
      description: 'Two coffees',
      currency: 'USD',
      amountMinor: 10_000n,
      paymentMethod: PaymentMethod.WALLET,
      payerName: '美玲 陳.',
    })
    expect(share?.receipt).toMatchObject({ refundAmountMinor: 0n, receiptToken })
    expect(share?.receipt?.refundTime).toBeUndefined()
    const { projectId } = await harness.get(paymentId)
    await harness.payments.refundPayment({ projectId, paymentId })
    const refunded = (await read(receiptToken)).share?.receipt
    expect(refunded).toMatchObject({ refundAmountMinor: 10_000n, receiptToken })
    expect(refunded?.refundTime).toBeDefined()
  })

  it('a receipt opens by its own token alone, which opens nothing else', async () => {
    const [one, other] = [await paid(), await paid()]
    const { receiptToken, linkToken } = one
    expect(receiptToken).toMatch(/^[\w-]{49}$/)
    const mixed = receiptToken.slice(0, 22) + other.receiptToken.slice(22)
    const last = receiptToken.endsWith('A') ? 'B' : 'A'
    const forged = [mixed, receiptToken.slice(0, -1) + last, `${receiptToken}A`, linkToken, '']
    for (const token of forged) expect(await refusal(read(token))).toBe('PAYMENT_NOT_FOUND')
    const { checkouts } = harness
    for (const token of [receiptToken, receiptToken.slice(0, 43)]) {
      expect(await refusal(checkouts.getCheckout({ linkToken: token }))).toBe('PAYMENT_NOT_FOUND')
    }
  })

  it('a share that is not paid has no receipt', async () => {
    const { linkToken } = await announced()
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    expect(checkout?.receipt).toBeUndefined()
  })
})

describe('paying with a wallet', () => {
  it('paying with a wallet completes the request', async () => {
    const { linkToken, paymentId } = await announced()
    const answer = await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(answer.refused).toBe(false)
    expect(answer.checkout?.payerState).toBe(PayerState.PAID)
    expect(await stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('paying with a wallet counts once when the back end reports what it has answered already', async () => {
    const { linkToken, paymentId, payerId } = await announced()
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    const attemptId = at([...harness.backend.received.attempts.keys()].slice(-1))
    await harness.report(payerId, ChargeOutcome.PAID, attemptId)
    const movements = await harness.movements(paymentId)
    expect(movements.filter((movement) => movement.includes('receipt'))).toEqual([
      'payer_receipt 10000',
    ])
  })

  it('a refused wallet payment can be retried, five times in total', async () => {
    harness.backend.state.wallet = () => AttemptOutcome.REFUSED
    const { linkToken, paymentId } = await announced()
    for (const count of [1, 2, 3, 4]) {
      const { refused, checkout } = await harness.checkouts.payWithWallet({
        linkToken,
        pin: '000002',
      })
      expect([refused, checkout?.payerState, checkout?.refusedAttempts]).toEqual([
        true,
        PayerState.PENDING,
        count,
      ])
    }
    const last = await harness.checkouts.payWithWallet({ linkToken, pin: '000002' })
    expect([last.refused, last.checkout?.payerState]).toEqual([true, PayerState.FAILED])
    expect(await stateOf(paymentId)).toEqual(['FAILED', 'FAILED'])
  })

  it('paying with a wallet submitted twice at once is one attempt', async () => {
    const { linkToken, paymentId } = await announced()
    const before = harness.backend.received.walletCalls
    const submit = () => harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    await Promise.all([submit(), submit(), submit()])
    expect(harness.backend.received.walletCalls - before).toBe(1)
    expect(await stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('paying with a wallet shows as processing while the back end does not answer, and ends as it answers an enquiry', async () => {
    const { linkToken, paymentId } = await announced()
    const answered = Promise.withResolvers<void>()
    harness.backend.state.wallet = async (attemptId) => {
      harness.backend.received.attempts.set(attemptId, AttemptOutcome.PAID)
      await answered.promise
      return AttemptOutcome.PAID
    }
    harness.waitForCharges(500)
    const { checkout, refused } = await harness.checkouts
      .payWithWallet({ linkToken, pin: '123456' })
      .finally(() => harness.waitForCharges(10_000))
    expect([checkout?.payerState, refused]).toEqual([PayerState.PROCESSING, false])
    expect(await refusal(harness.cancel(paymentId))).toBe('PAYMENT_NOT_CANCELLABLE')
    harness.testClock.advance(3_000)
    await eventually(async () => expect((await stateOf(paymentId))[0]).toBe('PAID'))
    answered.resolve()
  })

  it('a wallet payment that never reached the back end returns to the payer without counting', async () => {
    const { linkToken, paymentId } = await announced()
    harness.backend.state.wallet = () => {
      throw new Error('the back end lost it')
    }
    const { checkout } = await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(checkout?.payerState).toBe(PayerState.PROCESSING)
    harness.testClock.advance(3_000)
    await eventually(async () => expect((await stateOf(paymentId))[1]).toBe('PENDING'))
    expect(at((await harness.get(paymentId)).payers).refusedAttempts).toBe(0)
    harness.backend.state.wallet = () => AttemptOutcome.PAID
    const again = await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(again.checkout?.payerState).toBe(PayerState.PAID)
  })

  it('paying with a wallet is still asked for when a report of another charge names it', async () => {
    const [one, other] = [await announced(), await announced()]
    let attemptId = ''
    harness.backend.state.wallet = (id) => {
      attemptId = id
      throw new Error('the back end lost it')
    }
    await harness.checkouts.payWithWallet({ linkToken: one.linkToken, pin: '123456' })
    await harness.report(other.payerId, ChargeOutcome.REFUSED, attemptId)
    harness.testClock.advance(3_000)
    await eventually(async () => expect((await stateOf(one.paymentId))[1]).toBe('PENDING'))
    expect(await stateOf(other.paymentId)).toEqual(['PENDING', 'PENDING'])
  })

  it('a wallet payment stays in flight while the back end returns an unknown outcome', async () => {
    const { linkToken, paymentId } = await announced()
    let attemptId = ''
    harness.backend.state.wallet = (id) => {
      attemptId = id
      throw new Error('the back end lost it')
    }
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    const { received } = harness.backend
    received.attempts.set(attemptId, 99 as AttemptOutcome)
    const before = received.enquiries
    harness.testClock.advance(3_000)
    await eventually(() => expect(received.enquiries).toBeGreaterThan(before))
    received.attempts.set(attemptId, AttemptOutcome.PAID)
    harness.testClock.advance(10_000)
    await eventually(async () => expect((await stateOf(paymentId))[0]).toBe('PAID'))
    const events = await harness.events(paymentId)
    expect(events.map(({ transition }) => transition)).not.toContain('PAYER_REFUSED')
  })

  it('a wallet payment that the back end is still processing is reported later', async () => {
    harness.backend.state.wallet = () => AttemptOutcome.PROCESSING
    const { linkToken, paymentId, payerId } = await announced()
    const { checkout } = await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(checkout?.payerState).toBe(PayerState.PROCESSING)
    const attemptId = at([...harness.backend.received.attempts.keys()].slice(-1))
    await harness.report(payerId, ChargeOutcome.PAID, attemptId)
    expect(await stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('paying with a wallet need not wait for the announcement of the charge', async () => {
    const { linkToken, paymentId, payerId } = await announced()
    harness.backend.received.charges.delete(payerId)
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('paying with a wallet is refused while the charge cannot be announced to the back end', async () => {
    harness.backend.state.isDown = true
    const { paymentId, payers } = await harness.create()
    const { linkToken } = at(payers)
    const paying = harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await refusal(paying)).toBe('PAYMENT_NOT_PAYABLE')
    expect(await stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
    harness.backend.state.isDown = false
  })

  it('paying with a wallet is refused, and may be tried again at once, while the back end cannot be reached', async () => {
    const { linkToken, paymentId, payerId } = await announced()
    await harness.db.run(moveCharge, [payerId, absent])
    const pay = () => harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await refusal(pay())).toBe('PAYMENT_NOT_PAYABLE')
    expect(await stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
    expect(at((await harness.get(paymentId)).payers).refusedAttempts).toBe(0)
    await harness.db.run(moveCharge, [payerId, 'simulator'])
    expect((await pay()).checkout?.payerState).toBe(PayerState.PAID)
  })

  it.each([
    ['', 'MISSING_PARAMETER'],
    ['123', 'INVALID_PARAMETER'],
    ['abcd', 'INVALID_PARAMETER'],
    ['1234567890123', 'INVALID_PARAMETER'],
  ])('paying with a wallet refuses the PIN %j', async (pin, reason) => {
    const { linkToken, paymentId } = await announced()
    const before = harness.backend.received.walletCalls
    const paying = harness.checkouts.payWithWallet({ linkToken, pin })
    expect(await refusal(paying)).toBe(`${reason} pin`)
    expect(harness.backend.received.walletCalls).toBe(before)
    expect(await harness.events(paymentId)).toHaveLength(1)
  })

  it('paying with a wallet is refused at an agent', async () => {
    const agent = { paymentChannel: PaymentChannel.AGENT, paymentMethod: PaymentMethod.CASH }
    const { linkToken } = await announced(agent)
    const paying = harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await refusal(paying)).toBe('INVALID_PARAMETER link_token')
  })

  it('paying with a wallet leaves a share alone that has ended', async () => {
    const { linkToken, paymentId } = await announced()
    await harness.cancel(paymentId)
    const before = harness.backend.received.walletCalls
    const paid = await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect([paid.checkout?.payerState, paid.refused]).toEqual([PayerState.CANCELLED, false])
    expect(harness.backend.received.walletCalls).toBe(before)
  })
})

describe('paying by card', () => {
  it('paying by card opens the back end’s form, which leads back to the page', async () => {
    const { linkToken, payerId } = await announced({ paymentMethod: PaymentMethod.CARD })
    const theme = { accentColor: '#0b57d0', darkAccentColor: '#93bbfa' }
    const look = { language: 'pt-BR', theme }
    const { frameUrl } = await harness.checkouts.openCardFrame({ linkToken, ...look })
    expect(frameUrl).toBe(
      `http://cards.test/${payerId}?back=https://pay.test/pay/${linkToken}?lang=pt-BR&method=card&lang=pt-BR&accent=#0b57d0`,
    )
  })

  it('paying by card at a point of sale leads back to the page of the payer, not to the display', async () => {
    const atPointOfSale = {
      paymentChannel: PaymentChannel.DIRECT_POS,
      paymentMethod: PaymentMethod.QR_CODE,
    }
    const { linkToken } = await announced(atPointOfSale)
    const { frameUrl } = await harness.checkouts.openCardFrame({ linkToken })
    expect(frameUrl).toContain(`back=https://pay.test/pay/${linkToken}?method=card&scanned=1&`)
  })

  it('paying by card is refused at an agent, and for a share that is not pending', async () => {
    const agent = { paymentChannel: PaymentChannel.AGENT, paymentMethod: PaymentMethod.CARD }
    const { linkToken } = await announced(agent)
    expect(await refusal(harness.checkouts.openCardFrame({ linkToken }))).toBe(
      'PAYMENT_NOT_PAYABLE',
    )
    const paid = await announced()
    await harness.report(paid.payerId, ChargeOutcome.PAID)
    const opened = harness.checkouts.openCardFrame({ linkToken: paid.linkToken })
    expect(await refusal(opened)).toBe('PAYMENT_NOT_PAYABLE')
  })
})

describe('the receipt of a page', () => {
  it('the receipt of a page is there once the money was received, and names its refund', async () => {
    const { linkToken, paymentId, payerId } = await announced()
    const receiptNow = async () => {
      const { checkout } = await harness.checkouts.getCheckout({ linkToken })
      return checkout?.receipt
    }
    expect(await receiptNow()).toBeUndefined()
    await harness.report(payerId, ChargeOutcome.PAID)
    const paid = await receiptNow()
    expect(paid?.receiptId).toMatch(/^[0-9a-f-]{36}$/)
    expect(paid?.paidTime).toBeDefined()
    expect(paid?.refundTime).toBeUndefined()
    await harness.refund(paymentId)
    const refunded = await receiptNow()
    expect(refunded).toMatchObject({ receiptId: paid?.receiptId, paidTime: paid?.paidTime })
    expect(refunded?.refundTime).toBeDefined()
  })
})

describe('cancelling as the payer', () => {
  it('cancelling as the payer cancels the request, once, with its notices', async () => {
    const { linkToken, paymentId } = await announced()
    const first = await harness.checkouts.cancelCheckout({ linkToken })
    const again = await harness.checkouts.cancelCheckout({ linkToken })
    for (const { checkout } of [first, again]) {
      expect(checkout?.payerState).toBe(PayerState.CANCELLED)
      expect(checkout?.cancellable).toBe(false)
    }
    expect(await harness.events(paymentId)).toHaveLength(2)
  })

  it('cancelling as the payer is refused to one of several, while paying, and when it is paid', async () => {
    const paid = await announced()
    await harness.report(paid.payerId, ChargeOutcome.PAID)
    expect(await refusal(harness.checkouts.cancelCheckout(paid))).toBe('PAYMENT_NOT_CANCELLABLE')
    const paying = await announced()
    await harness.report(paying.payerId, ChargeOutcome.PROCESSING)
    expect(await refusal(harness.checkouts.cancelCheckout(paying))).toBe('PAYMENT_NOT_CANCELLABLE')
  })
})
