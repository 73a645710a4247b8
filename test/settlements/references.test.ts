// Settlements are listed by the ids under which connectors know payouts and refunds, with those of their returns, however young.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { SettlementKind } from '#gen/payweave/payments/v1/settlement_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

const { FAILED } = TransferOutcome
let harness: Harness

beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

/** Pays a request of which the payout fails. */
async function failedPayout(): Promise<string> {
  const { paymentId, payerId } = await harness.one()
  await harness.report(payerId, ChargeOutcome.PAID)
  const [payee] = (await harness.get(paymentId)).payees
  if (payee === undefined) throw new Error('nobody is paid')
  await eventually(() => harness.backend.received.payouts.has(payee.payeeId))
  expect(await harness.reportPayout(payee.payeeId, FAILED)).toBe('FAILED')
  return payee.payeeId
}

/** Pays a cancelled request of which the refund fails. */
async function failedRefund(): Promise<string> {
  const { paymentId, payerId } = await harness.one()
  await harness.cancel(paymentId)
  await harness.report(payerId, ChargeOutcome.PAID)
  const { refundId } = await eventually(() => harness.refundsOf(payerId)[0] ?? false)
  await harness.reports.reportRefund({ refundId, outcome: FAILED })
  return refundId
}

it('the settlements of payouts and refunds are listed with their returns, those of the connector alone, and nothing of others', async () => {
  const [payout, refund] = [await failedPayout(), await failedRefund()]
  await Promise.all([failedPayout(), failedRefund()])
  const listed = async (references: string[], connector: string) => {
    const { settlements } = await harness.list.listSettlements({ references, connector })
    return settlements.map(({ kind, settlementId, payeeId, reversesId }) => [
      SettlementKind[kind],
      [settlementId, payeeId, reversesId].find((id) => references.includes(id)),
    ])
  }
  const ofPayout = [
    ['PAYOUT', payout],
    ['PAYOUT_RETURNED', payout],
  ]
  const ofRefund = [
    ['REFUND', refund],
    ['REFUND_RETURNED', refund],
  ]
  for (const connector of ['simulator', '']) {
    expect(await listed([payout, refund, randomUUID()], connector)).toEqual([
      ...ofPayout,
      ...ofRefund,
    ])
    expect(await listed([refund], connector)).toEqual(ofRefund)
  }
  expect(await listed([payout, refund], 'connector-other')).toEqual([])
})

it('settlements of more than 500 payouts and refunds, and of one without a UUID, are refused', async () => {
  const { listSettlements } = harness.list
  const many = Array.from({ length: 501 }, () => randomUUID())
  await expect(listSettlements({ references: many })).rejects.toThrow('references')
  await expect(listSettlements({ references: ['x'] })).rejects.toThrow('references')
})
