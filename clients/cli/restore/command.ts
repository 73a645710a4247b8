// The commands on a restored database: they prove that a backup can be used, before anybody needs it.
import fs from 'node:fs'
import { durationMs } from '../clock.ts'
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { clusterApi } from './cluster-api.ts'
import { type DatabaseCluster, drillCluster, sourceOf } from './drill-cluster.ts'

/** For the restore and the check; two attempts and their removals fit into the deadline of the Kubernetes job. */
const drillWithinMs = 9_000_000
const removeWithinMs = 600_000
const checkWithinMs = 1_800_000

const newestOption = {
  'newest-within': 'age that the newest transfer may have, such as 48h (any)',
}

/** The commands of `restore`. The database is that of DATABASE_URL, entered as its owner. */
export const restoreCommands: Command[] = [
  {
    name: 'restore check',
    operands: '',
    summary:
      'Checks the ledger in a restored database, without any service; exits with 1 on a violation.',
    options: newestOption,
    run: check,
  },
  {
    name: 'restore drill',
    operands: '',
    summary:
      'Restores the last backup to a database of its own on Kubernetes, and checks the ledger there.',
    options: { cluster: 'file with the Cluster to create (JSON)', ...newestOption },
    run: drill,
  },
]

async function check(context: CommandContext): Promise<void> {
  const { json, print, options } = context
  const newestWithin = options['newest-within']
  const newestWithinMs = newestWithin === undefined ? undefined : Number(durationMs(newestWithin))
  const { findings, transfers, newestTime } = await checkRestored(context)
  if (json) print(JSON.stringify({ findings, transfers: Number(transfers), newestTime }))
  else {
    for (const { rule, description } of findings) print(`${rule}  ${description}`)
    const newest = newestTime === null ? 'none' : newestTime.toISOString()
    print(`checked ${transfers} transfers  newest ${newest}  found ${findings.length}`)
  }
  if (findings.length > 0) throw new Error('the restored ledger breaks its rules')
  if (newestTime === null) throw new Error('the restored ledger is empty')
  if (newestWithinMs !== undefined && Date.now() - newestTime.getTime() > newestWithinMs) {
    throw new Error(`the newest restored transfer is older than ${newestWithin}`)
  }
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
  const live = await api.find(sourceOf(wanted))
  if (live === undefined) throw new Error(`there is no cluster ${sourceOf(wanted)}`)
  const ended = AbortSignal.any([stopping, AbortSignal.timeout(drillWithinMs)])
  // What an interrupted drill may have left has the files of an older backup.
  await api.remove(name, ended)
  await api.create(drillCluster(wanted, live))
  print(json ? JSON.stringify({ restoring_to: name }) : `restoring to ${name}`)
  try {
    await api.ready(name, ended)
    await unless(ended, check(context))
  } finally {
    await api.remove(name, AbortSignal.timeout(removeWithinMs))
  }
}

/** What `work` settles with, unless the signal aborts before: a statement of the check does not end by itself then. */
async function unless<T>(ended: AbortSignal, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const abort = () => late.reject(new Error('the drill was stopped, or took too long'))
  if (ended.aborted) abort()
  ended.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, late.promise])
  } finally {
    ended.removeEventListener('abort', abort)
  }
}
