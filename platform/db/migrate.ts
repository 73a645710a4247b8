// Migrates a service's schema, role and tables forward. Never runs inside a serving process.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { ConfigurationError } from '../process/configuration-error.ts'
import type { Logger } from '../telemetry/log.ts'
import { connectClient, VersionError } from './client.ts'
import { readPassword, scramVerifier } from './login.ts'
import {
  type Applied,
  compare,
  type Difference,
  type Migration,
  type Phase,
  readMigrations,
} from './migration-files.ts'

/** Which schema, and how to connect to it. */
export type SchemaOptions = {
  /** A user that may create schemas and roles. */
  adminUrl: string
  /** Holds the password, when the URL does not. */
  passwordFile?: string | undefined
  /** Becomes the schema, and the role `payweave_<service>`. */
  service: string
  /** Folders of `NNNN-name.sql` files, run in this order. Their last parts must differ. */
  directories: string[]
}

export type MigrateOptions = SchemaOptions & {
  log: Logger
  /**
   * Only files of this phase; `contract` needs all `expand` files to have run. By default both, in the order of their
   * numbers.
   */
  phase?: Phase
  /** Called after each file has run. */
  onApplied?: () => void
  /** Holds the password by which the role may log in from now on. Unset: as it was, or not at all. */
  loginFile?: string | undefined
}

/** Maximum wait for another process that migrates the same schema, and the pause between two looks. */
const turnTimeoutMs = 60_000
const turnPauseMs = 100
/** Short, because all traffic queues behind a migration that waits for a table lock. */
const lockTimeoutMs = 5_000

/**
 * Creates the schema and its role if they are missing, and runs the files that have not run yet: each in its own
 * transaction, except that a `.concurrent.sql` file builds its index while others write. Returns the names of those.
 * Rejects with a ConfigurationError for a bad file, for an applied file that has changed since, for `contract` files
 * before all `expand` files, and for an unreadable password file; with an Error that names the migration when one
 * fails, or when another process migrates the schema for more than a minute; and with the driver's error when there is
 * no connection.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const { service, log } = options
  const migrations = await readMigrations(options.directories)
  const client = await connectAsOwner(options)
  client.on('error', (error) => log.error({ err: error }, 'migration connection lost'))
  try {
    await acquireMigrationLock(client, service)
    await prepareSchema(client, service)
    const names = await runMissing(client, migrations, options)
    if (options.loginFile !== undefined) await allowLogin(client, service, options.loginFile)
    return names
  } finally {
    await client.end()
  }
}

/**
 * Compares the files with what a schema says has run; the schema may not exist. Changes nothing. Rejects with a
 * ConfigurationError for a bad file name or an unreadable password file, and with the driver's error.
 */
export async function compareSchema(options: SchemaOptions): Promise<Difference> {
  const migrations = await readMigrations(options.directories)
  const client = await connectAsOwner(options)
  try {
    const { rows } = await client.query<{ there: boolean }>(
      'select to_regclass($1) is not null as there',
      [`${options.service}.schema_migration`],
    )
    if (rows[0]?.there !== true) return compare(migrations, [])
    await client.query(`set search_path = ${options.service}`)
    return compare(migrations, await readApplied(client))
  } finally {
    await client.end()
  }
}

/**
 * Whether `migrate` would change nothing about any of these schemas, by one connection in place of one for each. Grants
 * are not compared: only new tables need them, and those come with a file that is missing here. Rejects with a
 * ConfigurationError for a bad file name, and with the driver's error.
 */
export async function areUpToDate(
  adminUrl: string,
  schemas: ReadonlyArray<Pick<SchemaOptions, 'service' | 'directories'>>,
): Promise<boolean> {
  const [first] = schemas
  if (first === undefined) return true
  for (const { service } of schemas) requireName(service)
  const files = await Promise.all(schemas.map(({ directories }) => readMigrations(directories)))
  const client = await connectAsOwner({ adminUrl, service: first.service })
  try {
    const services = schemas.map(({ service }) => service)
    const { rows: prepared } = await client.query<{ service: string }>(
      `select service from unnest($1::text[]) service
       where to_regclass(service || '.schema_migration') is not null
         and exists (select from pg_roles where rolname = 'payweave_' || service
                     and has_schema_privilege(oid, to_regnamespace(service), 'usage'))`,
      [services],
    )
    if (prepared.length < services.length) return false
    const tables = services.map(
      (service) =>
        `select '${service}' as service, name, checksum from ${service}.schema_migration`,
    )
    const { rows: applied } = await client.query<Applied & { service: string }>(
      tables.join(' union all '),
    )
    return schemas.every(({ service }, index) => {
      const own = applied.filter((row) => row.service === service)
      const { missing, changed } = compare(files[index] ?? [], own)
      return missing.length === 0 && changed.length === 0
    })
  } finally {
    await client.end()
  }
}

/** Pause between two attempts to connect to a database that does not answer yet. */
const retryMs = 1_000

/**
 * Waits until the owner can log in, for at most `withinMs`: a new database server needs minutes before it knows them.
 * Rejects at once with a ConfigurationError for an unreadable password file and a server that is too old, and at the end
 * with the driver's error. `pause` replaces the wait of a second between two attempts.
 */
export async function waitForDatabase(
  { adminUrl: url, passwordFile }: Pick<SchemaOptions, 'adminUrl' | 'passwordFile'>,
  withinMs: number,
  pause: () => Promise<void> = () => sleep(retryMs),
): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    try {
      const client = await connectClient({ url, passwordFile }, {})
      await client.end()
      return
    } catch (error) {
      if (error instanceof VersionError || isUnreadable(error)) throw error
      if (performance.now() >= deadlineMs) throw error
    }
    await pause()
  }
}

/** A standby becomes a primary by itself; what else is wrong with the configuration stays. */
function isUnreadable(error: unknown): boolean {
  return error instanceof ConfigurationError && !('code' in error)
}

type WayIn = Pick<SchemaOptions, 'adminUrl' | 'passwordFile' | 'service'>

async function connectAsOwner({ adminUrl, passwordFile, service }: WayIn): Promise<Client> {
  requireName(service)
  return connectClient({ url: adminUrl, passwordFile }, { application_name: 'payweave migrate' })
}

function requireName(service: string): void {
  if (!/^[a-z][a-z_]{0,40}$/.test(service)) throw new Error(`bad service name ${service}`)
}

async function readApplied(client: Client): Promise<Applied[]> {
  const { rows } = await client.query<Applied>('select name, checksum from schema_migration')
  return rows
}

/**
 * One process at a time migrates a schema; the lock ends with the connection. It asks again and again: the build of an
 * index in the other process waits for every older statement, so also for one that waits for this lock.
 */
async function acquireMigrationLock(client: Client, service: string): Promise<void> {
  const deadlineMs = performance.now() + turnTimeoutMs
  for (;;) {
    const { rows } = await client.query<{ has: boolean }>(
      'select pg_try_advisory_lock(hashtextextended($1, 0)) as has',
      [`payweave.migrate.${service}`],
    )
    if (rows[0]?.has === true) break
    if (performance.now() >= deadlineMs) {
      throw new Error(`another process migrates the schema ${service}; try again when it has ended`)
    }
    await sleep(turnPauseMs)
  }
  await client.query(`set lock_timeout = ${lockTimeoutMs}`)
}

async function prepareSchema(client: Client, service: string): Promise<void> {
  const role = `payweave_${service}`
  await ensureRole(client, role)
  await client.query(`create schema if not exists ${service}`)
  await client.query(`set search_path = ${service}`)
  await client.query(`grant usage on schema ${service} to ${role}`)
  await client.query(
    `alter default privileges in schema ${service} grant select, insert, update, delete on tables to ${role}`,
  )
  await client.query(
    `alter default privileges in schema ${service} grant usage on sequences to ${role}`,
  )
  await client.query(`create table if not exists schema_migration (
    name text primary key,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`)
  await client.query(`revoke insert, update, delete on schema_migration from ${role}`)
}

/** Roles belong to the whole server, so migrations of other databases may make the same one at the same moment. */
async function ensureRole(client: Client, role: string): Promise<void> {
  const known = await client.query('select 1 from pg_roles where rolname = $1', [role])
  if (known.rowCount === 0) {
    await ignoring(['42710', '23505'], client.query(`create role ${role} nologin`))
  }
  const entered = await client.query<{ may: boolean }>(
    `select pg_has_role(current_user, $1::name,
       case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end) as may`,
    [role],
  )
  // XX000: "tuple concurrently updated", another session makes the same grant. 42501: we did not create the role and
  // may not grant it; the service then connects as that role itself.
  if (entered.rows[0]?.may !== true) {
    await ignoring(['XX000', '23505', '42501'], client.query(`grant ${role} to current_user`))
  }
}

async function ignoring(states: string[], work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!states.includes(String((error as { code?: unknown }).code))) throw error
  }
}

async function runMissing(
  client: Client,
  migrations: Migration[],
  { service, log, phase, onApplied }: MigrateOptions,
): Promise<string[]> {
  const { missing, changed } = compare(migrations, await readApplied(client))
  if (changed.length > 0) {
    throw new ConfigurationError(
      `applied migrations of ${service} have changed: ${changed.join(', ')}`,
    )
  }
  const due = missing.filter((migration) => phase === undefined || migration.phase === phase)
  if (phase === 'contract' && due.length < missing.length) {
    throw new ConfigurationError(`migrations of ${service} must expand before they contract`)
  }
  for (const migration of due) {
    await runOne(client, service, migration)
    log.info({ schema: service, migration: migration.name }, 'migration applied')
    onApplied?.()
  }
  return due.map(({ name }) => name)
}

/**
 * Lets the service's role log in. It is a member of no other role, so that login cannot switch to another service's.
 */
async function allowLogin(client: Client, service: string, file: string): Promise<void> {
  const verifier = client.escapeLiteral(scramVerifier(readPassword(file)))
  await client.query(`alter role payweave_${service} login password ${verifier}`)
}

async function runOne(client: Client, service: string, migration: Migration): Promise<void> {
  try {
    if (migration.index === null) await runInTransaction(client, migration)
    else await buildIndex(client, migration, migration.index)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`migration ${migration.name} of ${service} failed: ${reason}`, { cause: error })
  }
}

async function runInTransaction(client: Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(migration.text)
    await keepApplied(client, migration)
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error('rolled back at commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Replaces what a build that was interrupted has left: an index that writes maintain and no statement uses. */
async function buildIndex(client: Client, migration: Migration, index: string): Promise<void> {
  // The build waits for transactions that began before it, and nobody waits for the build.
  await client.query('set lock_timeout = 0')
  const unfinished = await client.query(
    'select from pg_index where indexrelid = to_regclass($1) and not indisvalid',
    [index],
  )
  if (unfinished.rowCount !== 0) await client.query(`drop index concurrently ${index}`)
  await client.query(migration.text)
  await client.query(`set lock_timeout = ${lockTimeoutMs}`)
  await keepApplied(client, migration)
}

async function keepApplied(client: Client, { name, checksum }: Migration): Promise<void> {
  await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [
    name,
    checksum,
  ])
}
