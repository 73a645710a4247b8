// A restore under load: a backup and the archived log become a server of its own, which must have every commit up to the last archived one.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { eventually } from '../../support/eventually.ts'
import type { Host } from '../lab/network.ts'
import type { Postgres } from '../lab/postgres.ts'
import { thisVersion } from '../lab/version.ts'
import { type Fault, seconds } from './fault.ts'

const run = promisify(execFile)

/** How long the load goes on between the backup and the moment that is restored. */
const afterBackupMs = 5_000
const archivedWithinMs = 60_000
const restoredWithinMs = 120_000
/** Tables that only grow. */
const tables = [
  'payments.payment',
  'payments.settlement',
  'payments.outbox',
  'accounts.transfer',
  'accounts.posting',
  'institution.transaction',
  'billing.bill_payment',
  'quotes.quote',
  'delivery.attempt',
]
const countsOf = `select array[${tables.map((table) => `(select count(*) from ${table})`).join(', ')}]::integer[] as counts`

export const restore: Fault = {
  name: 'restore',
  title: 'A backup that was taken under load is restored to a server of its own',
  required: 'no commit before the last archived log is missing; the ledger check finds nothing',
  async inject({ postgres, databaseUrl }) {
    const beganMs = performance.now()
    const restored = await postgres.backUp('postgres-restored')
    const backupS = secondsSince(beganMs)
    await sleep(afterBackupMs)
    const wanted = await archivedCounts(postgres, databaseUrl)
    const startedMs = performance.now()
    await restored.start()
    const url = onHost(databaseUrl, restored.host)
    await eventually(() => isTrue(url, 'not pg_is_in_recovery()'), restoredWithinMs)
    const restoredS = secondsSince(startedMs)
    const { counts } = (await query<{ counts: number[] }>(url, countsOf)) ?? { counts: [] }
    const missing = wanted.reduce(
      (sum, count, index) => sum + Math.max(0, count - (counts[index] ?? 0)),
      0,
    )
    const checked = await checkRestored(url)
    await restored.stop()
    return { facts: { backupS, restoredS, missing, rows: sumOf(counts), ...checked } }
  },
  mustBeZero: (_, { missing = Number.NaN, findings = Number.NaN, transfers }) => ({
    'rows that the restored server lacks': missing,
    'findings of the ledger check on the restored server': findings,
    'restored ledgers without a transfer': Number(transfers) > 0 ? 0 : 1,
  }),
  measured: ({ gapS }, { backupS = Number.NaN, restoredS = Number.NaN, rows, transfers }) =>
    `backed up in ${seconds(backupS)}, restored in ${seconds(restoredS)} with ${rows} rows; ${transfers} transfers checked; no create for ${seconds(gapS)}`,
}

/** Rows of each table at a moment whose log is in the archive when it resolves. */
async function archivedCounts(postgres: Postgres, databaseUrl: string): Promise<number[]> {
  const url = onHost(databaseUrl, await postgres.primary())
  const { counts } = (await query<{ counts: number[] }>(url, countsOf)) ?? { counts: [] }
  const { file } = (await query<{ file: string }>(
    url,
    'select pg_walfile_name(pg_switch_wal()) as file',
  )) ?? { file: '' }
  await eventually(
    () => isTrue(url, `(select last_archived_wal >= '${file}' from pg_stat_archiver)`),
    archivedWithinMs,
  )
  return counts
}

/** Runs the command of an operator. */
async function checkRestored(url: string): Promise<{ findings: number; transfers: number }> {
  const program = path.join(thisVersion, 'clients/cli/payweave.mjs')
  const env = { PATH: process.env['PATH'], PAYWEAVE_ENV: 'sandbox', DATABASE_URL: url }
  const { stdout } = await run(process.execPath, [program, 'restore', 'check', '--json'], { env })
  const checked = JSON.parse(stdout) as { findings: object[]; transfers: number }
  return { findings: checked.findings.length, transfers: checked.transfers }
}

/** The URL with one server in place of the three. */
function onHost(databaseUrl: string, { name }: Host): string {
  return databaseUrl.replace(/@[^/]+\//, `@${name}:5432/`)
}

async function isTrue(url: string, condition: string): Promise<boolean> {
  return (await query<{ ok: boolean }>(url, `select ${condition} as ok`))?.ok === true
}

async function query<Row extends object>(url: string, text: string): Promise<Row | undefined> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Row>(text)
    return rows[0]
  } finally {
    await client.end()
  }
}

function secondsSince(beganMs: number): number {
  return (performance.now() - beganMs) / 1_000
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}
