// The databases of the simulation, each ready for runs: schemas, the simulated clock, and what no run changes.
import fs from 'node:fs'
import path from 'node:path'
import { Client } from 'pg'
import { openDatabase } from '#platform/db/db.ts'
import { migrate } from '#platform/db/migrate.ts'
import { migrationFolders, type SchemaOwner } from '#platform/db/schemas.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { startPostgres } from '../../../deploy/local/postgres/postgres.ts'
import { seedBillers } from '../../../deploy/local/seed/billers.ts'
import { freePorts, temporaryFolder } from '../../../test/support/servers.ts'
import { insertRoutes } from '../payments/routes.ts'
import { prepareSchemas } from './simulation-store.ts'

/** A superuser's URLs, one for each runner. */
export type Databases = { urls: string[]; stop(): Promise<void> }

const silentLog = createLogger({ part: 'simulation', level: 'silent' })

const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  shared_buffers: '64MB',
  checkpoint_timeout: '1h',
  wal_level: 'minimal',
  max_wal_senders: '0',
  // Nobody looks at them.
  track_activities: 'off',
  track_counts: 'off',
  update_process_title: 'off',
}

/**
 * Prepares the empty database at a superuser's URL, or as many as `count` on a server of its own, which has its data in memory
 * where the system has a folder for that.
 */
export async function startDatabases(
  services: readonly SchemaOwner[],
  { database, count }: { database: string | undefined; count: number },
): Promise<Databases> {
  const { url, stop } = database === undefined ? await ownServer() : { url: database, stop: none }
  try {
    for (const service of services) {
      const directories = migrationFolders(service)
      await migrate({ adminUrl: url, service, directories, log: silentLog })
    }
    await prepare(url, services)
    return { urls: [url, ...(count > 1 ? await copy(url, count - 1) : [])], stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const none = async (): Promise<void> => undefined

async function prepare(url: string, services: readonly SchemaOwner[]): Promise<void> {
  const owner = new Client({ connectionString: url })
  await owner.connect()
  await prepareSchemas(owner, services)
  await insertRoutes(owner)
  await owner.end()
  // The catalogue of billers.
  const db = openDatabase({ url, service: 'billing', log: silentLog })
  await seedBillers(db, 'sandbox')
  await db.close()
}

/** Copies a database that nobody is connected to. */
async function copy(url: string, count: number): Promise<string[]> {
  const name = new URL(url).pathname.slice(1)
  const owner = new Client({ connectionString: withName(url, 'template1') })
  await owner.connect()
  const copies = Array.from({ length: count }, (_, index) => `simulation_${index + 1}`)
  for (const one of copies) await owner.query(`create database ${one} template ${name}`)
  await owner.end()
  return copies.map((one) => withName(url, one))
}

function withName(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = name
  return other.href
}

async function ownServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = fs.existsSync('/dev/shm')
    ? fs.mkdtempSync('/dev/shm/payweave-simulation-')
    : temporaryFolder('simulation')
  fs.chmodSync(folder, 0o711)
  const [port = 0] = await freePorts(1)
  // A socket is cheaper than TCP, and the path of this one is short enough.
  const sockets = path.join(folder, 'cluster')
  const postgres = await startPostgres({
    dataDir: folder,
    port,
    log: () => undefined,
    settings: { ...settings, unix_socket_directories: sockets },
  })
  const url = new URL(postgres.adminUrl)
  url.searchParams.set('host', sockets)
  return {
    url: url.href,
    async stop() {
      await postgres.stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
