// Makes the database of a local start, migrates every schema and inserts the sandbox's rows.
import { connectClient } from '#platform/db/client.ts'
import { openDatabase } from '#platform/db/db.ts'
import { areUpToDate, migrate } from '#platform/db/migrate.ts'
import { migrationFolders, schemaOwners } from '#platform/db/schemas.ts'
import { changeUrl } from '#platform/db/server-urls.ts'
import { openKeys } from '#platform/process/secrets.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import {
  accountKeyFiles,
  accountSecrets,
} from '../../../services/accounts/access/domain/credentials.ts'
import { LaunchError } from '../preflight/launch-error.ts'
import { credentialsOf, type SandboxFile } from '../sandbox-file.ts'
import { secretsFolder } from '../secrets.ts'
import { seedSandbox } from '../seed/accounts.ts'
import { seedBillers } from '../seed/billers.ts'

/** Makes the database of that name if it is missing; answers its URL. */
export async function makeDatabase(adminUrl: string, name: string): Promise<string> {
  const client = await connectClient({ url: adminUrl }, {})
  try {
    const known = await client.query('select 1 from pg_database where datname = $1', [name])
    if (known.rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`)
  } finally {
    await client.end()
  }
  return databaseUrlOn(adminUrl, name)
}

/** The URL of another database of the same server. */
export function databaseUrlOn(serverUrl: string, name: string): string {
  return changeUrl(serverUrl, (url) => {
    url.pathname = `/${name}`
  })
}

/** Brings every service's schema up to date, side by side. */
export async function migrateAll(databaseUrl: string, log: Logger): Promise<void> {
  const schemas = schemaOwners.map((service) => ({
    service,
    directories: migrationFolders(service),
  }))
  // Usually there is nothing to do. If this check fails, the migrations report why.
  if (await areUpToDate(databaseUrl, schemas).catch(() => false)) return
  const runs = schemas.map((schema) => migrate({ adminUrl: databaseUrl, ...schema, log }))
  const results = await Promise.allSettled(runs)
  const failed = results.find((result) => result.status === 'rejected')
  if (failed) {
    throw new LaunchError(`the database cannot be brought up to date: ${messageOf(failed.reason)}`)
  }
}

/** A refused connection to several addresses has its text in the parts. */
function messageOf(reason: unknown): string {
  if (reason instanceof AggregateError) return reason.errors.map(messageOf).join('; ')
  return reason instanceof Error ? reason.message : String(reason)
}

/** A start waits for its database longer than a request may: a machine that stalls for seconds must not end it. */
const startLimits = { acquireMs: 30_000, statementMs: 30_000 }

/** Inserts what the sandbox starts with; what is there already stays. */
export async function seed(seeded: {
  databaseUrl: string
  dataDir: string
  sandbox: SandboxFile
  environment: 'local' | 'sandbox'
  log: Logger
}): Promise<void> {
  const { databaseUrl, dataDir, sandbox, environment, log } = seeded
  const folder = secretsFolder(dataDir, 'accounts')
  const secrets = accountSecrets(openKeys({ dir: folder, names: accountKeyFiles, log }))
  const options = { url: databaseUrl, log, poolSize: 1, limits: startLimits }
  const db = openDatabase({ ...options, service: 'accounts' })
  try {
    await seedSandbox(db, secrets, credentialsOf(sandbox), environment)
  } finally {
    await db.close()
  }
  const billing = openDatabase({ ...options, service: 'billing' })
  try {
    await seedBillers(billing, environment)
  } finally {
    await billing.close()
  }
}
