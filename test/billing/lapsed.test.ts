// Tests a payment whose hold expired before its outcome was known to be paid, on the real ledger.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { LedgerService } from '#gen/payweave/accounts/v1/ledger_pb.js'
import { migrationFolders } from '#platform/db/schemas.ts'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { type RpcServer, serveRpc } from '#platform/rpc/server/server.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import { ledgerService } from '../../services/accounts/ledger/api/ledger.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import { postTransfer, readBalance } from '../../services/accounts/ledger/operations/ledger.ts'
import type { BillMoney } from '../../services/billing/domain/bill.ts'
import { isPastExpiry, type Ledger, ledgerOver } from '../../services/billing/ports/ledger.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'

const currency = 'USD'
const projectId = newId()
const float = { floatProjectId: projectId }
const clock = createTestClock()
const dir = mkdtempSync(path.join(tmpdir(), 'payweave-lapsed-'))
let database: TestDatabase
let db: ReturnType<TestDatabase['open']>
let server: RpcServer
let pool: RpcPool
let ledger: Ledger

beforeAll(async () => {
  writeIdentities(dir, ['accounts', 'billing'])
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open({ testClock: clock })
  const identityOf = (name: string) =>
    openIdentity({ name, dir: path.join(dir, name), log: silentLog })
  server = await serveRpc({
    host: '127.0.0.1',
    port: 0,
    identity: identityOf('accounts'),
    log: silentLog,
    routes: (router) =>
      router.service(LedgerService, ledgerService({ db, writer: batchingLedger(db), checkDb: db })),
  })
  const url = `http://127.0.0.1:${server.port}`
  pool = createRpcPool(url)
  const identity = identityOf('billing')
  ledger = ledgerOver(createRpcClient(LedgerService, { url, audience: 'accounts', identity, pool }))
})
afterAll(async () => {
  await pool.close()
  await server.close()
  await database.drop()
  rmSync(dir, { recursive: true })
})

/** Changes the float. */
async function fund(amountMinor: bigint): Promise<void> {
  const lines = [
    { address: float, currency, amountMinor },
    { address: { internal: 'opening' as const }, currency, amountMinor: -amountMinor },
  ]
  await postTransfer(db, { projectId, transferId: newId(), lines })
}

/** A payment whose hold was made, and has lapsed. */
async function lapsed(amountMinor: bigint): Promise<BillMoney> {
  const transactionId = `bill_${randomUUID()}`
  const money = { billPaymentId: newId(), projectId, amountMinor, currency, transactionId }
  const createTime = new Date(Date.now() + clock.offsetMs)
  expect(await ledger.hold({ ...money, createTime })).toBe(true)
  clock.advance(181 * 86_400_000)
  return money
}

const posted = async () => (await readBalance(db, { address: float, currency })).postedMinor

it('the money of a bill whose hold lapsed is paid once, from what the float has by then', async () => {
  await fund(2_000n)
  const money = await lapsed(1_500n)
  await ledger.post(money)
  await ledger.post(money)
  expect(await posted()).toBe(500n)
})

it('the money of a bill whose hold lapsed is paid once the float has enough', async () => {
  const money = await lapsed(400n)
  // As the ledger's own worker does with what has lapsed.
  await ledger.release(money)
  await fund(-300n)
  await expect(ledger.post(money)).rejects.toMatchObject({ reason: 'INSUFFICIENT_FUNDS' })
  await fund(300n)
  await ledger.post(money)
  expect(await posted()).toBe(100n)
})

it('the money of a bill whose hold lapsed stays where it is when the payment failed', async () => {
  const money = await lapsed(100n)
  await ledger.release(money)
  expect(await posted()).toBe(100n)
})

it('a hold that was never made is refused as past its expiry, and one that was made is not', async () => {
  await fund(100n)
  const made = await lapsed(100n)
  const createTime = new Date(Date.now() + clock.offsetMs - 181 * 86_400_000)
  expect(await ledger.hold({ ...made, createTime })).toBe(true)
  await ledger.release(made)
  const never = { ...made, billPaymentId: newId(), createTime }
  const error = await ledger.hold(never).catch((error: unknown) => error)
  expect(isPastExpiry(error)).toBe(true)
})
