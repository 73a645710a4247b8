// The drill of docs/operate/backup.md: a live database is copied under load, lost, and brought back, by the page's own commands.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { Client } from 'pg'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { type Database, openDatabase, sql } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { insertEvent, startOutbox } from '#platform/events/outbox.ts'
import { type PostgresServer, startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { blocksOf } from '../docs/pages.ts'
import { moving, newCustomer } from '../ledger/harness.ts'
import { type Ran, runHere } from '../support/command-line.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePorts, keepStream, ownNats, temporaryFolder } from '../support/servers.ts'

const subject = 'pw.accounts.drill'
const projectId = randomId()
const folder = temporaryFolder('backup')
const at = (name: string) => path.join(folder, name)
const places = {
  DATA: at('old/cluster'),
  ARCHIVE: at('archive'),
  BACKUP: at('backup'),
  NEW: at('new/cluster'),
  POINT: '',
}
const closers: (() => Promise<unknown>)[] = []

/** The page's blocks of one language that are to be run here, in their order. */
function blocks(language: 'conf' | 'sql' | 'sh'): string[] {
  const own = blocksOf('docs/operate/backup.md').filter(({ note }) => !note.startsWith('not run'))
  return own.filter((block) => block.language === language).map(({ code }) => code)
}

function settingsOf(conf: string): Record<string, string> {
  const filled = conf.replaceAll(/\$([A-Z]+)/g, (_, name: keyof typeof places) => places[name])
  const lines = filled.trim().split('\n')
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = '', value = ''] = /^(\w+) = '?(.*?)'?$/.exec(line) ?? []
      return [name, value]
    }),
  )
}

function becomesTrue(look: () => boolean | Promise<boolean>): Promise<void> {
  return eventually(async () => {
    if (!(await look())) throw new Error('it did not become true')
  }, 40_000)
}

const shell = (script: string) =>
  execFileSync('sh', ['-eu', '-c', script], { env: { ...process.env, ...places } })

async function start(name: 'old' | 'new' | 'made', settings: Record<string, string> = {}) {
  const [port = 0] = await freePorts(1)
  const small = { shared_buffers: '64MB' }
  const server = await startPostgres({
    dataDir: at(name),
    port,
    log: () => {},
    settings: { ...small, ...settings },
  })
  closers.push(() => server.stop())
  return server
}

async function session(server: PostgresServer): Promise<Client> {
  const client = new Client({ connectionString: server.adminUrl })
  // The drill kills the server under it.
  client.on('error', () => undefined)
  await client.connect()
  return client
}

const open = (server: PostgresServer, service: string) =>
  openDatabase({ url: server.adminUrl, service, log: silentLog })

/** Transfers between two customers, each with an event in its transaction, until the caller stops them. */
function startLoad(db: Database, customers: [string, string]) {
  const acknowledged: { transferId: string; eventId: string }[] = []
  const ending = new AbortController()
  const [one, other] = customers
  const write = async () => {
    while (!ending.signal.aborted) {
      const ids = { transferId: newId(), eventId: randomId() }
      const lines = moving({ accountId: one }, { accountId: other }, 1n)
      await db.transaction(async (tx) => {
        await postTransfer(tx, { projectId, transferId: ids.transferId, lines })
        await insertEvent(tx, { eventId: ids.eventId, subject, projectId, payload: Buffer.of(1) })
      })
      acknowledged.push(ids)
    }
  }
  const writers = [write(), write()]
  return {
    acknowledged,
    more: (count: number) => {
      const target = acknowledged.length + count
      return becomesTrue(() => acknowledged.length > target)
    },
    end: async () => {
      ending.abort()
      await Promise.all(writers)
    },
  }
}

/** The outbox of accounts and a consumer with the inbox of delivery, over a broker that remembers nothing. */
async function startEvents(accounts: Database, delivery: Database) {
  const broker = await ownNats()
  const stream = await keepStream(broker.url, { drill: [subject] })
  const nats = connectNats({ url: broker.url, name: 'drill', log: silentLog })
  const seen = createRouterTransport((router) => inboxRoutes(router, delivery))
  const metrics = new Registry()
  const consumer = startConsumer({
    db: delivery,
    nats,
    durable: 'drill',
    subjects: [subject],
    handle: (tx, events) =>
      tx.run(noteHandled, [events.map(({ eventId }) => eventId)]).then(() => undefined),
    log: silentLog,
    metrics,
  })
  const outbox = startOutbox({
    db: accounts,
    nats,
    subjects: { [subject]: { consumers: { drill: createClient(InboxService, seen) } } },
    log: silentLog,
    metrics: new Registry(),
  })
  return {
    outbox,
    consumer,
    close: async () => {
      await Promise.all([outbox.close(), consumer.close()])
      await Promise.all([nats.close(), stream.close()])
      await broker.remove()
    },
  }
}

const noteHandled = sql('drill_handled', 'insert into handled select unnest($1::uuid[])')
const handled = sql('drill_read_handled', 'select event_id::text from handled')
const transfers = sql('drill_transfers', 'select transfer_id::text as id from transfer')
const events = sql('drill_events', 'select event_id::text as id from outbox where subject = $1')
const unconfirmed = sql(
  'drill_open',
  `select count(*)::integer as n from outbox where subject = $1 and confirmed_at is null`,
)

async function idsOf(db: Database, statement: typeof transfers, values: unknown[] = []) {
  return new Set((await db.rows<{ id: string }>(statement, values)).map(({ id }) => id))
}

/** What `backup create` copied, the transfers acknowledged by then, and how the command ended. */
const made = at('made-backup')
let creation: Ran
let beforeCreation: string[]
let before: { transferId: string; eventId: string }[]
let after: { transferId: string; eventId: string }[]
let accounts: Database
let delivery: Database

beforeAll(async () => {
  for (const name of ['archive', 'backup']) fs.mkdirSync(at(name), { mode: 0o777 })
  fs.chmodSync(at('archive'), 0o777)
  const [archiving = '', recovery = ''] = blocks('conf')
  const [beginCopy = '', endCopy = '', isRecovering = ''] = blocks('sql')
  const [copy = '', restore = ''] = blocks('sh')

  const old = await start('old', settingsOf(archiving))
  const admin = await session(old)
  for (const service of ['accounts', 'delivery'] as const) {
    const directories = migrationFolders(service)
    await migrate({ adminUrl: old.adminUrl, service, directories, log: silentLog })
  }
  await admin.query(
    'create table delivery.handled (event_id uuid); grant insert, select on delivery.handled to payweave_delivery',
  )
  const live = open(old, 'accounts')
  const liveDelivery = open(old, 'delivery')
  const customers: [string, string] = [
    await newCustomer(live, { projectId, amountMinor: 1_000_000n }),
    await newCustomer(live, { projectId, amountMinor: 0n }),
  ]
  const firstEvents = await startEvents(live, liveDelivery)
  const load = startLoad(live, customers)
  await load.more(20)

  await admin.query(beginCopy)
  shell(copy)
  await load.more(20)
  const label = await admin.query<{ labelfile: string }>(endCopy)
  fs.writeFileSync(path.join(places.BACKUP, 'backup_label'), label.rows[0]?.labelfile ?? '')

  await load.more(50)
  beforeCreation = load.acknowledged.map(({ transferId }) => transferId)
  process.env['DATABASE_URL'] = old.adminUrl
  creation = await runHere(folder, 'backup', 'create', made, '--json')
  // From here on events wait: at the chosen moment some are not delivered.
  await firstEvents.close()
  await load.more(50)
  before = [...load.acknowledged]
  const point = await admin.query<{ now: string }>('select clock_timestamp()::text as now')
  places.POINT = point.rows[0]?.now ?? ''
  const acknowledgedByThen = load.acknowledged.length
  await load.more(50)
  await load.end()
  after = load.acknowledged.slice(acknowledgedByThen)
  const last = await admin.query<{ file: string }>(
    'select pg_walfile_name(pg_switch_wal()) as file',
  )
  await becomesTrue(() => fs.readdirSync(places.ARCHIVE).includes(last.rows[0]?.file ?? ''))
  await Promise.all([live.close(), liveDelivery.close()])
  process.kill(old.pid, 'SIGKILL')
  await old.exited
  await admin.end().catch(() => undefined)

  shell(restore)
  // Here root has run it; elsewhere the user does who runs PostgreSQL.
  const { uid, gid } = fs.statSync(places.NEW)
  for (const file of fs.readdirSync(places.NEW))
    fs.lchownSync(path.join(places.NEW, file), uid, gid)
  fs.copyFileSync(at('old/password'), at('new/password'))
  fs.rmSync(at('old'), { recursive: true })
  const restored = await start('new', settingsOf(recovery))
  const again = await session(restored)
  await becomesTrue(async () => {
    const { rows } = await again.query<{ pg_is_in_recovery: boolean }>(isRecovering)
    return rows[0]?.pg_is_in_recovery === false
  })
  await again.end()
  accounts = open(restored, 'accounts')
  delivery = open(restored, 'delivery')
  closers.push(
    () => accounts.close(),
    () => delivery.close(),
  )
}, 120_000)

afterAll(async () => {
  for (const close of closers.toReversed()) await close()
  fs.rmSync(folder, { recursive: true, force: true })
})

describe('a database that was brought back to a moment', () => {
  it('a database that was restored to a moment has every transfer and event that was acknowledged before it, and no later ones', async () => {
    const kept = await idsOf(accounts, transfers)
    const published = await idsOf(accounts, events, [subject])
    expect(before.filter(({ transferId }) => !kept.has(transferId))).toEqual([])
    expect(before.filter(({ eventId }) => !published.has(eventId))).toEqual([])
    // Each of the two writers may have committed one transfer by then and reported it later.
    expect(after.filter(({ transferId }) => kept.has(transferId)).length).toBeLessThanOrEqual(2)
    expect(after.length).toBeGreaterThan(20)
  })

  it('a database that was restored to a moment has a sound ledger', async () => {
    const { findings, transfersChecked } = await checkLedger(accounts)
    expect(findings).toEqual([])
    expect(transfersChecked).toBeGreaterThanOrEqual(BigInt(before.length))
  })

  it('a database that was restored to a moment delivers every event that was not delivered, none twice and none lost', async () => {
    const waiting = await accounts.row<{ n: number }>(unconfirmed, [subject])
    expect(waiting?.n).toBeGreaterThan(50)
    const again = await startEvents(accounts, delivery)
    try {
      again.outbox.notify()
      await eventually(async () => {
        expect(await accounts.row(unconfirmed, [subject])).toEqual({ n: 0 })
      }, 40_000)
      const done = await delivery.rows<{ event_id: string }>(handled, [])
      const published = await idsOf(accounts, events, [subject])
      expect(done.map(({ event_id }) => event_id).toSorted()).toEqual([...published].toSorted())
    } finally {
      await again.close()
    }
  }, 60_000)
})

describe('a backup by the command line', () => {
  const target = path.join(at('made'), 'cluster')
  const restore = () => runHere(folder, 'restore', 'files', made, '--out', target)

  it('backup create copies a running database, with the log that its files need and nothing of the server', () => {
    expect(creation).toMatchObject({ code: 0, err: '' })
    const { files, bytes, keys } = JSON.parse(creation.out) as Record<string, unknown>
    expect([Number(files) > 100, Number(bytes) > 10_000_000, keys]).toEqual([true, true, []])
    expect(fs.readdirSync(made).toSorted()).toEqual(['base', 'manifest.json', 'wal'])
    expect(fs.readdirSync(path.join(made, 'base', 'pg_wal'))).toEqual([])
    expect(fs.readdirSync(path.join(made, 'base'))).not.toContain('postmaster.pid')
  })

  it('backup verify finds no difference, and refuses a folder that is no backup', async () => {
    const found = await runHere(folder, 'backup', 'verify', made)
    expect(found).toMatchObject({ code: 0, out: expect.stringContaining(' MiB  PostgreSQL ') })
    const other = await runHere(folder, 'backup', 'verify', places.BACKUP)
    expect(other).toMatchObject({ code: 2, err: expect.stringContaining('it has no manifest') })
  })

  it('a damaged backup is named by verify and by restore, which leaves an empty folder', async () => {
    const file = path.join(made, 'base', 'PG_VERSION')
    const version = fs.readFileSync(file)
    fs.writeFileSync(file, '7\n')
    const named = { code: 1, err: expect.stringContaining('damaged: base/PG_VERSION\n') }
    expect(await runHere(folder, 'backup', 'verify', made)).toMatchObject(named)
    expect(await restore()).toMatchObject(named)
    expect(fs.readdirSync(target)).toEqual([])
    fs.writeFileSync(file, version)
  })

  it('a database that was restored from it has a sound ledger and every transfer acknowledged before the backup', async () => {
    expect(await restore()).toMatchObject({ code: 0, err: '' })
    expect(await restore()).toMatchObject({ code: 2, err: expect.stringContaining('not empty') })
    fs.copyFileSync(at('new/password'), at('made/password'))
    const server = await start('made')
    process.env['DATABASE_URL'] = server.adminUrl
    const checked = await runHere(folder, 'restore', 'check', '--newest-within', '1h')
    expect(checked).toMatchObject({ code: 0, out: expect.stringContaining('found 0') })
    const db = open(server, 'accounts')
    const kept = await idsOf(db, transfers)
    expect(beforeCreation.filter((id) => !kept.has(id))).toEqual([])
    await db.close()
    const elsewhere = await runHere(folder, 'backup', 'create', at('never'), '--data', places.NEW)
    expect(elsewhere).toMatchObject({ code: 2, err: expect.stringContaining('is not the data') })
    const other = new URL(server.adminUrl)
    other.pathname = '/template1'
    process.env['DATABASE_URL'] = other.href
    const foreign = await runHere(folder, 'backup', 'create', at('never'))
    expect(foreign).toMatchObject({ code: 1, err: expect.stringContaining('without the schemas') })
    expect(fs.existsSync(at('never'))).toBe(false)
  })
})
