// Opens the database of a service once its schema is as new as the code. It must not serve anything but "not ready".
import { setTimeout as delay } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { serveAdmin } from './admin.ts'
import { type Database, openDatabase, type Queryable, sql } from './db.ts'
import type { Logger } from './log.ts'
import { databaseMetrics } from './metrics.ts'
import { migrate } from './migrate.ts'
import { type Applied, compare, type Migration, readMigrations } from './migration-files.ts'
import { migrationFolders, type SchemaOwner } from './schemas.ts'

/** What it goes by. */
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
 * Migrates when the settings say so; else waits until the migration job has done it, and answers `/readyz` with 503
 * meanwhile. A version that runs before its schema would fail in the middle of its work.
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
  if ((await missingFrom(db, migrations)) !== undefined) {
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
    let told: string | undefined
    for (;;) {
      const missing = await missingFrom(db, migrations)
      if (missing === undefined) return
      if (missing !== told) log.warn({ migration: missing }, 'waiting for a migration')
      told = missing
      await delay(lookAgainMs, undefined, { signal: stopping })
    }
  } finally {
    await admin.close()
  }
}

/** The first migration that the code needs and the schema lacks, or why that cannot be told. */
async function missingFrom(
  db: Queryable,
  migrations: readonly Migration[],
): Promise<string | undefined> {
  try {
    const { missing, changed } = compare(migrations, await db.rows<Applied>(readApplied, []))
    // What only contracts is of no use to the code.
    return changed[0] ?? missing.find(({ phase }) => phase === 'expand')?.name
  } catch (error) {
    return error instanceof Error ? error.name : 'unknown'
  }
}
