// A fresh, migrated database for one test file. It must not know any service's tables.
import { createHash, randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { type Database, type DatabaseOptions, openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { createLogger } from '#platform/telemetry/log.ts'

export type TestDatabase = {
  /** The superuser's URL of this database. */
  url: string
  /** Opens a pool in the service's role and schema, with the limits of production; `drop` closes it. */
  open(options?: Partial<DatabaseOptions>): Database
  /** Migrates a further service's schema into the same database. */
  migrate(service: string, directories: string[]): Promise<string[]>
  /** Closes what was opened and removes the database. */
  drop(): Promise<void>
}

/** A logger that says nothing. */
export const silentLog = createLogger({ part: 'test', level: 'silent' })

/** Makes a database on the server of the test run with the service's schema in it. */
export async function createTestDatabase(
  service: string,
  directories: string[],
): Promise<TestDatabase> {
  const url = await copyOfDatabase(`${service} ${directories.join(' ')}`, async (adminUrl) => {
    await migrate({ adminUrl, service, directories, log: silentLog })
  })
  const migrateHere = (service: string, directories: string[]): Promise<string[]> =>
    migrate({ adminUrl: url, service, directories, log: silentLog })
  const opened: Database[] = []
  return {
    url,
    open(options) {
      const database = openDatabase({ url, service, log: silentLog, ...options })
      opened.push(database)
      return database
    },
    migrate: migrateHere,
    async drop() {
      await Promise.all(opened.map((database) => database.close()))
      await onServer((server) => server.query(`drop database ${nameOf(url)} with (force)`))
    },
  }
}

/**
 * Makes a database that is what `prepare` makes of an empty one, and answers its URL. The first asker
 * with a key prepares; the others get a copy, which costs a tenth of the time.
 */
export async function copyOfDatabase(
  key: string,
  prepare: (url: string) => Promise<unknown>,
): Promise<string> {
  const template = `template_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
  const url = urlOf(`test_${randomBytes(6).toString('hex')}`)
  await onServer(async (server) => {
    await server.query('select pg_advisory_lock(hashtextextended($1, 0))', [template])
    const known = await server.query('select 1 from pg_database where datname = $1', [template])
    if (known.rowCount === 0) {
      // Another name until it is whole.
      const unfinished = `making_${randomBytes(6).toString('hex')}`
      await server.query(`create database ${unfinished} strategy file_copy`)
      await prepare(urlOf(unfinished))
      await server.query(`alter database ${unfinished} rename to ${template}`)
    }
    await server.query('select pg_advisory_unlock_all()')
    await server.query(`create database ${nameOf(url)} template ${template} strategy file_copy`)
  })
  return url
}

const maxCalls = 5

/**
 * Repeats, as clients do, what found no database connection in time: on a machine that stalls, the first ones are opened for seconds.
 * Rejects with TIMEOUT after five calls, or with another error of the work.
 */
export async function whenConnected<T>(work: () => Promise<T>): Promise<T> {
  for (let calls = 1; ; calls += 1) {
    try {
      return await work()
    } catch (error) {
      const { message } = error as Error
      if (message !== 'no database connection became free' || calls === maxCalls) throw error
    }
  }
}

function serverUrl(): string {
  const url = process.env['TEST_DATABASE_URL']
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run tests by vitest')
  return url
}

function urlOf(database: string): string {
  const url = new URL(serverUrl())
  url.pathname = `/${database}`
  return url.href
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

async function onServer<T>(work: (server: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: serverUrl() })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
