// A ledger on a PostgreSQL of its own, and the loads that post to it.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '#core/identity/id.ts'
import { type Database, openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { makeDatabase } from '../../deploy/local/postgres/database.ts'
import { startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { holderKey } from '../../services/accounts/ledger/domain/lines.ts'
import { batchingLedger } from '../../services/accounts/ledger/operations/batching.ts'
import {
  type Address,
  postTransfer,
  readBalance,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { openHolders } from '../../services/accounts/ledger/store/ledger-store.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { startRollUp } from '../../services/accounts/ledger/workers/workers.ts'
import { onDatabase } from './store/on-database.ts'
import { emptyFolder } from './systems.ts'

/** Who is paid: another random customer, one customer whom all pay, or one internal account. */
export type Load = 'distinct' | 'hot' | 'internal'

/** A ledger with customers who have money. */
export type BenchLedger = {
  /** The superuser's URL of the server. */
  serverUrl: string
  /** Transfers per second of two lines each, acknowledged by us. */
  transfersPerSecond(load: Load): Promise<number>
  stop(): Promise<void>
}

const port = 17_220
// As many as the yardstick's tables have, and the one whom all pay.
const customers = 100_000
const openingMinor = 1_000_000_000n
const openedTogether = 99
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
  const rollUp = startRollUp(db, log)
  const projectId = newId()
  const accounts = await openAccounts(db, projectId)
  await onDatabase(url, (client) => client.query('vacuum analyze'))
  return {
    serverUrl: postgres.adminUrl,
    transfersPerSecond: (load) => post({ db, checkDb }, projectId, accounts, load),
    async stop() {
      await rollUp.close()
      await Promise.all([db.close(), checkDb.close()])
      await postgres.stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function openAccounts(db: Database, projectId: string): Promise<string[]> {
  const accounts = Array.from({ length: customers + 1 }, () => newId())
  const starts = [...accounts.keys()].filter((index) => index % openedTogether === 0).values()
  const open = async (): Promise<void> => {
    for (const start of starts) {
      await openSome(db, projectId, accounts.slice(start, start + openedTogether))
    }
  }
  await Promise.all(Array.from({ length: 8 }, open))
  return accounts
}

async function openSome(db: Database, projectId: string, accounts: string[]): Promise<void> {
  await openHolders(
    db,
    accounts.map((accountId) => holderKey({ accountId }, currency)),
  )
  const lines = accounts.map((accountId) => ({
    address: { accountId },
    currency,
    amountMinor: openingMinor,
  }))
  const opening = { address: { internal: 'opening' as const }, currency }
  await postTransfer(db, {
    projectId,
    transferId: newId(),
    lines: [...lines, { ...opening, amountMinor: -openingMinor * BigInt(accounts.length) }],
  })
}

async function post(
  { db, checkDb }: { db: Database; checkDb: Database },
  projectId: string,
  accounts: string[],
  load: Load,
): Promise<number> {
  const [hot = '', ...customerIds] = accounts
  const shared: Address = load === 'internal' ? feeIncome : { accountId: hot }
  const readShared = async () =>
    (await readBalance(db, { address: shared, projectId, currency })).postedMinor
  const before = await readShared()
  const writer = batchingLedger(db)
  let acknowledged = 0n
  const endMs = performance.now() + warmUpMs + measuredMs + 100
  const half = customerIds.length / 2
  const pick = (from: number): Address => ({
    accountId: customerIds[from + Math.floor(Math.random() * half)] ?? '',
  })
  const write = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const to = load === 'distinct' ? pick(half) : shared
      const lines = [
        { address: pick(0), currency, amountMinor: -100n },
        { address: to, currency, amountMinor: 100n },
      ]
      await writer.postTransfer({ projectId, transferId: newId(), lines })
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
  const received = (await readShared()) - before
  if (load !== 'distinct' && received !== 100n * acknowledged) {
    throw new Error(`${acknowledged} were acknowledged, ${received} are in the balance`)
  }
  return perSecond
}
