// A ledger on a PostgreSQL of its own and its loads: our posts, and pgbench updating as many rows.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { newId } from '#core/identity/id.ts'
import { type Database, openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { makeDatabase } from '../../deploy/local/postgres/database.ts'
import { startPostgres } from '../../deploy/local/postgres/postgres.ts'
import {
  type Address,
  openCustomerLedger,
  postTransfer,
  readBalance,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { startRollUp } from '../../services/accounts/ledger/workers/workers.ts'
import { emptyFolder } from './systems.ts'
import { pgbench } from './yardsticks/pgbench.ts'

/** What is posted: between two customers, or from a customer to one internal account for all. */
export type Load = 'distinct' | 'hot'

/** A ledger with customers who have money. */
export type BenchLedger = {
  /** Transfers per second of two lines each, acknowledged by us. */
  transfersPerSecond(load: Load): Promise<number>
  /** Transactions per second that update two balances each; undefined without pgbench. */
  updatesPerSecond(load: Load): Promise<number | undefined>
  stop(): Promise<void>
}

const port = 17_220
const customers = 5_000
const openingMinor = 1_000_000_000n
const writers = 64
const warmUpMs = 1_500
const measuredMs = 6_000
const currency = 'TTD'
const feeIncome: Address = { internal: 'fee_income' }

/** Starts PostgreSQL as a local start does, on an empty folder, with the tables of accounts. */
export async function startBenchLedger(): Promise<BenchLedger> {
  const folder = emptyFolder()
  const log = createLogger({ part: 'bench', level: 'warn' })
  const postgres = await startPostgres({
    dataDir: path.join(folder, 'postgres'),
    port,
    log: () => {},
  })
  const url = await makeDatabase(postgres.adminUrl, 'bench')
  const directories = migrationFolders('accounts')
  await migrate({ adminUrl: url, service: 'accounts', directories, log })
  const db = openDatabase({ url, service: 'accounts', log })
  const checkDb = openDatabase({ url, service: 'accounts', log, readsWholeTables: true })
  const folding = startRollUp(db, log)
  const projectId = newId()
  const accounts = await openAccounts(db, projectId)
  await prepareYardstick(url)
  return {
    transfersPerSecond: (load) => post({ db, checkDb }, projectId, accounts, load),
    updatesPerSecond: (load) =>
      pgbench(url, 'accounts', Math.round(measuredMs / 1_000), [script(load)]),
    async stop() {
      await folding.close()
      await Promise.all([db.close(), checkDb.close()])
      await postgres.stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openAccounts(db: Database, projectId: string): Promise<string[]> {
  const accounts = Array.from({ length: customers }, () => newId())
  const size = 50
  for (let start = 0; start < accounts.length; start += size) {
    const some = accounts.slice(start, start + size)
    await Promise.all(some.map((accountId) => openCustomerLedger(db, { accountId, currency })))
    const lines = some.map((accountId) => ({
      address: { accountId },
      currency,
      amountMinor: openingMinor,
    }))
    const opening = { address: { internal: 'opening' as const }, currency }
    await postTransfer(db, {
      projectId,
      transferId: newId(),
      lines: [...lines, { ...opening, amountMinor: -openingMinor * BigInt(some.length) }],
    })
  }
  return accounts
}

/** As many balances, in the simplest table that can hold them, and fresh statistics for both. */
async function prepareYardstick(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `create table accounts.bench_balance (id integer primary key, minor bigint not null)
         with (fillfactor = 70)`,
    )
    await client.query(
      `insert into accounts.bench_balance select id, 0 from generate_series(0, ${customers}) id`,
    )
    await client.query('analyze')
  } finally {
    await client.end()
  }
}

/** Both updates go in one flight, as our statement does. The lower id first, so that no two wait for each other. */
function script(load: Load): string {
  const [first, second] =
    load === 'hot' ? ['random(1, :most)', '0'] : ['random(1, :most - 1)', 'random(:a + 1, :most)']
  return [
    `\\set most ${customers}`,
    `\\set a ${first}`,
    `\\set b ${second}`,
    '\\startpipeline',
    'begin;',
    'update bench_balance set minor = minor - 1 where id = :a;',
    'update bench_balance set minor = minor + 1 where id = :b;',
    'commit;',
    '\\endpipeline',
    'select 1 where false',
  ].join('\n')
}

async function post(
  { db, checkDb }: { db: Database; checkDb: Database },
  projectId: string,
  accounts: string[],
  load: Load,
): Promise<number> {
  const before = await readFees(db, projectId)
  let acknowledged = 0n
  const endMs = performance.now() + warmUpMs + measuredMs + 100
  const pick = (): Address => ({
    accountId: accounts[Math.floor(Math.random() * accounts.length)] ?? '',
  })
  const write = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const to = load === 'hot' ? feeIncome : pick()
      const lines = [
        { address: pick(), currency, amountMinor: -1n },
        { address: to, currency, amountMinor: 1n },
      ]
      await postTransfer(db, { projectId, transferId: newId(), lines })
      acknowledged += 1n
    }
  }
  const writing = Promise.all(Array.from({ length: writers }, write))
  await sleep(warmUpMs)
  const [countBefore, startMs] = [acknowledged, performance.now()]
  await sleep(measuredMs)
  const perSecond = Number(acknowledged - countBefore) / ((performance.now() - startMs) / 1_000)
  await writing
  const { findings } = await checkLedger(checkDb)
  if (findings.length > 0)
    throw new Error(findings.map(({ description }) => description).join('\n'))
  const received = (await readFees(db, projectId)) - before
  if (load === 'hot' && received !== acknowledged) {
    throw new Error(`${acknowledged} were acknowledged, ${received} are in the balance`)
  }
  return perSecond
}

async function readFees(db: Database, projectId: string): Promise<bigint> {
  return (await readBalance(db, { address: feeIncome, projectId, currency })).postedMinor
}
