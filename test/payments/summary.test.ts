// The summary of a merchant's day: what ended by hour, what is open, and for whom.
import { randomUUID } from 'node:crypto'
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChargeOutcome } from '#gen/payweave/payments/v1/charge_report_pb.js'
import { PaymentState } from '#gen/payweave/payments/v1/payments_pb.js'
import { sql } from '#platform/db/db.ts'
import { deleteOldHours, rollUpEnds } from '../../services/payments/store/summary-store.ts'
import { eventually } from '../support/eventually.ts'
import { at, type Harness, payer, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

const hourMs = 3_600_000
const waitingStatement = sql('test_payment_ends', 'select count(*) as rows from payment_end')
const hoursStatement = sql(
  'test_payment_hours',
  'select count(*) as rows from payment_hour where hour <= $1',
)
const waiting = async () => (await harness.db.row<{ rows: bigint }>(waitingStatement, []))?.rows
const keptUntil = async (hour: Date) =>
  (await harness.db.row<{ rows: bigint }>(hoursStatement, [hour]))?.rows

/** The counts of a merchant: states with count and amount, of each hour and of what is open. */
async function summary(merchantId: string, projectId = harness.projectId) {
  const read = await harness.payments.getPaymentSummary({ projectId, merchantId })
  const word = (one: (typeof read.open)[number]) =>
    `${PaymentState[one.state]} ${one.count} ${one.amountMinor} ${one.currency}`
  return {
    hours: read.hours.map(({ startTime, ended }) => ({
      time: startTime && timestampDate(startTime),
      ended: ended && word(ended),
    })),
    open: read.open.map(word),
    isCut: read.openIsCut,
  }
}

function newMerchant(): string {
  const merchantId = randomUUID()
  harness.accounts.add(merchantId, { projectId: harness.projectId, businessName: 'New Store' })
  return merchantId
}

async function paid(merchantId: string, more: object = {}) {
  const made = await harness.create({ merchantId, ...more })
  await harness.report(at(made.payers).payerId, ChargeOutcome.PAID)
  return made
}

it('a summary counts what ended by state and currency, before it is rolled up and afterwards', async () => {
  const merchantId = newMerchant()
  await paid(merchantId)
  await paid(merchantId, { currency: 'EUR', amountMinor: 700n })
  const refunded = await paid(merchantId, { amountMinor: 40n })
  await harness.refund(refunded.paymentId)
  const cancelled = await harness.create({ merchantId })
  await harness.payments.cancelPayment({
    projectId: harness.projectId,
    merchantId,
    paymentId: cancelled.paymentId,
  })
  await harness.create({ merchantId })
  const shared = await harness.create({ merchantId, payers: [payer(4_000n), payer(6_000n)] })
  await harness.report(at(shared.payers).payerId, ChargeOutcome.PAID)
  const expected = {
    ended: ['PAID 1 700 EUR', 'PAID 2 10040 USD', 'CANCELLED 1 10000 USD', 'REFUNDED 1 40 USD'],
    open: ['PENDING 1 10000 USD', 'PARTIALLY_PAID 1 10000 USD'],
  }
  const seen = async () => {
    const { hours, open } = await summary(merchantId)
    return { ended: hours.map(({ ended }) => ended), open }
  }
  expect(await seen()).toEqual(expected)
  await eventually(async () => expect(await waiting()).toBe(0n))
  expect(await seen()).toEqual(expected)
  expect(await summary(merchantId, randomUUID())).toEqual({ hours: [], open: [], isCut: false })
})

it('a summary has the last 24 hours, each by itself, and counts of a week ago are deleted', async () => {
  const merchantId = newMerchant()
  await paid(merchantId)
  const [first] = (await summary(merchantId)).hours
  expect((first?.time?.getTime() ?? 1) % hourMs).toBe(0)
  harness.testClock.advance(hourMs)
  await paid(merchantId)
  const second = new Date((first?.time?.getTime() ?? 0) + hourMs)
  expect((await summary(merchantId)).hours.map(({ time }) => time)).toEqual([first?.time, second])
  harness.testClock.advance(23 * hourMs)
  expect((await summary(merchantId)).hours).toHaveLength(1)
  await eventually(async () => expect(await waiting()).toBe(0n))
  expect(await deleteOldHours(harness.db, 100)).toBe(0)
  expect(await keptUntil(second)).not.toBe(0n)
  harness.testClock.advance(7 * 24 * hourMs)
  // The worker that deletes them may hold some of them at this moment.
  await deleteOldHours(harness.db, 100)
  // Later hours have payments of other tests that expired with the moves.
  await eventually(async () => expect(await keptUntil(second)).toBe(0n))
})

it('a payment that the fraud rules stop counts as failed', async () => {
  const merchantId = newMerchant()
  const stopped = await harness.create({ merchantId, fraudCheck: true, amountMinor: 99_999_999n })
  expect(stopped.state).toBe(PaymentState.FAILED)
  const { hours, open } = await summary(merchantId)
  expect(hours.map(({ ended }) => ended)).toEqual(['FAILED 1 99999999 USD'])
  expect(open).toEqual([])
})

it('replicas that roll up at once lose nothing and count nothing twice', async () => {
  const merchantIds = Array.from({ length: 5 }, newMerchant)
  await Promise.all(
    merchantIds.flatMap((merchantId) =>
      Array.from({ length: 6 }, async () => {
        await paid(merchantId)
        await Promise.all([rollUpEnds(harness.db, 2), rollUpEnds(harness.db, 3)])
      }),
    ),
  )
  await eventually(async () => expect(await waiting()).toBe(0n))
  for (const merchantId of merchantIds) {
    const { hours } = await summary(merchantId)
    expect(hours.map(({ ended }) => ended)).toEqual(['PAID 6 60000 USD'])
  }
})
