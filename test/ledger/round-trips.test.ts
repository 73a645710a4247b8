// Proves what the ledger costs in round trips to the database, counted on the wire.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import { createHold, postHold } from '../../services/accounts/ledger/operations/hold.ts'
import { postTransfer, readBalance } from '../../services/accounts/ledger/operations/ledger.ts'
import { beginMovement } from '../../services/accounts/ledger/operations/movement.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { moving, newAccount, newCustomer, newSession, newShop, userLimits } from './harness.ts'

let database: TestDatabase
let wire: CountingWire
let db: Database

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  wire = await countRoundTrips(new URL(database.url))
  db = database.open({ url: wire.url, poolSize: 1 })
  // The first statement of a connection pays for the connection.
  await db.ready()
})
afterAll(async () => {
  await database.drop()
  await wire.close()
})

const clearing = { internal: 'clearing' } as const

async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = wire.roundTrips()
  await work()
  return wire.roundTrips() - before
}

it('a transfer is one round trip, and a repeat of it two', async () => {
  const projectId = newId()
  const accountId = await newCustomer(db, { projectId, amountMinor: 100n })
  const payee = await newCustomer(db, { projectId, amountMinor: 0n })
  const lines = [
    ...moving({ accountId }, { accountId: payee }, 5n),
    ...moving({ accountId }, { internal: 'fee_income' }, 1n),
  ]
  const wanted = { projectId, transferId: newId(), lines }
  expect(await cost(() => postTransfer(db, wanted))).toBe(1)
  expect(await cost(() => postTransfer(db, wanted))).toBe(2)
})

it('transfers that are posted in one turn are one round trip together, and so are holds', async () => {
  const ledger = batchingLedger(db)
  const projectId = newId()
  const payers = await Promise.all(
    Array.from({ length: 3 }, () => newCustomer(db, { projectId, amountMinor: 100n })),
  )
  const transfers = payers.map((accountId) => ({
    projectId,
    transferId: newId(),
    lines: moving({ accountId }, clearing, 5n),
  }))
  const expireTime = new Date(Date.now() + 60_000)
  const holds = payers.map((accountId) => ({
    projectId,
    holdId: newId(),
    address: { accountId },
    currency: 'TTD',
    amountMinor: 50n,
    expireTime,
  }))
  const lines = (index: number) => moving({ accountId: payers[index] ?? '' }, clearing, 50n)
  expect(await cost(() => Promise.all(transfers.map((one) => ledger.postTransfer(one))))).toBe(1)
  expect(await cost(() => Promise.all(holds.map((one) => ledger.createHold(one))))).toBe(1)
  const postings = holds.map(({ holdId }, index) => ({ projectId, holdId, lines: lines(index) }))
  expect(await cost(() => Promise.all(postings.map((one) => ledger.postHold(one))))).toBe(1)
})

it('the first transfer of a float opens it in two round trips more', async () => {
  const projectId = newId()
  const post = () => {
    const lines = moving(clearing, { floatProjectId: projectId }, 5n)
    return postTransfer(db, { projectId, transferId: newId(), lines })
  }
  expect(await cost(post)).toBe(3)
  expect(await cost(post)).toBe(1)
})

it('a hold is one round trip, and posting it another', async () => {
  const projectId = newId()
  const accountId = await newCustomer(db, { projectId, amountMinor: 100n })
  const holdId = newId()
  const expireTime = new Date(Date.now() + 60_000)
  const wanted = { projectId, holdId, address: { accountId }, currency: 'TTD', amountMinor: 50n }
  expect(await cost(() => createHold(db, { ...wanted, expireTime }))).toBe(1)
  const lines = moving({ accountId }, clearing, 40n)
  expect(await cost(() => postHold(db, { projectId, holdId, lines }))).toBe(1)
})

it('a balance is one round trip', async () => {
  const projectId = newId()
  expect(await cost(() => readBalance(db, { address: clearing, projectId, currency: 'TTD' }))).toBe(
    1,
  )
})

it('a movement is begin, claim, four statements at once, and commit', async () => {
  const shop = await newShop(db)
  const accountId = await newAccount(db, shop, { amountMinor: 1_000n })
  const sessionTokenHash = await newSession(db, shop, accountId)
  const limitUse = { accountId, currency: 'TTD', amountMinor: 10n }
  const lines = moving({ accountId }, clearing, 10n)
  const wanted = {
    ...shop,
    movementId: newId(),
    sessionTokenHash,
    limitUse,
    lines,
    hold: undefined,
  }
  expect(await cost(() => beginMovement({ db, userLimits }, wanted))).toBe(7)
})
