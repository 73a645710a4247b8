// How requests end: in time, by the merchant, by refund; and money that comes after the end.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { WaitingRefundState } from '#gen/payweave/payments/v1/operations_pb.js'
import { PaymentChannel, PaymentState, PayoutState } from '#gen/payweave/payments/v1/payments_pb.js'
import { SettlementKind } from '#gen/payweave/payments/v1/settlement_pb.js'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, refusal, startHarness, states } from './harness.ts'
import { as } from './person.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const { PAID, REFUSED, PROCESSING } = ChargeOutcome
const hourMs = 3_600_000

describe('a request whose time runs out', () => {
  it('a request whose time runs out expires with its payers and calls back', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.expireNow(paymentId)
    expect(await harness.stateOf(paymentId)).toEqual(['EXPIRED', 'EXPIRED'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'EXPIRED',
      notices: ['PAYMENT_EXPIRED 0'],
      callbackSequence: 1,
    })
    const withdrawn = await eventually(
      () => harness.backend.received.withdrawals.get(payerId) ?? false,
    )
    expect(withdrawn.reason).toBe(WithdrawReason.EXPIRED)
  })

  it('a request expires with the first of its deadlines and refunds those who paid', async () => {
    const made = await harness.create({
      payers: [payer(4_000n, { paymentChannel: PaymentChannel.DIRECT_POS }), payer(6_000n)],
    })
    const life = Number((made.expireTime?.seconds ?? 0n) - (made.createTime?.seconds ?? 0n))
    expect(life).toBe(900)
    await harness.report(at(made.payers, 1).payerId, PAID)
    harness.testClock.advance(901_000)
    await eventually(async () => expect((await harness.stateOf(made.paymentId))[0]).toBe('EXPIRED'))
    expect(await harness.stateOf(made.paymentId)).toEqual(['EXPIRED', 'EXPIRED', 'REFUNDED'])
    expect(await harness.movements(made.paymentId)).toEqual(['payer_receipt 6000', 'refund 6000'])
  })

  it('a late request stays open while its only payer is paying, and expires once refused', async () => {
    const { paymentId, payerId } = await harness.one()
    const bystander = await harness.one()
    await harness.report(payerId, PROCESSING, 'a')
    await harness.expireNow(bystander.paymentId)
    expect(await harness.stateOf(paymentId)).toEqual(['PENDING', 'PROCESSING'])
    await harness.report(payerId, REFUSED, 'a')
    await eventually(async () => expect((await harness.stateOf(paymentId))[0]).toBe('EXPIRED'))
  })

  it('a late request is paid when the attempt in flight succeeds', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PROCESSING, 'a')
    harness.testClock.advance(25 * hourMs)
    expect(await harness.report(payerId, PAID, 'a')).toBe('PAID')
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('an attempt in flight outlives the request: if refused, its payer expires too', async () => {
    const { paymentId, payerIds } = await harness.shared(4_000n, 6_000n)
    await harness.report(at(payerIds), PROCESSING, 'a')
    await harness.expireNow(paymentId)
    expect(await harness.stateOf(paymentId)).toEqual(['EXPIRED', 'PROCESSING', 'EXPIRED'])
    expect(await harness.report(at(payerIds), REFUSED, 'a')).toBe('EXPIRED')
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'EXPIRED',
      notices: ['PAYMENT_EXPIRED 0'],
      callbackSequence: 0,
    })
  })

  it('an attempt in flight outlives the request: if paid, its payer is refunded at once', async () => {
    const { paymentId, payerIds } = await harness.shared(4_000n, 6_000n)
    await harness.report(at(payerIds), PROCESSING, 'a')
    await harness.expireNow(paymentId)
    expect(await harness.report(at(payerIds), PAID, 'a')).toBe('REFUNDED')
    expect(await harness.stateOf(paymentId)).toEqual(['EXPIRED', 'REFUNDED', 'EXPIRED'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'LATE_MONEY',
      notices: ['PAYMENT_REFUNDED 0'],
      callbackSequence: 2,
    })
    expect(await harness.movements(paymentId)).toEqual(['payer_receipt 4000', 'refund 4000'])
  })
})

describe('money that comes too late', () => {
  it('money that comes too late for a cancelled request goes to suspense and back, once; the request stays cancelled', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.cancel(paymentId)
    expect(await harness.report(payerId, PAID, 'a')).toBe('REFUNDED')
    expect(await harness.report(payerId, PAID, 'a')).toBe('REFUNDED')
    expect(await harness.stateOf(paymentId)).toEqual(['CANCELLED', 'REFUNDED'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'LATE_MONEY',
      notices: ['PAYMENT_REFUNDED 0'],
      callbackSequence: 2,
    })
    expect(await harness.movements(paymentId)).toEqual(['late_receipt 10000', 'refund 10000'])
    await eventually(() => expect(harness.refundsOf(payerId).length).toBe(1))
    expect(at(harness.refundsOf(payerId)).amount).toMatchObject({
      currency: 'USD',
      minorUnits: 10_000n,
    })
  })

  it('money that comes too late for an expired request goes back too', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.expireNow(paymentId)
    expect(await harness.report(payerId, PAID)).toBe('REFUNDED')
    expect(await harness.stateOf(paymentId)).toEqual(['EXPIRED', 'REFUNDED'])
  })

  it('money that comes too late for a failed share goes back, and the share stays failed', async () => {
    const { paymentId, payerId } = await harness.one()
    for (let round = 0; round < 5; round += 1) await harness.report(payerId, REFUSED)
    expect(await harness.report(payerId, PAID)).toBe('FAILED')
    expect(await harness.stateOf(paymentId)).toEqual(['FAILED', 'FAILED'])
    expect(await harness.movements(paymentId)).toEqual(['late_receipt 10000', 'refund 10000'])
  })

  it('money that comes too late is taken after a refusal of the same attempt, since money counts whenever it comes', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, REFUSED, 'a')
    expect(await harness.report(payerId, PAID, 'a')).toBe('PAID')
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })
})

describe('cancelling', () => {
  it.each(['processing', 'partially paid', 'paid', 'expired', 'failed', 'refunded'])(
    'cancelling is refused when the request is %s',
    async (state) => {
      const { paymentId, payerIds } = await harness.shared(4_000n, 6_000n)
      const [first = '', second = ''] = payerIds
      if (state === 'processing') await harness.report(first, PROCESSING)
      if (['partially paid', 'paid', 'refunded'].includes(state)) await harness.report(first, PAID)
      if (['paid', 'refunded'].includes(state)) await harness.report(second, PAID)
      if (state === 'refunded') await harness.refund(paymentId)
      if (state === 'expired') await harness.expireNow(paymentId)
      const refusals = state === 'failed' ? 5 : 0
      for (let round = 0; round < refusals; round += 1) await harness.report(first, REFUSED)
      const before = [await harness.stateOf(paymentId), await harness.events(paymentId)]
      expect(await refusal(harness.cancel(paymentId))).toBe('PAYMENT_NOT_CANCELLABLE')
      expect([await harness.stateOf(paymentId), await harness.events(paymentId)]).toEqual(before)
    },
  )

  it('cancelling against paying has one winner, and no money is kept by mistake, fifty times over', async () => {
    const rounds = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { paymentId, payerId } = await harness.one()
        const [cancelled, paid] = await Promise.allSettled([
          harness.cancel(paymentId),
          harness.report(payerId, PAID),
        ])
        return {
          cancelled: cancelled.status,
          paid: paid.status === 'fulfilled' ? paid.value : 'error',
          states: (await harness.stateOf(paymentId)).join(' '),
          movements: (await harness.movements(paymentId)).filter(
            (one) => !one.startsWith('payout'),
          ),
        }
      }),
    )
    const [payerWon, merchantWon] = [
      {
        cancelled: 'rejected',
        paid: 'PAID',
        states: 'PAID PAID',
        movements: ['fee 50', 'payer_receipt 10000'],
      },
      {
        cancelled: 'fulfilled',
        paid: 'REFUNDED',
        states: 'CANCELLED REFUNDED',
        movements: ['late_receipt 10000', 'refund 10000'],
      },
    ]
    for (const round of rounds) {
      expect(round).toEqual(round.cancelled === 'rejected' ? payerWon : merchantWon)
    }
  })
})

describe('refunding', () => {
  it('a paid request refunds every payer in full and voids what is not paid out', async () => {
    const payees = [{ mobileNumberE164: '+12025550111', amountMinor: 10_000n, delayDays: 3 }]
    const made = await harness.create({ feeTerms: { paysFees: true }, payees })
    await harness.report(at(made.payers).payerId, PAID)
    const refunded = await harness.refund(made.paymentId)
    expect(states(refunded)).toEqual(['REFUNDED', 'REFUNDED'])
    expect(at(refunded.payees).payoutState).toBe(PayoutState.VOIDED)
    expect(await harness.refund(made.paymentId)).toEqual(refunded)
    expect(await harness.lastEvent(made.paymentId)).toMatchObject({
      transition: 'REFUNDED',
      notices: ['PAYMENT_REFUNDED 0'],
      callbackSequence: 2,
    })
    expect(await harness.movements(made.paymentId)).toEqual([
      'fee 50',
      'fee_returned 50',
      'payer_receipt 10050',
      'refund 10050',
    ])
    const refund = await eventually(() => harness.refundsOf(at(made.payers).payerId)[0] ?? false)
    const { COMPLETED, FAILED } = TransferOutcome
    await harness.reports.reportRefund({ refundId: refund.refundId, outcome: COMPLETED })
    await harness.reports.reportRefund({ refundId: refund.refundId, outcome: FAILED })
    expect(await harness.movements(made.paymentId)).toHaveLength(4)
  })

  /** Refunds a payment whose payout was sent and has no outcome yet. */
  async function owed() {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PAID)
    const payeeId = at((await harness.get(paymentId)).payees).payeeId
    await eventually(() => harness.backend.received.payouts.has(payeeId))
    await harness.refund(paymentId)
    expect(await harness.movements(paymentId)).toEqual([
      'fee 50',
      'fee_returned 50',
      'payer_receipt 10000',
      'payout 9950',
      'payout_recovery 9950',
      'refund 10000',
    ])
    return { paymentId, payeeId }
  }

  it('refunding after the payout was sent makes the merchant owe it, also once it is completed', async () => {
    const { paymentId, payeeId } = await owed()
    const before = await harness.movements(paymentId)
    expect(await harness.reportPayout(payeeId, TransferOutcome.COMPLETED)).toBe('COMPLETED')
    expect(await harness.movements(paymentId)).toEqual(before)
  })

  it('a payout that fails after its payment was refunded reverses what the merchant owes for it', async () => {
    const { paymentId, payeeId } = await owed()
    const { FAILED, COMPLETED } = TransferOutcome
    expect(await harness.reportPayout(payeeId, FAILED)).toBe('FAILED')
    expect(await harness.reportPayout(payeeId, COMPLETED)).toBe('FAILED')
    const { settlements } = await harness.settlementList.listSettlements({ paymentId })
    const { PAYOUT_RETURNED, PAYOUT_RECOVERY } = SettlementKind
    const recovery = settlements.find(({ kind }) => kind === PAYOUT_RECOVERY)
    const returned = settlements.filter(({ kind }) => kind === PAYOUT_RETURNED)
    expect(returned).toMatchObject([
      {
        payeeId,
        amountMinor: 9_950n,
        reversesId: recovery?.settlementId,
        reversesKind: PAYOUT_RECOVERY,
      },
    ])
  })

  it('a refund that the back end refuses permanently is recorded as returned money', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.cancel(paymentId)
    await harness.report(payerId, PAID)
    const refund = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
    const outcome = TransferOutcome.FAILED
    await harness.reports.reportRefund({ refundId: refund.refundId, outcome })
    await harness.reports.reportRefund({ refundId: refund.refundId, outcome })
    expect(await harness.movements(paymentId)).toEqual([
      'late_receipt 10000',
      'refund 10000',
      'refund_returned 10000',
    ])
  })

  it('a completed refund that comes back fails, and its money is with us again', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.cancel(paymentId)
    await harness.report(payerId, PAID)
    const { refundId } = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
    const { COMPLETED, FAILED, RETURNED } = TransferOutcome
    const report = (outcome: TransferOutcome) => harness.reports.reportRefund({ refundId, outcome })
    await report(COMPLETED)
    await report(FAILED)
    const before = ['late_receipt 10000', 'refund 10000']
    expect(await harness.movements(paymentId)).toEqual(before)
    await Promise.all([report(RETURNED), report(RETURNED)])
    await report(COMPLETED)
    expect(await harness.movements(paymentId)).toEqual([...before, 'refund_returned 10000'])
    const failed = { state: WaitingRefundState.FAILED, pageSize: 200 }
    const { refunds } = await as('support', () => harness.operations.listWaitingRefunds(failed))
    expect(refunds.map((one) => one.refundId)).toContain(refundId)
    const payout = harness.reports.reportPayout({ payoutId: payerId, outcome: RETURNED })
    expect(await refusal(payout)).toBe('INVALID_PARAMETER outcome')
  })

  it('refunding is refused unless the request is paid', async () => {
    const { paymentId } = await harness.one()
    expect(await refusal(harness.refund(paymentId))).toBe('PAYMENT_NOT_REFUNDABLE')
    await harness.cancel(paymentId)
    expect(await refusal(harness.refund(paymentId))).toBe('PAYMENT_NOT_REFUNDABLE')
  })
})

describe('a refund by its merchant', () => {
  it('a refund by its merchant is refused to every other merchant and changes nothing then', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PAID)
    const { projectId, merchantId, otherMerchantId, payments } = harness
    const foreign = { projectId, merchantId: otherMerchantId, paymentId }
    expect(await refusal(payments.refundPayment(foreign))).toBe('PAYMENT_NOT_FOUND')
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
    await payments.refundPayment({ projectId, merchantId, paymentId, reason: 'first' })
    const again = { projectId, merchantId, paymentId, reason: 'second' }
    expect((await payments.refundPayment(again)).payment?.state).toBe(PaymentState.REFUNDED)
    const { events } = await payments.listPaymentEvents({ projectId, merchantId, paymentId })
    expect(events.map(({ reason }) => reason).filter((reason) => reason !== '')).toEqual(['first'])
  })

  it('a refund of a payment that is not paid is refused, and its reason forgotten', async () => {
    const { paymentId, payerId } = await harness.one()
    const { projectId, merchantId, payments } = harness
    const key = { projectId, merchantId, paymentId }
    expect(await refusal(payments.refundPayment({ ...key, reason: 'early' }))).toBe(
      'PAYMENT_NOT_REFUNDABLE',
    )
    await harness.report(payerId, PAID)
    await payments.refundPayment(key)
    const { events } = await payments.listPaymentEvents(key)
    expect(events.map(({ reason }) => reason).filter((reason) => reason !== '')).toEqual([])
  })
})
