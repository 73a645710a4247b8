// Tests that each movement of money in payments is in the ledger, once, by events over a real broker.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ChargeOutcome, TransferOutcome } from '#gen/payments/v1/charge_report_pb.js'
import { postEvents } from '../../services/accounts/ledger/workers/settlement-consumer.ts'
import { startBroker, type TestBroker } from '../events/harness.ts'
import { at, payer } from '../payments/harness.ts'
import { eventually } from '../support/eventually.ts'
import { type SettlementWorld, startSettlementWorld } from './harness.ts'

const { PAID } = ChargeOutcome
const { COMPLETED, FAILED } = TransferOutcome

let broker: TestBroker
let world: SettlementWorld

beforeAll(async () => {
  broker = await startBroker()
  world = await startSettlementWorld()
  world.connect(broker.url)
})
afterAll(async () => {
  await world.stop()
  await broker.remove()
})

/** Waits until the ledger has confirmed all events of payments. */
async function allNotified(): Promise<void> {
  await eventually(async () => expect(await world.openEvents()).toBe(0))
}

async function payoutOf(paymentId: string): Promise<string> {
  const payment = await eventually(async () => {
    const found = await world.get(paymentId)
    return found.payees.some(({ payeeId }) => world.backend.received.payouts.has(payeeId)) && found
  })
  return at(payment.payees).payeeId
}

function total(balances: Record<string, bigint>): bigint {
  return Object.values(balances).reduce((sum, minor) => sum + minor, 0n)
}

describe('a payment in the ledger', () => {
  it('of two payers, paid out and refunded, leaves nothing held and what the merchant owes', async () => {
    const { paymentId, payerIds } = await world.shared(6_000n, 4_000n)
    await world.report(at(payerIds), PAID)
    await eventually(async () => expect((await world.balances())['held']).toBe(6_000n))
    expect(await world.balances()).toEqual({ clearing: -6_000n, held: 6_000n })
    await world.report(at(payerIds, 1), PAID)
    await world.reportPayout(await payoutOf(paymentId), COMPLETED)
    await eventually(async () => expect((await world.balances())['held']).toBeUndefined())
    expect(await world.balances()).toEqual({ clearing: -50n, fee_income: 50n })
    await world.refund(paymentId)
    await eventually(async () =>
      expect((await world.balances())['merchant_receivable']).toBeDefined(),
    )
    expect(await world.balances()).toEqual({ clearing: 9_950n, merchant_receivable: -9_950n })
    const transfers = await world.transfers()
    const { transactionId } = await world.get(paymentId)
    expect(new Set(transfers.map(({ reference }) => reference))).toEqual(new Set([transactionId]))
  })

  it('posts every kind of settlement once, and its accounts sum to zero', async () => {
    await everyKind()
    await allNotified()
    const settlements = await world.settlements()
    expect(new Set(settlements.map(({ kind }) => kind)).size).toBe(12)
    const transfers = await world.transfers()
    expect(transfers.map((row) => [row.transfer_id, row.kind])).toEqual(
      settlements.map((row) => [row.settlement_id, row.kind]),
    )
    expect(total(await world.balances())).toBe(0n)
  })

  it('posts nothing again when events come again', async () => {
    await allNotified()
    const before = await world.balances()
    const events = await world.settledEvents()
    const posted = await Promise.all(
      [1, 2, 3].map(() => world.ledger.transaction((tx) => postEvents(tx, events))),
    )
    expect(posted).toEqual([0, 0, 0])
    expect(await world.balances()).toEqual(before)
  })
})

/** Brings about every movement that payments knows. */
async function everyKind(): Promise<void> {
  const late = await world.one()
  await world.cancel(late.paymentId)
  await world.report(late.payerId, PAID)
  const refund = await eventually(() => world.refundsOf(late.payerId)[0] ?? false)
  await world.reports.reportRefund({ refundId: refund.refundId, outcome: FAILED })
  const twice = await world.one()
  await world.report(twice.payerId, PAID, 'first')
  await world.report(twice.payerId, PAID, 'second')
  await world.reportPayout(await payoutOf(twice.paymentId), FAILED)
  const shared = await world.create({
    payers: [payer()],
    payees: [{ mobileNumberE164: '+12025550108', amountMinor: 10_000n }],
  })
  await world.report(at(shared.payers).payerId, PAID)
  await payoutOf(shared.paymentId)
  await world.refund(shared.paymentId)
}
