// A local start: its files, its supervision, a second start, foreign stores, a clean stop.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Mesh, type ProcessTable, runs, startMesh } from '../support/mesh.ts'
import { ownNats, ownPostgres, type TestServer } from '../support/servers.ts'
import { cashCodeOf, collectCash } from './browser.ts'
import {
  detailsOf,
  eventually,
  type Json,
  merchant,
  order,
  payer,
  receiver,
  sharedMesh,
} from './world.ts'

const run = promisify(execFile)
const ourParts = [
  'gateway',
  'payments',
  'accounts',
  'institution',
  'quotes',
  'billing',
  'delivery',
  'simulator',
]
const key = expect.stringMatching(/^pwk_test_[0-9A-Za-z]{23}$/)
const token = expect.stringMatching(/^[0-9A-Za-z]{32}$/)

let mesh: Mesh

beforeAll(async () => {
  mesh = await startMesh({ name: 'sandbox' })
})
afterAll(() => mesh.remove())

/** A payment that is paid and whose pushes come in: the whole way through every part. */
async function paysOnce(on: Mesh): Promise<string> {
  const inbox = receiver(on)
  const shop = merchant(on)
  const created = await shop.create(order({ payers: [payer(1)], urls: inbox.urls }))
  await shop.stateIs(created.id, 'paid')
  await inbox.told(['payment_completed', 'payout_completed'])
  await inbox.calledBack(1)
  return created.id
}

describe('a local start', () => {
  it('writes its addresses and credentials to sandbox.json', () => {
    const local = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(mesh.sandbox).toEqual({
      base_url: `http://127.0.0.1:${mesh.portBase + 22}`,
      grpc: {
        payments: `http://127.0.0.1:${mesh.portBase + 1}`,
        accounts: local,
        institution: local,
        quotes: local,
        billing: local,
        delivery: local,
      },
      grpc_token: expect.stringMatching(/^\S{32,}$/),
      simulator_url: local,
      projects: {
        demo: {
          subscription_key: key,
          api_key: token,
          authorisation_token: expect.stringMatching(/^\S{10,40}$/),
          account_access: true,
        },
        payments_only: { subscription_key: key, api_key: token, account_access: false },
        other: {
          subscription_key: key,
          api_key: token,
          authorisation_token: expect.stringMatching(/^\S{10,40}$/),
          account_access: true,
        },
        ip_restricted: { subscription_key: key, api_key: token, account_access: true },
      },
      institutions: {
        'Demo Wallet': {
          key_id: expect.stringMatching(/^[0-9a-f]{8}$/),
          shared_key: expect.any(String),
          signing_secret: expect.stringMatching(/^.{16,}$/),
          permitted: true,
        },
        'Restricted Bank': { permitted: false },
      },
      production_key: expect.stringMatching(/^pwk_live_[0-9A-Za-z]{23}$/),
    })
    const { shared_key } = mesh.sandbox.institutions['Demo Wallet']
    expect(Buffer.from(shared_key, 'base64')).toHaveLength(32)
  })

  it('writes the same as shell lines, and lets nobody else read either', async () => {
    for (const name of ['sandbox.json', 'sandbox.env']) {
      const { mode } = fs.statSync(path.join(mesh.dataDir, name))
      expect((mode & 0o777).toString(8)).toBe('600')
    }
    const file = path.join(mesh.dataDir, 'sandbox.env')
    const { stdout } = await run('sh', ['-c', `set -a; . "${file}"; env`])
    const shell = stdout.split('\n').map((line) => line.slice(line.indexOf('=') + 1))
    const { projects, base_url, simulator_url, grpc_token, production_key } = mesh.sandbox
    const values = [base_url, simulator_url, grpc_token, production_key]
    for (const project of Object.values(projects)) {
      values.push(project.subscription_key, project.api_key)
    }
    expect(shell).toEqual(expect.arrayContaining(values))
  })

  it('names its processes and their ports in processes.json', () => {
    const processes = mesh.processes()
    expect(Object.keys(processes).toSorted()).toEqual([...ourParts, 'nats', 'postgres'].toSorted())
    for (const { pid, ports } of Object.values(processes)) {
      expect(runs(pid)).toBe(true)
      expect(ports.length).toBeGreaterThan(0)
    }
    expect(processes['gateway']?.ports[0]).toBe(mesh.portBase + 22)
    expect(processes['payments']?.ports[0]).toBe(mesh.portBase + 1)
  })

  it('prints a curl that works when it is pasted', async () => {
    const [curl = ''] = await eventually(
      () => /^curl -sS[\s\S]*?\n\}'$/m.exec(mesh.output()) ?? [],
      (found) => expect(found).toHaveLength(1),
    )
    const { stdout } = await run('bash', ['-c', curl])
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', code: 200 })
    const { id } = (JSON.parse(stdout) as { payment_details: { id: string } }).payment_details
    await merchant(mesh).stateIs(id, 'paid')
  })

  it('runs beside another one, whose keys and payments it does not know', async () => {
    const [here, there] = [merchant(mesh), merchant(sharedMesh())]
    const stranger = await here.call('GET', '/payments/status', {
      query: { api_key: there.apiKey, payment_details_id: 'unknown' },
      headers: { 'PW-subscription-key': there.subscriptionKey },
    })
    expect(stranger.body['errorCode']).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    const { id } = await there.create(order())
    expect((await here.status(id)).body['errorCode']).toBe('PAYMENT_NOT_FOUND')
    await paysOnce(mesh)
  })

  it.each([
    [['gateway']],
    [['payments']],
    [['accounts']],
    [['delivery']],
    [['simulator']],
    [['institution', 'quotes', 'billing']],
  ])('starts %s again when killed, and the rest stays up', async (killed) => {
    const before = mesh.processes()
    for (const name of killed) process.kill(mesh.pid(name), 'SIGKILL')
    await eventually(
      () => mesh.processes(),
      (now) => {
        for (const name of killed) {
          expect(now[name]?.pid).toBeGreaterThan(0)
          expect(now[name]?.pid).not.toBe(before[name]?.pid)
        }
      },
      30_000,
    )
    await mesh.ready()
    const others = (table: ProcessTable) =>
      Object.entries(table).filter(([name]) => !killed.includes(name))
    expect(Object.fromEntries(others(mesh.processes()))).toEqual(Object.fromEntries(others(before)))
  })

  it('works as before after all of that', async () => {
    const id = await paysOnce(mesh)
    expect(detailsOf(await merchant(mesh).status(id))['status']).toBe('paid')
  })

  // A start alone may take most of the usual time.
  it('stops without a trace and carries on with its data', { timeout: 180_000 }, async () => {
    const shop = merchant(mesh)
    const { sandbox } = mesh
    const byAgent = payer(20, { payment_channel: 'agent', payment_method: 'cash' })
    const transaction = order({ payers: [byAgent] })
    const open = await shop.create(transaction)
    const code = await cashCodeOf(open.urls[0] ?? '')
    const paidId = await paysOnce(mesh)
    const paid = await shop.status(paidId)

    await mesh.stop()
    await mesh.start()

    expect(mesh.sandbox).toEqual(sandbox)
    expect(detailsOf(await shop.status(paidId))).toEqual(detailsOf(paid))
    const again = await shop.create(transaction)
    expect(detailsOf(again.answer)).toEqual(detailsOf(open.answer))
    await collectCash(mesh, code)
    await shop.stateIs(open.id, 'paid')
    await paysOnce(mesh)
  })
})

describe('a local start on stores of somebody else', () => {
  let database: TestServer
  let broker: TestServer
  beforeAll(async () => {
    ;[database, broker] = await Promise.all([ownPostgres(), ownNats()])
  })
  afterAll(() => Promise.all([database.remove(), broker.remove()]))

  it('uses them and starts none of its own', { timeout: 180_000 }, async () => {
    const guest = await startMesh({
      name: 'guest',
      settings: { DATABASE_URL: database.url, NATS_URL: broker.url },
    })
    try {
      expect(Object.keys(guest.processes()).toSorted()).toEqual(ourParts.toSorted())
      const id = await paysOnce(guest)
      const rows = await guest.rows<Json>(
        'select state from payments.payment where payment_id = $1',
        [id],
      )
      expect(rows).toEqual([{ state: 'paid' }])
    } finally {
      await guest.remove()
    }
    expect(runs(database.pid())).toBe(true)
    expect(runs(broker.pid())).toBe(true)
  })
})
