// Rotates every key of a running system while its clients work, and shows that none of them notices.
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runHere } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, startMesh } from '../../support/mesh.ts'
import {
  type ApiResponse,
  createdOf,
  detailsOf,
  type Json,
  merchant,
  order,
  payer,
  payerStatesOf,
  person,
  unique,
} from '../harness.ts'
import { transferClient } from '../money/transfer-client.ts'
import { formOf, open, submitPin } from '../payments/browser.ts'
import { grpcClient } from '../tools/grpc.ts'
import { accountClient, callbackReceiver, newProfile, tokenOf } from './account-client.ts'

let mesh: Mesh
beforeAll(async () => {
  mesh = await startMesh({ name: 'keys' })
})
afterAll(() => mesh.remove())

const files = [
  'accounts/pepper',
  'accounts/seal.key',
  'accounts/session.key',
  'payments/link.key',
  'billing/link.key',
  'gateway/page.key',
]

async function keys(...words: string[]) {
  const { code, out, err } = await runHere(mesh.dataDir, 'keys', ...words, '--json')
  expect([words, code, err]).toEqual([words, 0, expect.any(String)])
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** Ids of a list as its file has them, the current one first. */
function idsOf(rows: Record<string, unknown>[], file: string): string[] {
  const row = rows.find((one) => one['file'] === file) as { keys: { key_id: string }[] } | undefined
  return (row?.keys ?? []).map(({ key_id }) => key_id)
}

function succeeded(answer: ApiResponse, status = 200): ApiResponse {
  expect(answer.status, answer.text).toBe(status)
  return answer
}

const pin = '123456'

/** A payment whose page was opened: what a repeat shows, and how it is paid from that very page. */
async function openedPayment() {
  const shop = merchant(mesh)
  const asked = order({ payers: [payer(20)] })
  const created = await shop.create(asked)
  const [url = ''] = created.urls
  const form = formOf(await open(url))
  return {
    async isTheSame() {
      expect(createdOf(succeeded(await shop.request(asked))).urls).toEqual(created.urls)
      expect((await open(url)).status).toBe(200)
    },
    async pay() {
      expect((await submitPin(() => form, pin)).status).toBe(303)
      await shop.stateIs(created.id, 'paid')
    },
  }
}

/** A session, and its repeat. */
async function openedSession() {
  const client = accountClient(mesh)
  const requestId = randomUUID()
  const body = { lookup_type: 'MOBILE', lookup_value: person(0), institution_name: 'Demo Wallet' }
  const ask = () => client.session(body, requestId)
  const token = tokenOf(await ask())
  return { isTheSame: async () => expect(tokenOf(await ask())).toBe(token) }
}

/** A bill that was paid, and the link of its receipt. */
async function paidBill() {
  const shop = merchant(mesh)
  const answer = await shop.call('POST', '/bill_payments/pay', {
    query: { version: '2026-07-01' },
    headers: { 'Idempotency-Key': unique('key') },
    body: {
      biller_code: 'DEMO_POWER',
      product_code: 'PREPAID',
      amount: '20.00',
      currency: 'USD',
      customer_reference: '12345678',
    },
  })
  const transactionId = String(succeeded(answer, 201).body['transaction_id'])
  const [row] = await mesh.rows<{ project_id: string }>(
    `select project_id from accounts.project where name = 'demo'`,
  )
  const projectId = row?.project_id ?? ''
  const print = async () => {
    const team = grpcClient(mesh)
    const { url } = await team.billing.printReceipt({ projectId, transactionId })
    team.close()
    return url
  }
  const url = await print()
  return {
    async isTheSame() {
      expect(await print()).toBe(url)
      expect((await fetch(url)).status).toBe(200)
    },
  }
}

/** A merchant that was issued its own key before. */
async function ownBusiness() {
  const made = await accountClient(mesh).business({
    business_name: unique('Shop'),
    first_name: 'Efua',
    last_name: 'Sutherland',
    email: 'efua@example.com',
    mobile_number: '+12025550177',
  })
  const api_key = String(succeeded(made).body['api_key'])
  const shop = merchant(mesh)
  return {
    async sells() {
      const body = { api_key, transaction_request: order() }
      succeeded(await shop.call('POST', '/payments/request', { body }))
    },
  }
}

/** What clients do all the time: each call must succeed. */
const habits: Record<string, () => Promise<void>> = {
  async payment() {
    const shop = merchant(mesh)
    const asked = order({ payers: [payer(1, { amount: '60.00' }), payer(20, { amount: '40.00' })] })
    const created = await shop.create(asked)
    expect(payerStatesOf(succeeded(await shop.status(created.id)))).toHaveLength(2)
    expect(createdOf(succeeded(await shop.request(asked))).urls).toEqual(created.urls)
    expect(detailsOf(await shop.cancel(created.id))['id'] ?? created.id).toBe(created.id)
  },
  async page() {
    const payment = await openedPayment()
    await payment.pay()
  },
  async session() {
    const session = await openedSession()
    await session.isTheSame()
  },
  async transfer() {
    const client = transferClient(mesh)
    const body: Json = await client.order(11, 2, { amount: '0.01' })
    const first = succeeded(await client.post(body))
    const again = succeeded(await client.post(body))
    expect(again.body['institution_receipt_id']).toBe(first.body['institution_receipt_id'])
  },
  async onboarding() {
    const receiver = callbackReceiver(mesh)
    succeeded(await accountClient(mesh).personal(newProfile(receiver.asked)))
    expect((await receiver.proved())['account']).toMatchObject({ onboarding_status: 'completed' })
  },
  async bill() {
    const bill = await paidBill()
    await bill.isTheSame()
  },
}

/** Runs every habit again and again until it is stopped; answers how often each was done. */
function startClients() {
  const over = new AbortController()
  const done: Record<string, number> = {}
  const loops = Object.entries(habits).map(async ([name, habit]) => {
    for (done[name] = 0; !over.signal.aborted; done[name] += 1) await habit()
  })
  const failed = Promise.all(loops)
  // Looked at in the end; meanwhile one that fails is not to end the process.
  failed.catch(() => undefined)
  return {
    /** Until each habit was done once more, or one has failed. */
    async round() {
      const before = { ...done }
      const isDone = (name: string) => (done[name] ?? 0) > (before[name] ?? 0)
      const all = eventually(
        () => Object.keys(habits).filter((name) => !isDone(name)),
        (missing) => expect(missing).toEqual([]),
        60_000,
      )
      await Promise.race([failed, all])
    },
    async stop() {
      over.abort()
      await failed
      return done
    },
  }
}

it('every key rotates twice while clients work, and the first ones are retired', {
  timeout: 300_000,
}, async () => {
  const [payment, later, session, bill, business] = await Promise.all([
    openedPayment(),
    openedPayment(),
    openedSession(),
    paidBill(),
    ownBusiness(),
  ])
  const before = await keys('status')
  const clients = startClients()
  await clients.round()
  for (const rotation of [1, 2]) {
    await keys('rotate', 'all')
    await clients.round()
    const sealed = await keys('reseal')
    expect(sealed.at(-1)).toMatchObject({ step: 'end', left: 0, unopened: [] })
    expect(Number(sealed.at(-1)?.['sealed']), `rotation ${rotation}`).toBeGreaterThan(0)
    await Promise.all([
      payment.isTheSame(),
      session.isTheSame(),
      bill.isTheSame(),
      business.sells(),
    ])
    await clients.round()
  }
  const after = await keys('status')
  for (const file of files) expect(idsOf(after, file).slice(2)).toEqual(idsOf(before, file))

  const [, second = '', first = ''] = idsOf(after, 'accounts/seal.key')
  await keys('retire', 'seal.key', first)
  await keys('retire', 'seal.key', second)
  const [, , pepper = ''] = idsOf(after, 'accounts/pepper')
  const refused = await runHere(mesh.dataDir, 'keys', 'retire', 'pepper', pepper)
  // The key of the other environment is in nobody's use.
  expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('subscription key')])
  await payment.pay()
  await clients.round()
  const done = await clients.stop()
  for (const times of Object.values(done)) expect(times).toBeGreaterThan(4)

  await mesh.stop()
  await mesh.start()
  await Promise.all([later.isTheSame(), session.isTheSame(), bill.isTheSame(), business.sells()])
  const read = (file: string) => fs.readFileSync(path.join(mesh.dataDir, file), 'utf8')
  const logs = fs
    .readdirSync(path.join(mesh.dataDir, 'logs'))
    .map((file) => read(path.join('logs', file)))
  const secret = files.flatMap(
    (file) => read(path.join('secrets', file)).match(/[0-9a-f]{64}/g) ?? [],
  )
  expect(secret.length).toBeGreaterThan(files.length)
  for (const key of secret) expect(logs.filter((log) => log.includes(key))).toEqual([])
  const steps = await mesh.rows<{ action: string; count: string }>(
    `select action, count(*)::int as count from accounts.access_audit
     where action in ('add_key', 'use_key', 'reseal', 'retire_key') group by action order by action`,
  )
  expect(steps).toEqual([
    { action: 'add_key', count: 12 },
    { action: 'reseal', count: 2 },
    { action: 'retire_key', count: 2 },
    { action: 'use_key', count: 12 },
  ])
})
