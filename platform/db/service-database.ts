// Opens the database of a service once its schema is as new as the code; until then answers "not ready".
import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { serveAdmin } from '../process/admin.ts'
import { errorKey, type Logger } from '../telemetry/log.ts'
import { databaseMetrics } from '../telemetry/metrics.ts'
import { type Database, openDatabase, type Queryable, sql } from './db.ts'
import { migrate } from './migrate.ts'
import { type Applied, compare, type Migration, readMigrations } from './migration-files.ts'
import { migrationFolders, type SchemaOwner } from './schemas.ts'
import { hostsOf } from './server-urls.ts'

/** The service, its settings, and where it reports. */
export type ServiceDatabaseOptions = {
  service: SchemaOwner
  settings: {
    databaseUrl: string
    databasePasswordFile: string | undefined
    migrateAtStart: boolean
    host: string
    adminPort: number
  }
  metrics: Registry
  log: Logger
  stopping: AbortSignal
}

const lookAgainMs = 1_000
const notYet = () => Promise.resolve({ schema: false })
const readApplied = sql('read_applied', 'select name, checksum from schema_migration')

/**
 * Migrates when the settings say so; otherwise waits until the migration job has, with `/readyz` at 503 meanwhile: a
 * process that started before its schema would fail in the middle of its work. Rejects as `migrate` and `openDatabase`
 * do, with an AbortError when `stopping` aborts the wait, and with the system's error when the admin port cannot be
 * opened.
 */
export async function openServiceDatabase(options: ServiceDatabaseOptions): Promise<Database> {
  const { service, settings, metrics, log } = options
  const { databaseUrl, databasePasswordFile: passwordFile, migrateAtStart } = settings
  const directories = migrationFolders(service)
  if (migrateAtStart)
    await migrate({ adminUrl: databaseUrl, passwordFile, service, directories, log })
  const db = openDatabase({ url: databaseUrl, passwordFile, service, log })
  databaseMetrics(metrics, db)
  const migrations = await readMigrations(directories)
  if ((await look(db, migrations)) !== undefined) {
    await waitForSchema(db, migrations, options).catch(async (error: unknown) => {
      await db.close()
      throw error
    })
  }
  return db
}

async function waitForSchema(
  db: Database,
  migrations: Migration[],
  { settings, metrics, log, stopping }: ServiceDatabaseOptions,
): Promise<void> {
  const { host, adminPort: port } = settings
  const admin = await serveAdmin({ host, port, metrics, ready: notYet, log, stopping })
  try {
    const address = hostsOf(settings.databaseUrl)
    const logged = new Set<string>()
    for (;;) {
      const problem = await look(db, migrations)
      if (problem === undefined) return
      // Logged once for each problem, not at each check.
      if (!logged.has(problem.key)) {
        if ('error' in problem) log.warn({ err: problem.error, address }, 'database not usable')
        else log.warn({ migration: problem.missing }, 'waiting for a migration')
      }
      logged.add(problem.key)
      await delay(lookAgainMs, undefined, { signal: stopping })
    }
  } finally {
    await admin.close()
  }
}

/**
 * Why the service cannot begin: a migration that the code needs and the schema lacks, or an error. Equal problems have
 * equal keys.
 */
type Problem = { key: string } & ({ missing: string } | { error: unknown })

async function look(db: Queryable, migrations: readonly Migration[]): Promise<Problem | undefined> {
  try {
    const { missing, changed } = compare(migrations, await db.rows<Applied>(readApplied, []))
    // The code does not depend on `contract` files, which run after its deployment.
    const first = changed[0] ?? missing.find(({ phase }) => phase === 'expand')?.name
    return first === undefined ? undefined : { key: first, missing: first }
  } catch (error) {
    return { key: errorKey(error), error }
  }
}
