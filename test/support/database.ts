// A fresh, migrated database for one test file. It must not know any service's tables.
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { type Database, type DatabaseOptions, openDatabase } from '#runtime/db.ts'
import { createLogger } from '#runtime/log.ts'
import { migrate } from '#runtime/migrate.ts'

export type TestDatabase = {
  /** The superuser's URL of this database. */
  url: string
  /** Opens a pool in the service's role and schema; it is closed by `drop`. */
  open(options?: Partial<DatabaseOptions>): Database
  /** Migrates a further service's schema into the same database. */
  migrate(service: string, directories: string[]): Promise<string[]>
  /** Closes what was opened and removes the database. */
  drop(): Promise<void>
}

/** A logger that says nothing. */
export const silentLog = createLogger({ part: 'test', level: 'silent' })

/** Makes a database on the server of the test run and migrates the service's schema into it. */
export async function createTestDatabase(
  service: string,
  directories: string[],
): Promise<TestDatabase> {
  const serverUrl = process.env['TEST_DATABASE_URL']
  if (serverUrl === undefined) throw new Error('TEST_DATABASE_URL is not set: run tests by vitest')
  const name = `test_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${name}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const migrateHere = (service: string, directories: string[]): Promise<string[]> =>
    migrate({ adminUrl: url.href, service, directories, log: silentLog })
  await migrateHere(service, directories)
  const opened: Database[] = []
  return {
    url: url.href,
    open(options) {
      const database = openDatabase({ url: url.href, service, log: silentLog, ...options })
      opened.push(database)
      return database
    },
    migrate: migrateHere,
    async drop() {
      await Promise.all(opened.map((database) => database.close()))
      await onServer(serverUrl, `drop database ${name} with (force)`)
    },
  }
}

async function onServer(serverUrl: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
