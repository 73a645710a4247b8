// Proves what a bill payment costs: round trips counted on the wire between billing and PostgreSQL, and calls of others.
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { seedBillers } from '../../deploy/local/seed/billers.ts'
import { billingMetrics } from '../../services/billing/metrics.ts'
import { batchingBills } from '../../services/billing/operations/batching.ts'
import { catalogueCache } from '../../services/billing/operations/catalogue-cache.ts'
import { type Billing, payBill } from '../../services/billing/operations/pay.ts'
import { readBacklog } from '../../services/billing/store/outcome-posting-store.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { fixedKeys } from '../support/keys.ts'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { newBillers, newLedger, order } from './harness.ts'

let database: TestDatabase
let wire: CountingWire
let db: Database
let billing: Billing
const billers = newBillers()
const calls: string[] = []

beforeAll(async () => {
  database = await createTestDatabase('billing', migrationFolders('billing'))
  wire = await countRoundTrips(new URL(database.url))
  db = database.open({ url: wire.url, poolSize: 1 })
  await seedBillers(db, 'local')
  // However long this takes: the catalogue is read once.
  const catalogue = catalogueCache(db, () => 0)
  const writer = batchingBills(db)
  const ledger = newLedger(100_000n)
  ledger.before = async (call) => void calls.push(call)
  billers.before = async () => void calls.push('pay')
  billing = {
    db,
    claim: writer.claim,
    writeEnd: writer.end,
    log: silentLog,
    metrics: billingMetrics(new Registry(), () => readBacklog(db)),
    linkKeys: fixedKeys(),
    ledger,
    billers,
    billerTimeoutMs: 1_000,
    enquiryScheduleS: [30],
    catalogue: () => catalogue.read(),
    notifyOutcomes: () => undefined,
    notifyEnquiries: () => undefined,
    unfreed: new Map(),
    notifyReleasing: () => undefined,
    issueToken: randomId,
  }
  await catalogue.read()
})

beforeEach(() => {
  calls.length = 0
  billers.decides = () => ({ state: 'paid', providerReference: 'p' })
})

afterAll(async () => {
  await database.drop()
  await wire.close()
})

it.each([
  ['paid', ['hold', 'pay', 'post']],
  ['refused', ['hold', 'pay', 'release']],
  ['unclear', ['hold', 'pay']],
] as const)(
  'a payment whose biller says "%s" is two round trips and the calls %j',
  async (state, expected) => {
    billers.decides = () =>
      state === 'unclear'
        ? { state }
        : {
            state,
            failureCode: 'BILL_ALREADY_PAID',
            retryCategory: 'NON_RETRIABLE',
            providerReference: '',
          }
    const before = wire.roundTrips()
    await payBill(billing, order())
    expect(wire.roundTrips() - before).toBe(2)
    expect(calls).toEqual(expected)
  },
)

it('payments of one turn are two round trips together', async () => {
  const before = wire.roundTrips()
  const paid = await Promise.all(Array.from({ length: 5 }, () => payBill(billing, order())))
  expect(paid.map(({ bill }) => bill.state)).toEqual(paid.map(() => 'succeeded'))
  expect(wire.roundTrips() - before).toBe(2)
})

it('a repeat is one round trip and no call', async () => {
  const wanted = order()
  await payBill(billing, wanted)
  calls.length = 0
  const before = wire.roundTrips()
  expect((await payBill(billing, wanted)).replayed).toBe(true)
  expect(wire.roundTrips() - before).toBe(1)
  expect(calls).toEqual([])
})

it('what the catalogue refuses is one round trip, to see whether the key is known', async () => {
  const before = wire.roundTrips()
  await expect(payBill(billing, order({ billerCode: 'NOBODY' }))).rejects.toThrow('no such')
  expect(wire.roundTrips() - before).toBe(1)
  expect(calls).toEqual([])
})
