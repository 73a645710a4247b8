// Paying and being refused, as the back end reports it, and what payees get.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WithdrawReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentMethod, PayoutState } from '#gen/payweave/payments/v1/payments_pb.js'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, refusal, startHarness, states } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const { PAID, REFUSED, PROCESSING } = ChargeOutcome
const hourMs = 3_600_000

describe('a payer who pays', () => {
  it('a payer who pays completes the request, schedules the payout, and brings one settlement', async () => {
    const { paymentId, payerId } = await harness.one()
    expect(await harness.report(payerId, PAID)).toBe('PAID')
    const paid = await harness.get(paymentId)
    expect(states(paid)).toEqual(['PAID', 'PAID'])
    const event = await harness.lastEvent(paymentId)
    expect(event).toMatchObject({
      transition: 'PAYER_PAID',
      notices: ['PAYMENT_COMPLETED 0', 'PAYOUT_SCHEDULED 0'],
      callbackSequence: 1,
    })
    expect(await harness.movements(paymentId)).toContain('payer_receipt 10000')
    expect(await harness.movements(paymentId)).toContain('fee 50')
  })

  it('a payer who pays leads to a callback with the snapshot that a reader gets', async () => {
    const { paymentId, payerIds } = await harness.shared(4_000n, 6_000n)
    await harness.report(at(payerIds), PAID)
    await harness.report(at(payerIds, 1), PAID)
    const read = await harness.get(paymentId)
    for (const one of read.payers) one.linkToken = ''
    expect(read.payees.map(({ payoutState }) => payoutState)).toEqual([PayoutState.SENT])
    expect((await harness.lastEvent(paymentId)).payment).toEqual(read)
  })

  it('a payer who pays as one of several leaves the request partially paid until the last one has', async () => {
    const { paymentId, payerIds } = await harness.shared(4_000n, 6_000n)
    await harness.report(at(payerIds, 1), PAID)
    expect(await harness.stateOf(paymentId)).toEqual(['PARTIALLY_PAID', 'PENDING', 'PAID'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'PAYER_PAID',
      notices: ['PAYMENT_COMPLETED 1'],
      callbackSequence: 0,
    })
    await harness.report(at(payerIds), PAID)
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID', 'PAID'])
  })

  it('a payer who pays is shown with the payment method that they used', async () => {
    const { paymentId, payerId } = await harness.one()
    const paymentMethod = PaymentMethod.DEBIT
    await harness.reports.reportCharge({
      chargeId: payerId,
      attemptId: 'a-1',
      outcome: PAID,
      paymentMethod,
    })
    expect(at((await harness.get(paymentId)).payers).paymentMethod).toBe(paymentMethod)
  })

  it('a payer who pays keeps the kind of card that was asked for when the back end sees just a card', async () => {
    const made = await harness.create({
      payers: [payer(0n, { paymentMethod: PaymentMethod.CREDIT })],
    })
    await harness.reports.reportCharge({
      chargeId: at(made.payers).payerId,
      attemptId: 'a-1',
      outcome: PAID,
      paymentMethod: PaymentMethod.CARD,
    })
    const paid = await harness.get(made.paymentId)
    expect(at(paid.payers).paymentMethod).toBe(PaymentMethod.CREDIT)
  })

  it('a payer who pays is settled once, however often and in however many ways it is reported', async () => {
    const { paymentId, payerId } = await harness.one()
    await Promise.all(Array.from({ length: 20 }, () => harness.report(payerId, PAID, 'same')))
    expect(await harness.report(payerId, PAID, 'same')).toBe('PAID')
    const events = await harness.events(paymentId)
    expect(events.filter(({ transition }) => transition === 'PAYER_PAID')).toHaveLength(1)
    const movements = await harness.movements(paymentId)
    expect(movements.filter((movement) => movement.includes('receipt'))).toEqual([
      'payer_receipt 10000',
    ])
  })

  it('a payer who pays twice by mistake gets the second payment back, once per attempt', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PAID, 'first')
    await harness.report(payerId, PAID, 'second')
    await harness.report(payerId, PAID, 'second')
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
    const movements = await harness.movements(paymentId)
    expect(movements.filter((movement) => /receipt|refund/.test(movement))).toEqual([
      'duplicate_receipt 10000',
      'payer_receipt 10000',
      'refund 10000',
    ])
    await eventually(() => expect(harness.refundsOf(payerId).length).toBe(1))
  })
})

describe('a payer who is refused', () => {
  it('a payer who is refused may try again, and fails the request with the fifth refusal', async () => {
    const { paymentId, payerId } = await harness.one()
    for (const round of [1, 2, 3, 4]) {
      await harness.report(payerId, PROCESSING, `try ${round}`)
      expect(await harness.stateOf(paymentId)).toEqual(['PENDING', 'PROCESSING'])
      expect(await harness.report(payerId, REFUSED, `try ${round}`)).toBe('PENDING')
    }
    expect(await harness.report(payerId, REFUSED, 'try 5')).toBe('FAILED')
    expect(await harness.stateOf(paymentId)).toEqual(['FAILED', 'FAILED'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'FAILED',
      notices: ['PAYMENT_FAILED 0'],
      callbackSequence: 1,
    })
    const withdrawn = await eventually(
      () => harness.backend.received.withdrawals.get(payerId) ?? false,
    )
    expect(withdrawn.reason).toBe(WithdrawReason.FAILED)
    expect(await harness.movements(paymentId)).toEqual([])
  })

  it('a refusal of a payer counts once, however often it is reported', async () => {
    const { paymentId, payerId } = await harness.one()
    for (let round = 0; round < 6; round += 1) await harness.report(payerId, REFUSED, 'same')
    expect(at((await harness.get(paymentId)).payers).refusedAttempts).toBe(1)
    expect(await harness.stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
  })

  it('a refused payer fails the whole request, and those who paid are refunded', async () => {
    const { paymentId, payerIds } = await harness.shared(3_000n, 3_000n, 4_000n)
    const [first = '', second = '', third = ''] = payerIds
    await harness.report(first, PAID)
    for (let round = 0; round < 5; round += 1) await harness.report(second, REFUSED)
    expect(await harness.stateOf(paymentId)).toEqual(['FAILED', 'REFUNDED', 'FAILED', 'FAILED'])
    expect(await harness.lastEvent(paymentId)).toMatchObject({
      transition: 'FAILED',
      notices: ['PAYMENT_REFUNDED 0', 'PAYMENT_FAILED 1', 'PAYMENT_FAILED 2'],
      callbackSequence: 1,
    })
    expect(await harness.movements(paymentId)).toEqual(['payer_receipt 3000', 'refund 3000'])
    await eventually(() => expect(harness.refundsOf(first).length).toBe(1))
    await eventually(() => harness.backend.received.withdrawals.has(third))
    expect(harness.backend.received.withdrawals.has(first)).toBe(false)
  })

  it('a payer stays in an attempt when an older attempt is refused', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, PROCESSING, 'new')
    expect(await harness.report(payerId, REFUSED, 'old')).toBe('PROCESSING')
    expect(at((await harness.get(paymentId)).payers).refusedAttempts).toBe(1)
    expect(await harness.report(payerId, PROCESSING, 'old')).toBe('PROCESSING')
    expect(await harness.report(payerId, PAID, 'new')).toBe('PAID')
  })

  it('a payer who was refused is not brought back to paying by a late report', async () => {
    const { paymentId, payerId } = await harness.one()
    await harness.report(payerId, REFUSED, 'a')
    expect(await harness.report(payerId, PROCESSING, 'a')).toBe('PENDING')
    expect(await harness.stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
  })
})

describe('a report that cannot be', () => {
  it('a report that does not fit the payment is refused and changes nothing', async () => {
    const { paymentId, payerId } = await harness.one()
    expect(await refusal(harness.report(randomUUID(), PAID))).toBe('CHARGE_NOT_FOUND')
    expect(await refusal(harness.report('nonsense', PAID))).toBe('INVALID_PARAMETER charge_id')
    expect(await refusal(harness.report(payerId, ChargeOutcome.UNSPECIFIED))).toBe(
      'MISSING_PARAMETER outcome',
    )
    expect(await refusal(harness.report(payerId, PAID, ''))).toBe('MISSING_PARAMETER attempt_id')
    expect(await refusal(harness.report(payerId, PAID, 'x'.repeat(65)))).toBe(
      'INVALID_PARAMETER attempt_id',
    )
    const payeeId = at((await harness.get(paymentId)).payees).payeeId
    const { COMPLETED } = TransferOutcome
    expect(await refusal(harness.reportPayout(payeeId, COMPLETED))).toBe('CHARGE_NOT_FOUND')
    expect(await refusal(harness.reportPayout(randomUUID(), COMPLETED))).toBe('CHARGE_NOT_FOUND')
    const refunded = harness.reports.reportRefund({ refundId: randomUUID(), outcome: COMPLETED })
    expect(await refusal(refunded)).toBe('CHARGE_NOT_FOUND')
    expect(await harness.events(paymentId)).toHaveLength(1)
  })
})

describe('a payout', () => {
  it('a payout is held for its days, then sent with the fees taken off, and ends as the back end says', async () => {
    const payees = [
      { mobileNumberE164: '+12025550111', amountMinor: 4_000n, delayDays: 2 },
      { mobileNumberE164: '+12025550112', amountMinor: 6_000n },
    ]
    const made = await harness.create({
      payees,
      feeTerms: { paysFees: true, payerCoversPercent: 0 },
      payers: [payer(0n, { paymentMethod: PaymentMethod.CARD })],
    })
    expect(made.payees.map(({ feeMinor }) => feeMinor)).toEqual([136n, 204n])
    await harness.report(at(made.payers).payerId, PAID)
    const [later = '', sooner = ''] = made.payees.map(({ payeeId }) => payeeId)
    const sent = await eventually(() => harness.backend.received.payouts.get(sooner) ?? false)
    expect(sent).toMatchObject({
      amount: { currency: 'USD', minorUnits: 5_796n },
      mobileNumber: '+12025550112',
    })
    expect(harness.backend.received.payouts.has(later)).toBe(false)
    expect(await harness.reportPayout(sooner, TransferOutcome.COMPLETED)).toBe('COMPLETED')
    expect(await harness.lastEvent(made.paymentId)).toMatchObject({
      transition: 'PAYOUT_COMPLETED',
      notices: ['PAYOUT_COMPLETED 1'],
      callbackSequence: 0,
    })
    harness.testClock.advance(49 * hourMs)
    await eventually(() => harness.backend.received.payouts.has(later))
    expect(await harness.reportPayout(later, TransferOutcome.FAILED)).toBe('FAILED')
    expect(await harness.reportPayout(later, TransferOutcome.COMPLETED)).toBe('FAILED')
    expect(await harness.lastEvent(made.paymentId)).toMatchObject({
      transition: 'PAYOUT_FAILED',
      notices: ['PAYOUT_FAILED 0'],
    })
    expect(await harness.movements(made.paymentId)).toEqual([
      'fee 340',
      'payer_receipt 10000',
      'payout 3864',
      'payout 5796',
      'payout_returned 3864',
    ])
  })
})
