// Quotes that are made together are stored together: each whole, and none suffers from another.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { type Database, isCheckViolation } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { type DraftQuote, noFees } from '../../services/quotes/domain/quote.ts'
import {
  batchingQuotes,
  type StoreQuote,
  storingQuote,
} from '../../services/quotes/operations/batching.ts'
import { readQuote } from '../../services/quotes/store/quote-store.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { ttlS } from './harness.ts'

const projectId = randomUUID()
const institutionName = `O'Neil "sells" \\ {x,NULL} 😀`

let database: TestDatabase
let wire: CountingWire
let db: Database
let store: StoreQuote

beforeAll(async () => {
  database = await createTestDatabase('quotes', migrationFolders('quotes'))
  wire = await countRoundTrips(new URL(database.url))
  db = database.open({ url: wire.url, log: silentLog, poolSize: 1 })
  await db.ready()
})
beforeEach(() => {
  store = batchingQuotes(db, ttlS)
})
afterAll(async () => {
  await database.drop()
  await wire.close()
})

function draft(more: Partial<DraftQuote> = {}): DraftQuote {
  return {
    quoteId: newId(),
    projectId,
    institutionId: randomUUID(),
    institutionName,
    accountId: randomUUID(),
    kind: 'transfer',
    requested: { amountMinor: BigInt(1 + Math.floor(Math.random() * 1e9)), currency: 'USD' },
    quoted: { amountMinor: 2n ** 62n, currency: 'TTD' },
    fees: noFees,
    rate: { text: '6.7829', sourceTime: new Date() },
    residual: '0.009',
    roundingMinor: 1n,
    ...more,
  }
}

it('forty quotes that come at once are stored in two round trips, each as it was drafted', async () => {
  const drafts = Array.from({ length: 40 }, () => draft())
  const before = wire.roundTrips()
  const made = await Promise.all(drafts.map((one) => store(one)))
  expect(wire.roundTrips() - before).toBe(2)
  for (const [index, quote] of made.entries()) {
    expect(quote).toMatchObject(drafts[index] ?? {})
    expect(await readQuote(db, quote)).toEqual(quote)
  }
})

it('a quote of a batch is stored as it would be alone', async () => {
  const one = draft()
  const alone = await storingQuote(db, ttlS)({ ...one, quoteId: newId() })
  const others = await Promise.all([1, 2, 3, 4].map(() => store({ ...one, quoteId: newId() })))
  const { quoteId, quoteTime, expireTime, ...rest } = alone
  expect(expireTime.getTime() - quoteTime.getTime()).toBe(ttlS * 1_000)
  for (const other of others) expect(other).toMatchObject(rest)
  expect(new Set([quoteId, ...others.map((other) => other.quoteId)]).size).toBe(5)
})

it('a quote that the table refuses is refused alone', async () => {
  const good = Array.from({ length: 9 }, () => draft())
  const bad = draft({ requested: { amountMinor: 0n, currency: 'USD' } })
  const outcomes = await Promise.allSettled([...good, bad, draft()].map((one) => store(one)))
  const refused = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
  )
  expect(refused).toHaveLength(1)
  expect(isCheckViolation(refused[0], 'quote_sound')).toBe(true)
  for (const one of good) expect(await readQuote(db, one)).toBeDefined()
})
