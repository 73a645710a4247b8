// Tests that a payer reads why their attempt was refused, as the back end says it.
import { randomUUID } from 'node:crypto'
import { Code, ConnectError } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AttemptOutcome, RefusalReason } from '#gen/payweave/backend/v1/charges_pb.js'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PayerState } from '#gen/payweave/payments/v1/payments_pb.js'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

async function announced() {
  const made = await harness.create({ payers: [payer(0n)] })
  const { payerId, linkToken } = at(made.payers)
  await eventually(() => harness.backend.received.charges.has(payerId))
  return { payerId, linkToken }
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
