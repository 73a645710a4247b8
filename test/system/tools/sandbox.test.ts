// A local start: its files, its supervision, a second start, foreign stores, a clean stop.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { connect } from 'nats'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runHere } from '../../support/command-line.ts'
import { eventually } from '../../support/eventually.ts'
import { type Mesh, type ProcessTable, runs, startMesh } from '../../support/mesh.ts'
import { ownNats, ownPostgres, type TestServer } from '../../support/servers.ts'
import { detailsOf, type Json, merchant, order, payer, receiver, sharedMesh } from '../harness.ts'
import { cashCodeOf, collectCash } from '../payments/browser.ts'
import { movesBusinessTime } from './business-time.ts'

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
  'console',
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
  await inbox.awaitNotifies(['payment_completed', 'payout_completed'])
  await inbox.calledBack(1)
  return created.id
}

/** The page behind the console's link, by a browser that keeps its cookies. */
async function openLink(link: string): Promise<string> {
  let url = link
  let cookies: string[] = []
  for (;;) {
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie: cookies.join('; ') } })
    cookies = [...cookies, ...answer.headers.getSetCookie().map((one) => one.split(';')[0] ?? '')]
    const next = answer.headers.get('location')
    if (next === null) return await answer.text()
    url = new URL(next, url).href
  }
}

/** Who each service is to PostgreSQL, by the name that its connections carry. */
async function loginsOf(on: Mesh): Promise<Record<string, string[]>> {
  const rows = await on.rows<{ application_name: string; usename: string }>(
    `select distinct application_name, usename from pg_stat_activity
     where application_name like 'payweave %' and datname = current_database()`,
  )
  const byService = Map.groupBy(rows, (row) => row.application_name.replace('payweave ', ''))
  return Object.fromEntries(
    [...byService].map(([service, own]) => [service, own.map(({ usename }) => usename)]),
  )
}

/** Statements by which a service would take on the rights of others. */
function attempts(service: string): string[] {
  const other = service === 'quotes' ? 'payments' : 'quotes'
  return [
    'set session authorization postgres',
    'set role postgres',
    `set session authorization payweave_${other}`,
    `set role payweave_${other}`,
    `select 1 from ${other}.schema_migration`,
    'create role payweave_more',
    'create table own (id int)',
  ]
}

/** The statements that PostgreSQL refuses a login. */
async function refusedBy(connectionString: string, statements: string[]): Promise<string[]> {
  const client = new Client({ connectionString })
  await client.connect()
  const refused: string[] = []
  for (const statement of statements) {
    await client.query(statement).catch(() => refused.push(statement))
  }
  await client.end()
  return refused
}

describe('a local start', () => {
  it('a local start writes its addresses and credentials to sandbox.json', () => {
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

  it('a local start writes the same as shell lines, and lets nobody else read either', async () => {
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

  it('a local start names its processes and their ports in processes.json', () => {
    const processes = mesh.processes()
    expect(Object.keys(processes).toSorted()).toEqual([...ourParts, 'nats', 'postgres'].toSorted())
    for (const { pid, ports } of Object.values(processes)) {
      expect(runs(pid)).toBe(true)
      expect(ports.length).toBeGreaterThan(0)
    }
    expect(processes['gateway']?.ports[0]).toBe(mesh.portBase + 22)
    expect(processes['payments']?.ports[0]).toBe(mesh.portBase + 1)
  })

  it('a local start prints a curl that works when it is pasted', async () => {
    const [curl = ''] = await eventually(
      () => /^curl -sS[\s\S]*?\n\}'$/m.exec(mesh.output()) ?? [],
      (found) => expect(found).toHaveLength(1),
    )
    const { stdout } = await run('bash', ['-c', curl])
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', code: 200 })
    const { id } = (JSON.parse(stdout) as { payment_details: { id: string } }).payment_details
    await merchant(mesh).stateIs(id, 'paid')
  })

  it('a local start prints where its docs and its logs are, of which each part has one', async () => {
    const output = await eventually(
      () => mesh.output(),
      (now) => expect(now).toContain('Ctrl-C stops it all'),
    )
    const docs = /^ {2}docs +(\S+)$/m.exec(output)?.[1] ?? ''
    const page = await fetch(docs)
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')])
    const link = /^ {2}console +(\S+)$/m.exec(output)?.[1] ?? ''
    const choice = await openLink(link)
    expect(choice).toContain('Ama Mensah')
    const logs = /^ {2}logs +(.+), one file for each part$/m.exec(output)?.[1] ?? ''
    for (const name of Object.keys(mesh.processes())) {
      expect(fs.statSync(path.join(logs, `${name}.log`)).mode & 0o777, name).toBe(0o600)
    }
  })

  it('a local start has services that log in to PostgreSQL as themselves, and can be nobody else', async () => {
    const owners = ourParts.filter((name) => name !== 'gateway')
    const logins = Object.fromEntries(owners.map((name) => [name, [`payweave_${name}`]]))
    expect(await loginsOf(mesh)).toEqual(logins)
    for (const name of owners) {
      const file = path.join(mesh.dataDir, 'secrets', name, 'database-password')
      expect(fs.statSync(file).mode & 0o777, name).toBe(0o600)
      const url = new URL(mesh.databaseUrl())
      url.username = `payweave_${name}`
      url.password = fs.readFileSync(file, 'utf8').trim()
      expect(await refusedBy(url.href, attempts(name)), name).toEqual(attempts(name))
    }
  })

  it('a local start has processes that log in to NATS each by its own name and rights', async () => {
    for (const name of ['payments', 'institution', 'delivery']) {
      const file = path.join(mesh.dataDir, 'secrets', name, 'nats-password')
      expect(fs.statSync(file).mode & 0o777, name).toBe(0o600)
      const pass = fs.readFileSync(file, 'utf8').trim()
      const servers = `127.0.0.1:${mesh.portBase + 21}`
      const inboxPrefix = `_INBOX_${name}`
      const connection = await connect({ servers, user: name, pass, inboxPrefix })
      try {
        const { streams } = await connection.jetstreamManager({ checkAPI: false, timeout: 5_000 })
        await expect(streams.purge('PAYWEAVE'), name).rejects.toThrow(/permissions/i)
      } finally {
        await connection.close()
      }
    }
    await expect(connect({ servers: `127.0.0.1:${mesh.portBase + 21}` })).rejects.toThrow(
      /authorization/i,
    )
  })

  it('a local start runs beside another one, whose keys and payments it does not know', async () => {
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
    [['console']],
    [['institution', 'quotes', 'billing']],
  ])('a local start starts %s again when killed, and the rest stays up', async (killed) => {
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

  it('a local start works as before after all of that', async () => {
    const id = await paysOnce(mesh)
    expect(detailsOf(await merchant(mesh).status(id))['status']).toBe('paid')
  })

  it('a local start has a test clock: what is due when it moves expires and is pushed, and leases, tokens and signatures stay in real time', async () => {
    await movesBusinessTime(mesh)
    await paysOnce(mesh)
    const { out } = await runHere(mesh.dataDir, 'sandbox', 'clock', 'advance', '0s')
    expect(out).toContain('2d 12h ahead')
  })

  // A start alone may take most of the default time.
  it('a local start leaves no process when it stops, and continues with its data', {
    timeout: 180_000,
  }, async () => {
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

  it('a local start is empty after a reset, which it refuses while it runs, and keeps its keys', {
    timeout: 180_000,
  }, async () => {
    const { sandbox, dataDir } = mesh
    const id = await paysOnce(mesh)
    const reset = (...words: string[]) => runHere(dataDir, 'sandbox', 'reset', ...words)
    const early = await reset('--yes')
    expect([early.code, early.err]).toEqual([1, expect.stringContaining('already running')])

    await mesh.stop()
    expect((await reset()).code).toBe(2)
    expect(await reset('--yes')).toMatchObject({ code: 0, err: '' })
    expect(fs.existsSync(path.join(dataDir, 'postgres', 'cluster'))).toBe(false)
    const again = await reset('--yes')
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('nothing to reset')])
    await mesh.start()

    expect(mesh.sandbox).toEqual(sandbox)
    const { status, body } = await merchant(mesh).status(id)
    expect([status, body['errorCode']]).toEqual([404, 'PAYMENT_NOT_FOUND'])
    await paysOnce(mesh)
    const { out } = await runHere(dataDir, 'sandbox', 'clock', 'show')
    expect(out).toContain('real time')
  })
})

describe('a local start on stores of somebody else', () => {
  let database: TestServer
  let broker: TestServer
  beforeAll(async () => {
    ;[database, broker] = await Promise.all([ownPostgres(), ownNats()])
  })
  afterAll(() => Promise.all([database.remove(), broker.remove()]))

  it('a local start on stores of somebody else uses them and starts none of its own', {
    timeout: 180_000,
  }, async () => {
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
      // Roles of its own, for others may use the server too.
      for (const [service, logins] of Object.entries(await loginsOf(guest))) {
        expect(logins).toEqual([expect.stringMatching(`^payweave_${service}_[0-9a-f]{8}$`)])
      }
    } finally {
      await guest.remove()
    }
    expect(runs(database.pid())).toBe(true)
    expect(runs(broker.pid())).toBe(true)
  })
})
