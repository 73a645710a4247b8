// Paying and being refused, as the back end reports it, and what payees get.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WithdrawReason } from '#gen/backend/v1/charges_pb.js'
import { ChargeOutcome, TransferOutcome } from '#gen/payments/v1/charge_report_pb.js'
import { PaymentMethod, PayoutState } from '#gen/payments/v1/payments_pb.js'
import { eventually } from '../support/eventually.ts'
import { at, payer, refusal, startWorld, states, type World } from './harness.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const { PAID, REFUSED, PROCESSING } = ChargeOutcome
const hourMs = 3_600_000

describe('a payer who pays', () => {
  it('completes the request, schedules the payout, and brings one settlement', async () => {
    const { paymentId, payerId } = await world.one()
    expect(await world.report(payerId, PAID)).toBe('PAID')
    const paid = await world.get(paymentId)
    expect(states(paid)).toEqual(['PAID', 'PAID'])
    const event = await world.lastEvent(paymentId)
    expect(event).toMatchObject({
      transition: 'PAYER_PAID',
      notices: ['PAYMENT_COMPLETED 0', 'PAYOUT_SCHEDULED 0'],
      callbackSequence: 1,
    })
    expect(await world.movements(paymentId)).toContain('payer_receipt 10000')
    expect(await world.movements(paymentId)).toContain('fee 50')
  })

  it('says in the callback’s snapshot what a reader gets', async () => {
    const { paymentId, payerIds } = await world.shared(4_000n, 6_000n)
    await world.report(at(payerIds), PAID)
    await world.report(at(payerIds, 1), PAID)
    const read = await world.get(paymentId)
    for (const one of read.payers) one.linkToken = ''
    for (const payee of read.payees) payee.payoutState = PayoutState.SCHEDULED
    expect((await world.lastEvent(paymentId)).payment).toEqual(read)
  })

  it('is one of several: the request is partially paid until the last one has', async () => {
    const { paymentId, payerIds } = await world.shared(4_000n, 6_000n)
    await world.report(at(payerIds, 1), PAID)
    expect(await world.stateOf(paymentId)).toEqual(['PARTIALLY_PAID', 'PENDING', 'PAID'])
    expect(await world.lastEvent(paymentId)).toMatchObject({
      transition: 'PAYER_PAID',
      notices: ['PAYMENT_COMPLETED 1'],
      callbackSequence: 0,
    })
    await world.report(at(payerIds), PAID)
    expect(await world.stateOf(paymentId)).toEqual(['PAID', 'PAID', 'PAID'])
  })

  it('a payer who pays is shown with the payment method that they used', async () => {
    const { paymentId, payerId } = await world.one()
    const paymentMethod = PaymentMethod.DEBIT
    await world.reports.reportCharge({
      chargeId: payerId,
      attemptId: 'a-1',
      outcome: PAID,
      paymentMethod,
    })
    expect(at((await world.get(paymentId)).payers).paymentMethod).toBe(paymentMethod)
  })

  it('keeps the kind of card that was asked for when the back end sees just a card', async () => {
    const made = await world.create({
      payers: [payer(0n, { paymentMethod: PaymentMethod.CREDIT })],
    })
    await world.reports.reportCharge({
      chargeId: at(made.payers).payerId,
      attemptId: 'a-1',
      outcome: PAID,
      paymentMethod: PaymentMethod.CARD,
    })
    const paid = await world.get(made.paymentId)
    expect(at(paid.payers).paymentMethod).toBe(PaymentMethod.CREDIT)
  })

  it('is settled once however often and in however many voices it is reported', async () => {
    const { paymentId, payerId } = await world.one()
    await Promise.all(Array.from({ length: 20 }, () => world.report(payerId, PAID, 'same')))
    expect(await world.report(payerId, PAID, 'same')).toBe('PAID')
    const events = await world.events(paymentId)
    expect(events.filter(({ transition }) => transition === 'PAYER_PAID')).toHaveLength(1)
    const movements = await world.movements(paymentId)
    expect(movements.filter((movement) => movement.includes('receipt'))).toEqual([
      'payer_receipt 10000',
    ])
  })

  it('pays twice by mistake: the second money goes back, once per attempt', async () => {
    const { paymentId, payerId } = await world.one()
    await world.report(payerId, PAID, 'first')
    await world.report(payerId, PAID, 'second')
    await world.report(payerId, PAID, 'second')
    expect(await world.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
    const movements = await world.movements(paymentId)
    expect(movements.filter((movement) => /receipt|refund/.test(movement))).toEqual([
      'duplicate_receipt 10000',
      'payer_receipt 10000',
      'refund 10000',
    ])
    await eventually(() => expect(world.refundsOf(payerId).length).toBe(1))
  })
})

describe('a payer who is refused', () => {
  it('may try again, and fails the request with the fifth refusal', async () => {
    const { paymentId, payerId } = await world.one()
    for (const round of [1, 2, 3, 4]) {
      await world.report(payerId, PROCESSING, `try ${round}`)
      expect(await world.stateOf(paymentId)).toEqual(['PENDING', 'PROCESSING'])
      expect(await world.report(payerId, REFUSED, `try ${round}`)).toBe('PENDING')
    }
    expect(await world.report(payerId, REFUSED, 'try 5')).toBe('FAILED')
    expect(await world.stateOf(paymentId)).toEqual(['FAILED', 'FAILED'])
    expect(await world.lastEvent(paymentId)).toMatchObject({
      transition: 'FAILED',
      notices: ['PAYMENT_FAILED 0'],
      callbackSequence: 1,
    })
    const withdrawn = await eventually(
      () => world.backend.received.withdrawals.get(payerId) ?? false,
    )
    expect(withdrawn.reason).toBe(WithdrawReason.FAILED)
    expect(await world.movements(paymentId)).toEqual([])
  })

  it('counts a refusal once, however often it is reported', async () => {
    const { paymentId, payerId } = await world.one()
    for (let round = 0; round < 6; round += 1) await world.report(payerId, REFUSED, 'same')
    expect(at((await world.get(paymentId)).payers).refusedAttempts).toBe(1)
    expect(await world.stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
  })

  it('a refused payer fails the whole request, and those who paid are refunded', async () => {
    const { paymentId, payerIds } = await world.shared(3_000n, 3_000n, 4_000n)
    const [first = '', second = '', third = ''] = payerIds
    await world.report(first, PAID)
    for (let round = 0; round < 5; round += 1) await world.report(second, REFUSED)
    expect(await world.stateOf(paymentId)).toEqual(['FAILED', 'REFUNDED', 'FAILED', 'FAILED'])
    expect(await world.lastEvent(paymentId)).toMatchObject({
      transition: 'FAILED',
      notices: ['PAYMENT_REFUNDED 0', 'PAYMENT_FAILED 1', 'PAYMENT_FAILED 2'],
      callbackSequence: 1,
    })
    expect(await world.movements(paymentId)).toEqual(['payer_receipt 3000', 'refund 3000'])
    await eventually(() => expect(world.refundsOf(first).length).toBe(1))
    await eventually(() => world.backend.received.withdrawals.has(third))
    expect(world.backend.received.withdrawals.has(first)).toBe(false)
  })

  it('stays in an attempt that another, older attempt’s refusal does not end', async () => {
    const { paymentId, payerId } = await world.one()
    await world.report(payerId, PROCESSING, 'new')
    expect(await world.report(payerId, REFUSED, 'old')).toBe('PROCESSING')
    expect(at((await world.get(paymentId)).payers).refusedAttempts).toBe(1)
    expect(await world.report(payerId, PROCESSING, 'old')).toBe('PROCESSING')
    expect(await world.report(payerId, PAID, 'new')).toBe('PAID')
  })

  it('is not brought back to paying by a report that comes late', async () => {
    const { paymentId, payerId } = await world.one()
    await world.report(payerId, REFUSED, 'a')
    expect(await world.report(payerId, PROCESSING, 'a')).toBe('PENDING')
    expect(await world.stateOf(paymentId)).toEqual(['PENDING', 'PENDING'])
  })
})

describe('a report that cannot be', () => {
  it('is refused and changes nothing', async () => {
    const { paymentId, payerId } = await world.one()
    expect(await refusal(world.report(randomUUID(), PAID))).toBe('CHARGE_NOT_FOUND')
    expect(await refusal(world.report('nonsense', PAID))).toBe('INVALID_PARAMETER charge_id')
    expect(await refusal(world.report(payerId, ChargeOutcome.UNSPECIFIED))).toBe(
      'MISSING_PARAMETER outcome',
    )
    expect(await refusal(world.report(payerId, PAID, ''))).toBe('MISSING_PARAMETER attempt_id')
    expect(await refusal(world.report(payerId, PAID, 'x'.repeat(65)))).toBe(
      'INVALID_PARAMETER attempt_id',
    )
    const payeeId = at((await world.get(paymentId)).payees).payeeId
    const { COMPLETED } = TransferOutcome
    expect(await refusal(world.reportPayout(payeeId, COMPLETED))).toBe('CHARGE_NOT_FOUND')
    expect(await refusal(world.reportPayout(randomUUID(), COMPLETED))).toBe('CHARGE_NOT_FOUND')
    const refunded = world.reports.reportRefund({ refundId: randomUUID(), outcome: COMPLETED })
    expect(await refusal(refunded)).toBe('CHARGE_NOT_FOUND')
    expect(await world.events(paymentId)).toHaveLength(1)
  })
})

describe('a payout', () => {
  it('is held for its days, then sent with the fees taken off, and ends as the back end says', async () => {
    const payees = [
      { mobileNumberE164: '+12025550111', amountMinor: 4_000n, delayDays: 2 },
      { mobileNumberE164: '+12025550112', amountMinor: 6_000n },
    ]
    const made = await world.create({
      payees,
      feeTerms: { paysFees: true, payerCoversPercent: 0 },
      payers: [payer(0n, { paymentMethod: PaymentMethod.CARD })],
    })
    expect(made.payees.map(({ feeMinor }) => feeMinor)).toEqual([136n, 204n])
    await world.report(at(made.payers).payerId, PAID)
    const [later = '', sooner = ''] = made.payees.map(({ payeeId }) => payeeId)
    const sent = await eventually(() => world.backend.received.payouts.get(sooner) ?? false)
    expect(sent).toMatchObject({
      amount: { currency: 'USD', minorUnits: 5_796n },
      mobileNumber: '+12025550112',
    })
    expect(world.backend.received.payouts.has(later)).toBe(false)
    expect(await world.reportPayout(sooner, TransferOutcome.COMPLETED)).toBe('COMPLETED')
    expect(await world.lastEvent(made.paymentId)).toMatchObject({
      transition: 'PAYOUT_COMPLETED',
      notices: ['PAYOUT_COMPLETED 1'],
      callbackSequence: 0,
    })
    world.testClock.advance(49 * hourMs)
    await eventually(() => world.backend.received.payouts.has(later))
    expect(await world.reportPayout(later, TransferOutcome.FAILED)).toBe('FAILED')
    expect(await world.reportPayout(later, TransferOutcome.COMPLETED)).toBe('FAILED')
    expect(await world.lastEvent(made.paymentId)).toMatchObject({
      transition: 'PAYOUT_FAILED',
      notices: ['PAYOUT_FAILED 0'],
    })
    expect(await world.movements(made.paymentId)).toEqual([
      'fee 340',
      'payer_receipt 10000',
      'payout 3864',
      'payout 5796',
      'payout_returned 3864',
    ])
  })
})
