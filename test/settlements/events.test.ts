// Tests that each movement of money in payments is in the ledger, once, by events over a real broker.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ChargeOutcome, TransferOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { listRefusals, readBackfill } from '../../services/accounts/ledger/store/backfill-store.ts'
import { backfillPage } from '../../services/accounts/ledger/workers/backfill.ts'
import { postEvents } from '../../services/accounts/ledger/workers/settlement-consumer.ts'
import { startBroker, type TestBroker } from '../events/harness.ts'
import { at, payer } from '../payments/harness.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

const { PAID } = ChargeOutcome
const { COMPLETED, FAILED } = TransferOutcome

let broker: TestBroker
let harness: Harness

beforeAll(async () => {
  broker = await startBroker()
  harness = await startHarness()
  harness.connect(broker.url)
})
afterAll(async () => {
  await harness.stop()
  await broker.remove()
})

/** Waits until the ledger has confirmed all events of payments. */
async function allNotified(): Promise<void> {
  await eventually(async () => expect(await harness.openEvents()).toBe(0))
}

async function payoutOf(paymentId: string): Promise<string> {
  const payment = await eventually(async () => {
    const found = await harness.get(paymentId)
    return (
      found.payees.some(({ payeeId }) => harness.backend.received.payouts.has(payeeId)) && found
    )
  })
  return at(payment.payees).payeeId
}

function total(balances: Record<string, bigint>): bigint {
  return Object.values(balances).reduce((sum, minor) => sum + minor, 0n)
}

describe('a payment in the ledger', () => {
  it('a payment of two payers, paid out and refunded, leaves nothing held in the ledger, and what the merchant owes', async () => {
    const { paymentId, payerIds } = await harness.shared(6_000n, 4_000n)
    await harness.report(at(payerIds), PAID)
    await eventually(async () => expect((await harness.balances())['held']).toBe(6_000n))
    expect(await harness.balances()).toEqual({ clearing: -6_000n, held: 6_000n })
    await harness.report(at(payerIds, 1), PAID)
    await harness.reportPayout(await payoutOf(paymentId), COMPLETED)
    await eventually(async () => expect((await harness.balances())['held']).toBeUndefined())
    expect(await harness.balances()).toEqual({ clearing: -50n, fee_income: 50n })
    await harness.refund(paymentId)
    await eventually(async () =>
      expect((await harness.balances())['merchant_receivable']).toBeDefined(),
    )
    expect(await harness.balances()).toEqual({ clearing: 9_950n, merchant_receivable: -9_950n })
    const transfers = await harness.transfers()
    const { transactionId } = await harness.get(paymentId)
    expect(new Set(transfers.map(({ reference }) => reference))).toEqual(new Set([transactionId]))
  })

  it('a payout that fails after its payment was refunded leaves the merchant owing nothing for it, in the ledger', async () => {
    const payees = [
      { mobileNumberE164: '+12025550108', amountMinor: 6_000n },
      { mobileNumberE164: '+12025550109', amountMinor: 4_000n },
    ]
    const paid = async () => {
      const made = await harness.create({ payers: [payer()], payees })
      await harness.report(at(made.payers).payerId, PAID)
      await payoutOf(made.paymentId)
      return { paymentId: made.paymentId, payeeIds: made.payees.map(({ payeeId }) => payeeId) }
    }
    await allNotified()
    const before = await harness.balances()
    const after = await paid()
    await harness.refund(after.paymentId)
    expect(await harness.reportPayout(at(after.payeeIds), FAILED)).toBe('FAILED')
    expect(await harness.reportPayout(at(after.payeeIds), FAILED)).toBe('FAILED')
    expect(await harness.reportPayout(at(after.payeeIds, 1), COMPLETED)).toBe('COMPLETED')
    const sooner = await paid()
    await harness.reportPayout(at(sooner.payeeIds), FAILED)
    await harness.refund(sooner.paymentId)
    await harness.reportPayout(at(sooner.payeeIds, 1), FAILED)
    await allNotified()
    expect(await harness.balances()).toEqual({
      ...before,
      clearing: (before['clearing'] ?? 0n) + 4_000n,
      merchant_receivable: (before['merchant_receivable'] ?? 0n) - 4_000n,
    })
    harness.settle()
    expect(await backfillPage(harness.job)).toEqual({ caughtUp: true })
    expect(await readBackfill(harness.ledger)).toMatchObject({ postedCount: 0n })
    expect(await listRefusals(harness.ledger, 10)).toEqual([])
  })

  it('a payment in the ledger posts every kind of settlement once, and its accounts sum to zero', async () => {
    await everyKind()
    await allNotified()
    const settlements = await harness.settlements()
    expect(new Set(settlements.map(({ kind }) => kind)).size).toBe(12)
    const transfers = await harness.transfers()
    expect(transfers.map((row) => [row.transfer_id, row.kind])).toEqual(
      settlements.map((row) => [row.settlement_id, row.kind]),
    )
    expect(total(await harness.balances())).toBe(0n)
  })

  it('a payment in the ledger posts nothing again when events come again', async () => {
    await allNotified()
    const before = await harness.balances()
    const events = await harness.settledEvents()
    const posted = await Promise.all(
      [1, 2, 3].map(() => harness.ledger.transaction((tx) => postEvents(tx, events))),
    )
    expect(posted).toEqual([0, 0, 0])
    expect(await harness.balances()).toEqual(before)
  })
})

/** Brings about every movement that payments knows. */
async function everyKind(): Promise<void> {
  const late = await harness.one()
  await harness.cancel(late.paymentId)
  await harness.report(late.payerId, PAID)
  const refund = await eventually(() => harness.refundsOf(late.payerId)[0] ?? false)
  await harness.reports.reportRefund({ refundId: refund.refundId, outcome: FAILED })
  const twice = await harness.one()
  await harness.report(twice.payerId, PAID, 'first')
  await harness.report(twice.payerId, PAID, 'second')
  await harness.reportPayout(await payoutOf(twice.paymentId), FAILED)
  const shared = await harness.create({
    payers: [payer()],
    payees: [{ mobileNumberE164: '+12025550108', amountMinor: 10_000n }],
  })
  await harness.report(at(shared.payers).payerId, PAID)
  await payoutOf(shared.paymentId)
  await harness.refund(shared.paymentId)
}
