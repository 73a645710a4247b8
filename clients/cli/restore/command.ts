// The commands on a restored database: they prove that a backup can be used, before anybody needs it.
import fs from 'node:fs'
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { clusterApi, type DatabaseCluster } from './cluster-api.ts'

const readyWithinMs = 2 * 3_600_000
const checkWithinMs = 1_800_000

/** The commands of `restore`. The database is that of DATABASE_URL, entered as its owner. */
export const restoreCommands: Command[] = [
  {
    name: 'restore check',
    operands: '',
    summary:
      'Checks the ledger in a restored database, without any service; exits with 1 on a violation.',
    options: {},
    run: check,
  },
  {
    name: 'restore drill',
    operands: '',
    summary:
      'Restores the last backup to a database of its own on Kubernetes, and checks the ledger there.',
    options: { cluster: 'file with the Cluster to create (JSON)' },
    run: drill,
  },
]

async function check(context: CommandContext): Promise<void> {
  const { json, print } = context
  const { findings, transfers, newestTime } = await checkRestored(context)
  if (json) print(JSON.stringify({ findings, transfers: Number(transfers), newestTime }))
  else {
    for (const { rule, description } of findings) print(`${rule}  ${description}`)
    const newest = newestTime === null ? 'none' : newestTime.toISOString()
    print(`checked ${transfers} transfers  newest ${newest}  found ${findings.length}`)
  }
  if (findings.length > 0) throw new Error('the restored ledger breaks its rules')
  if (transfers === 0n) throw new Error('the restored ledger is empty')
}

/** Imports the modules on demand, so that all other commands start without them. */
async function checkRestored({ env, progress }: CommandContext) {
  const [
    { readSettings, SettingsError },
    { createLogger },
    { openDatabase, sql },
    { checkLedger },
  ] = await Promise.all([
    import('#platform/config/config.ts'),
    import('#platform/telemetry/log.ts'),
    import('#platform/db/db.ts'),
    import('../../../services/accounts/ledger/workers/check.ts'),
  ])
  try {
    const { databaseUrl: url, databasePasswordFile: passwordFile } = readSettings('migrate', env)
    const db = openDatabase({
      url,
      passwordFile,
      service: 'accounts',
      log: createLogger({ part: 'restore', level: 'silent' }),
      readsWholeTables: true,
      limits: { statementMs: checkWithinMs },
    })
    try {
      const newest = sql('newest_transfer', 'select max(post_time) as "newestTime" from transfer')
      const row = await db.row<{ newestTime: Date | null }>(newest, [])
      const bar = progress('checks')
      const { findings, transfersChecked } = await checkLedger(db, (done, all) =>
        bar.update(done, done / all),
      ).finally(() => bar.stop())
      return { findings, transfers: transfersChecked, newestTime: row?.newestTime ?? null }
    } finally {
      await db.close()
    }
  } catch (error) {
    throw error instanceof SettingsError ? new UsageError(error.message) : error
  }
}

async function drill(context: CommandContext): Promise<void> {
  const { options, env, json, print, stopping } = context
  const file = options['cluster']
  if (file === undefined) throw new UsageError('restore drill: --cluster is required')
  const wanted = JSON.parse(fs.readFileSync(file, 'utf8')) as DatabaseCluster
  const api = clusterApi(env)
  const { name } = wanted.metadata
  // What an interrupted drill may have left has the files of an older backup.
  await api.remove(name, stopping)
  await api.create(wanted)
  print(json ? JSON.stringify({ restoring_to: name }) : `restoring to ${name}`)
  try {
    await api.ready(name, AbortSignal.any([stopping, AbortSignal.timeout(readyWithinMs)]))
    await check(context)
  } finally {
    await api.remove(name, AbortSignal.timeout(readyWithinMs))
  }
}
