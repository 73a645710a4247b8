// Tests that a payer reads why their attempt was refused, as the back end says it, and may choose what the connector takes; and that a
// refund that the connector cannot make is left to a person.
import { randomUUID } from 'node:crypto'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AttemptOutcome, RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { WaitingRefundState } from '#gen/payweave/payments/v1/operations_pb.js'
import { PayerState, PaymentMethod } from '#gen/payweave/payments/v1/payments_pb.js'
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, refusal, startHarness } from './harness.ts'
import { as } from './person.ts'

const failed = { state: WaitingRefundState.FAILED, pageSize: 200 }
const callOf = sql(
  'test_call',
  `select done_time is not null as "isDone", attempts from task where subject_id = $1 and kind = 'refund'`,
)

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
beforeEach(() => {
  harness.backend.state.wallet = () => AttemptOutcome.PAID
  harness.backend.state.lacks.clear()
})
afterAll(() => harness.stop())

async function announced(more: object = {}) {
  const made = await harness.create({ payers: [payer(0n, more)] })
  const { payerId, linkToken } = at(made.payers)
  await eventually(() => harness.backend.received.charges.has(payerId))
  return { paymentId: made.paymentId, payerId, linkToken }
}

async function reasonOf(linkToken: string): Promise<string | undefined> {
  const { checkout } = await harness.checkouts.getCheckout({ linkToken })
  return checkout && RefusalReason[checkout.refusalReason]
}

describe('a refusal', () => {
  it('a refused payer reads why their last attempt was refused, until the share is paid', async () => {
    const { linkToken, payerId } = await announced()
    const reasonNow = () => reasonOf(linkToken)
    expect(await reasonNow()).toBe('UNSPECIFIED')
    harness.backend.state.wallet = () => AttemptOutcome.REFUSED
    harness.backend.state.refusalReason = RefusalReason.INSUFFICIENT_FUNDS
    const answer = await harness.checkouts.payWithWallet({ linkToken, pin: '000051' })
    expect(answer.checkout?.refusalReason).toBe(RefusalReason.INSUFFICIENT_FUNDS)
    expect(await reasonNow()).toBe('INSUFFICIENT_FUNDS')
    const report = { chargeId: payerId, attemptId: randomUUID(), outcome: ChargeOutcome.REFUSED }
    for (const refusalReason of [RefusalReason.LIMIT_EXCEEDED, RefusalReason.DECLINED]) {
      // The first report of an attempt counts.
      await harness.reports.reportCharge({ ...report, refusalReason })
      expect(await reasonNow()).toBe('LIMIT_EXCEEDED')
    }
    await harness.reports.reportCharge({ ...report, attemptId: randomUUID() })
    expect(await reasonNow()).toBe('UNSPECIFIED')
    harness.backend.state.wallet = () => AttemptOutcome.PAID
    await harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
    expect(await reasonNow()).toBe('UNSPECIFIED')
  })

  it('the reason of a refusal that only an enquiry returns is shown too', async () => {
    harness.backend.state.refusalReason = RefusalReason.NOT_CONFIRMED
    harness.backend.state.wallet = (attemptId) => {
      harness.backend.received.attempts.set(attemptId, AttemptOutcome.REFUSED)
      throw new ConnectError('gone', Code.Unavailable)
    }
    const { linkToken } = await announced()
    await harness.checkouts.payWithWallet({ linkToken, pin: '000017' })
    await eventually(
      () => reasonOf(linkToken),
      (reason) => expect(reason).toBe('NOT_CONFIRMED'),
    )
  })

  it('the reason of a refusal is refused with another outcome, and changes nothing', async () => {
    const { linkToken, payerId } = await announced()
    const refusalReason = RefusalReason.DECLINED
    for (const outcome of [ChargeOutcome.PAID, ChargeOutcome.PROCESSING]) {
      const report = { chargeId: payerId, attemptId: randomUUID(), outcome, refusalReason }
      await expect(harness.reports.reportCharge(report)).rejects.toMatchObject({
        reason: 'INVALID_PARAMETER',
        details: { field: 'refusal_reason' },
      })
    }
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    expect(checkout?.payerState).toBe(PayerState.PENDING)
  })
})

describe('a means that the connector does not take', () => {
  it('a wallet that the connector does not take is refused at once, does not count as an attempt, and leaves the card', async () => {
    const { linkToken, paymentId, payerId } = await announced()
    harness.backend.state.lacks.add('wallets')
    for (let presses = 0; presses < 6; presses += 1) {
      const paying = harness.checkouts.payWithWallet({ linkToken, pin: '123456' })
      expect(await refusal(paying)).toBe('UNSUPPORTED_CHANNEL_METHOD')
    }
    const { checkout } = await harness.checkouts.getCheckout({ linkToken })
    expect(checkout).toMatchObject({ payerState: PayerState.PENDING, refusedAttempts: 0 })
    expect((await harness.checkouts.openCardFrame({ linkToken })).frameUrl).toContain(payerId)
    await harness.report(payerId, ChargeOutcome.PAID)
    expect(await harness.stateOf(paymentId)).toEqual(['PAID', 'PAID'])
  })

  it('a card that the connector does not take is refused, and the share stays as it was', async () => {
    const { linkToken } = await announced({ paymentMethod: PaymentMethod.CARD })
    harness.backend.state.lacks.add('cards')
    const opening = harness.checkouts.openCardFrame({ linkToken })
    expect(await refusal(opening)).toBe('UNSUPPORTED_CHANNEL_METHOD')
    const { checkout, refused } = await harness.checkouts.payWithWallet({ linkToken, pin: '1234' })
    expect([checkout?.payerState, refused]).toEqual([PayerState.PAID, false])
  })

  it('a refund whose connector makes none is called once, and fails at once for a person to pay it', async () => {
    const { paymentId, payerId } = await announced()
    harness.backend.state.lacks.add('refunds')
    await harness.report(payerId, ChargeOutcome.PAID)
    await harness.refund(paymentId)
    await eventually(async () => {
      const { refunds } = await as('support', () => harness.operations.listWaitingRefunds(failed))
      const { refundId } = at(refunds)
      expect(refunds).toMatchObject([{ paymentId, amountMinor: 10_000n }])
      const call = await harness.db.row(callOf, [refundId])
      expect(call).toEqual({ isDone: true, attempts: 1 })
    })
    expect(await harness.movements(paymentId)).toContain('refund_returned 10000')
    expect(harness.backend.received.refundCalls).toBe(1)
  })

  it('a refund that an earlier version of the connector may have made is not failed', async () => {
    const { state, received } = harness.backend
    const { paymentId, payerId } = await announced()
    state.lacks.add('refunds')
    await harness.report(payerId, ChargeOutcome.PAID)
    state.isDown = true
    const earlier = received.refundCalls
    await harness.refund(paymentId)
    await eventually(() => received.refundCalls > earlier)
    state.isDown = false
    const before = received.refundCalls
    await eventually(() => received.refundCalls > before + 1)
    expect(await harness.movements(paymentId)).not.toContain('refund_returned 10000')
  })
})
