// Proves what a request costs in round trips to the database, counted on the wire between payments and PostgreSQL.
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import type { NewPayment } from '../../services/payments/domain/new-payment.ts'
import { routingOf } from '../../services/payments/domain/routing.ts'
import { paymentMetrics } from '../../services/payments/metrics.ts'
import { batchingChanger } from '../../services/payments/operations/change.ts'
import {
  batchingReader,
  batchingStore,
  checkedStore,
  createPayment,
  getPayment,
  type PaymentContext,
} from '../../services/payments/operations/payments.ts'
import { reportCharge } from '../../services/payments/operations/reports.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { settings } from './harness.ts'

/** `begin` and `commit`. */
const transactionEnds = 2
const routing = routingOf([], 'simulator')

let database: TestDatabase
let wire: CountingWire
let db: Database
let payments: PaymentContext

beforeAll(async () => {
  database = await createTestDatabase('payments', migrationFolders('payments'))
  wire = await countRoundTrips(new URL(database.url))
  db = database.open({ url: wire.url, poolSize: 1 })
  payments = {
    db,
    storePayment: batchingStore(db),
    storeChecked: checkedStore(db),
    findPayment: batchingReader(db),
    changeInBatch: batchingChanger(db),
    log: silentLog,
    linkKeys: fixedKeys(),
    settings,
    findMerchant: (_, merchantId) =>
      Promise.resolve({ merchantId, businessName: 'Demo Store', mobileNumber: '+12025550199' }),
    metrics: paymentMetrics(new Registry(), {
      backlog: () => Promise.resolve([]),
      oldestUnreportedRefundS: () => Promise.resolve(0),
    }),
    routing: () => routing,
    publish: () => undefined,
    callBackend: () => undefined,
  }
  // The first statement of a connection pays for the connection.
  await db.ready()
})

afterAll(async () => {
  await database.drop()
  await wire.close()
})

it.each([
  [1, 0],
  [1, 1],
  [3, 2],
])('a new payment of %i payers and %i named payees is one round trip', async (payers, payees) => {
  const before = wire.roundTrips()
  await createPayment(payments, request(payers, payees))
  expect(wire.roundTrips() - before).toBe(1)
})

it('a read is one round trip', async () => {
  const asked = request(1, 1)
  const { payment } = await createPayment(payments, asked)
  const before = wire.roundTrips()
  await getPayment(payments, { ...asked, paymentId: payment.paymentId })
  expect(wire.roundTrips() - before).toBe(1)
})

it('the fraud rules cost a new payment a transaction of five statements, and a repeat costs one statement more', async () => {
  const checked = { ...request(1, 1), fraudCheck: true }
  const before = wire.roundTrips()
  await createPayment(payments, checked)
  // begin, locks, count, insert, commit: the first three go out together.
  expect(wire.roundTrips() - before).toBe(5)
  const asked = request(1, 1)
  await createPayment(payments, asked)
  const beforeRepeat = wire.roundTrips()
  const { replayed } = await createPayment(payments, asked)
  expect(replayed).toBe(true)
  expect(wire.roundTrips() - beforeRepeat).toBe(2)
})

it.each([1, 20])('%i reports that come together cost the statements of one', async (count) => {
  const made = await Promise.all(
    Array.from({ length: count }, () => createPayment(payments, request(1, 1))),
  )
  const payerIds = made.flatMap(({ payment }) => payment.payers.map(({ payerId }) => payerId))
  const attempt = { attemptId: newId(), paymentMethod: undefined }
  const report = (outcome: 'processing' | 'paid') =>
    Promise.all(payerIds.map((payerId) => reportCharge(payments, payerId, { ...attempt, outcome })))
  const cost = async (work: () => Promise<unknown>) => {
    const before = wire.roundTrips()
    await work()
    return wire.roundTrips() - before - transactionEnds
  }
  const began = await cost(() => report('processing'))
  const paid = await cost(() => report('paid'))
  // The lock, the payment and earlier reports; then the payment, the payer, and the report with the event.
  expect(began).toBe(6)
  // And the payee, and the end of the attempt; what moved and the payout's task are inserted with the report.
  expect(paid).toBe(8)
})

function request(payerCount: number, payeeCount: number): NewPayment {
  const amountMinor = 6_000n
  const mobileNumber = '+12025550108'
  const person = { mobileNumber, mobileNumberE164: mobileNumber }
  const payer = {
    ...person,
    firstName: 'Kofi',
    lastName: 'Boateng',
    email: '',
    paymentChannel: 'payment_link' as const,
    paymentMethod: 'wallet' as const,
    amountMinor: amountMinor / BigInt(payerCount),
  }
  const payee = { ...person, amountMinor: amountMinor / BigInt(payeeCount || 1), delayDays: 0 }
  return {
    projectId: newId(),
    merchantId: newId(),
    transactionId: newId(),
    amountMinor,
    currency: 'USD',
    description: '',
    fraudCheck: false,
    feeTerms: { paysFees: false, payerCoversPercent: 100 },
    payers: Array.from({ length: payerCount }, () => payer),
    payees: Array.from({ length: payeeCount }, () => payee),
    urls: { success: '', error: '', notify: '', callback: '' },
    fingerprint: Buffer.alloc(32, 7),
  }
}
