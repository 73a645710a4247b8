// A payment over real RPCs: the deadline that it hands on, and a back end to which nothing connects.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { BillerService, BillState } from '#gen/payweave/backend/v1/billers_pb.js'
import { BillingService, BillPaymentState } from '#gen/payweave/billing/v1/billing_pb.js'
import { openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { currentContext } from '#platform/rpc/context.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { billingService } from '../../services/billing/api/billing.ts'
import { billersOver } from '../../services/billing/ports/backend.ts'
import { silentLog } from '../support/database.ts'
import { freePorts } from '../support/servers.ts'
import { type Harness, order, startHarness } from './harness.ts'

const dir = mkdtempSync(path.join(tmpdir(), 'payweave-billing-'))
writeIdentities(dir, ['gateway', 'billing', 'simulator'])
const identityOf = (name: string) =>
  openIdentity({ name, dir: path.join(dir, name), log: silentLog })
const host = '127.0.0.1'
const closers: Array<() => Promise<unknown>> = []
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})
afterAll(async () => {
  await harness.stop()
  rmSync(dir, { recursive: true })
})

function clientOf<S extends Parameters<typeof createRpcClient>[0]>(
  service: S,
  { port, audience, name }: { port: number; audience: string; name: string },
) {
  const url = `http://${host}:${port}`
  const pool = createRpcPool(url)
  closers.push(() => pool.close())
  return createRpcClient(service, { url, audience, identity: identityOf(name), pool })
}

/** Serves billing, and calls it as the gateway does. */
async function startService() {
  const server = await serveRpc({
    host,
    port: 0,
    identity: identityOf('billing'),
    log: silentLog,
    routes: (router) =>
      router.service(
        BillingService,
        billingService(harness.billing, { publicBaseUrl: 'http://127.0.0.1', isSandbox: false }),
      ),
  })
  closers.push(() => server.close())
  const { port } = server
  const client = clientOf(BillingService, { port, audience: 'billing', name: 'gateway' })
  const { amountMinor, currency, billerCode, productCode, customerReference } = order()
  return (idempotencyKey: string, timeoutMs: number) =>
    client.payBill(
      {
        projectId: harness.projectId,
        idempotencyKey,
        fingerprint: Buffer.alloc(32, 1),
        billerCode,
        productCode,
        amount: { currency, minorUnits: amountMinor },
        customerReference,
      },
      { timeoutMs },
    )
}

it('ledger and biller get the remaining time of the call, less a second for the outcome', async () => {
  const pay = await startService()
  const deadlines: (number | undefined)[] = []
  const note = async () => void deadlines.push(currentContext()?.deadline)
  harness.ledger.before = async (call) => {
    if (call === 'hold') await note()
  }
  harness.billers.before = note
  const sentMs = Date.now()
  await pay(randomUUID(), 40_000)
  const arrivedMs = Date.now()
  expect(deadlines).toHaveLength(2)
  for (const deadline of deadlines) {
    expect(deadline).toBeGreaterThanOrEqual(sentMs + 38_999)
    expect(deadline).toBeLessThanOrEqual(arrivedMs + 39_000)
  }
  harness.billers.before = async () => {}
})

it('a back end to which nothing connects frees the key, and once it is there the key pays', async () => {
  const pay = await startService()
  const [port = 0] = await freePorts(1)
  const backend = clientOf(BillerService, { port, audience: 'simulator', name: 'billing' })
  const before = harness.billers.pay
  harness.billers.pay = billersOver(backend, 1_000).pay
  closers.push(async () => {
    harness.billers.pay = before
  })
  const key = randomUUID()
  await expect(pay(key, 20_000)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  expect((await harness.rows()).filter((row) => row.key === key)).toEqual([])
  const executed: string[] = []
  const server = await serveRpc({
    host,
    port,
    identity: identityOf('simulator'),
    log: silentLog,
    routes: (router) =>
      router.service(BillerService, {
        payBill({ billPaymentId }) {
          executed.push(billPaymentId)
          return { outcome: { state: BillState.PAID, providerReference: 'p' } }
        },
      }),
  })
  closers.push(() => server.close())
  const { payment, replayed } = await pay(key, 20_000)
  expect([payment?.state, replayed]).toEqual([BillPaymentState.SUCCESS, false])
  const rows = (await harness.rows()).filter((row) => row.key === key)
  expect(rows.map(({ id }) => id)).toEqual(executed)
})
