// Brings a service's schema, role and tables up to date. It must never go backwards or run inside a serving process.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Client } from 'pg'
import type { Logger } from './log.ts'

export type MigrateOptions = {
  /** A user that may create schemas and roles. */
  adminUrl: string
  /** Becomes the schema, and the role `payweave_<service>`. */
  service: string
  /** Folders of `NNNN-name.sql` files, run in this order. Their last parts must differ. */
  directories: string[]
  log: Logger
}

/** One migration file. Its name is `folder/NNNN-name.sql`, as the table `schema_migration` keeps it. */
type Migration = { name: string; text: string; checksum: string }

/** How long to wait for another process that migrates the same schema. */
const turnTimeoutMs = 60_000
/** A migration that cannot get its table locks soon must fail, not make all traffic queue behind it. */
const lockTimeoutMs = 5_000

/**
 * Creates what is missing and runs the files that have not run yet, each in its own transaction. Answers their
 * names. An applied file that has changed since is an error.
 */
export async function migrate({
  adminUrl,
  service,
  directories,
  log,
}: MigrateOptions): Promise<string[]> {
  if (!/^[a-z][a-z_]{0,40}$/.test(service)) throw new Error(`bad service name ${service}`)
  const migrations = await readMigrations(directories)
  const client = new Client({ connectionString: adminUrl, application_name: 'payweave migrate' })
  client.on('error', (error) => log.error({ err: error }, 'migration connection lost'))
  await client.connect()
  try {
    await takeTurn(client, service)
    await prepareSchema(client, service)
    return await runMissing(client, service, migrations, log)
  } finally {
    await client.end()
  }
}

/** The files of some folders in the order in which they run. */
async function readMigrations(directories: string[]): Promise<Migration[]> {
  const folders = directories.map((directory) => path.basename(directory))
  if (new Set(folders).size !== folders.length) {
    throw new Error(`migration folders need different names: ${folders.join(', ')}`)
  }
  const perFolder = await Promise.all(directories.map(readFolder))
  return perFolder.flat()
}

async function readFolder(directory: string): Promise<Migration[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).toSorted()
  const numbers = new Set<string>()
  for (const file of files) {
    const number = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(file)?.[1]
    if (number === undefined || numbers.has(number)) {
      throw new Error(`bad or repeated migration number: ${path.join(directory, file)}`)
    }
    numbers.add(number)
  }
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(path.join(directory, file), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { name: `${path.basename(directory)}/${file}`, text, checksum }
    }),
  )
}

/** One process at a time migrates a schema; the lock ends with the connection. */
async function takeTurn(client: Client, service: string): Promise<void> {
  await client.query(`set lock_timeout = ${turnTimeoutMs}`)
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [
    `payweave.migrate.${service}`,
  ])
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
  // XX000: "tuple concurrently updated", the same grant made by another session.
  if (entered.rows[0]?.may !== true) {
    await ignoring(['XX000', '23505'], client.query(`grant ${role} to current_user`))
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
  service: string,
  migrations: Migration[],
  log: Logger,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migration',
  )
  const applied = new Map(rows.map((row) => [row.name, row.checksum]))
  const changed = migrations.filter(
    ({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum,
  )
  if (changed.length > 0) {
    const names = changed.map(({ name }) => name).join(', ')
    throw new Error(`applied migrations of ${service} have changed: ${names}`)
  }
  const missing = migrations.filter(({ name }) => !applied.has(name))
  for (const migration of missing) {
    await runOne(client, service, migration)
    log.info({ schema: service, migration: migration.name }, 'migration applied')
  }
  return missing.map(({ name }) => name)
}

async function runOne(
  client: Client,
  service: string,
  { name, text, checksum }: Migration,
): Promise<void> {
  await client.query('begin')
  try {
    await client.query(text)
    await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [
      name,
      checksum,
    ])
    const { command } = await client.query('commit')
    if (command !== 'COMMIT') throw new Error('rolled back at commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`migration ${name} of ${service} failed: ${reason}`, { cause: error })
  }
}
