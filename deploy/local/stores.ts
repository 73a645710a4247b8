// The PostgreSQL and the NATS of a local start: those of the settings, or our own, made ready for the parts.
import path from 'node:path'
import { natsFrom } from '#runtime/events/nats-access.ts'
import type { Logger } from '#runtime/log.ts'
import { databaseUrlOn, makeDatabase } from './database.ts'
import { requireDatabase } from './database-errors.ts'
import { type LoginOf, loginOnDatabase, ownLogin } from './logins.ts'
import { startNats } from './nats.ts'
import { natsPasswordFile, prepareNatsUsers } from './nats-users.ts'
import type { Stores } from './parts.ts'
import { plannedPostgresUrl, startPostgres } from './postgres.ts'
import { type LaunchSettings, natsPort, postgresPort } from './settings.ts'
import type { Supervisor } from './supervise.ts'

/** Where the stores will be, and what brings them up. */
export type PlannedStores = {
  /** As the parts reach them. */
  stores: Stores
  /** The URL by which the database is migrated and filled. Secret. */
  adminUrl: string
  /** The roles of the services; undefined where they share the login of the URL. */
  loginOf: LoginOf | undefined
  /** Starts our PostgreSQL and makes its database, or looks whether the given one can be used. */
  startDatabase(): Promise<void>
  /** Starts our NATS; keeps the stream at that or at the given one. */
  startBroker(journal: Logger): Promise<{ close(): Promise<void> }>
}

const databaseName = 'payweave'

/** Plans both; nothing is started by that. */
export function planStores(
  settings: LaunchSettings,
  supervisor: Supervisor,
  log: (line: string) => void,
  stopping: AbortSignal,
): PlannedStores {
  const database = planDatabase(settings, supervisor, log)
  const broker = planBroker(settings, supervisor, log, stopping)
  const { adminUrl, loginOf, startDatabase } = database
  return {
    stores: { databaseUrl: adminUrl, ...(loginOf && { loginOf }), ...broker.stores },
    adminUrl,
    loginOf,
    startDatabase,
    startBroker: broker.startBroker,
  }
}

function planDatabase(
  settings: LaunchSettings,
  supervisor: Supervisor,
  log: (line: string) => void,
): Pick<PlannedStores, 'adminUrl' | 'loginOf' | 'startDatabase'> {
  const { databaseUrl: given } = settings
  if (given) {
    return {
      adminUrl: given,
      loginOf: settings.databaseRoleLogins ? loginOnDatabase(given) : undefined,
      startDatabase: () => requireDatabase(given, settings.databaseRoleLogins),
    }
  }
  const at = { dataDir: path.join(settings.dataDir, 'postgres'), port: postgresPort(settings) }
  const serverUrl = plannedPostgresUrl(at)
  return {
    adminUrl: databaseUrlOn(serverUrl, databaseName),
    loginOf: ownLogin,
    startDatabase: async () => {
      const start = () => startPostgres({ ...at, log })
      await supervisor.start([{ name: 'postgres', ports: [at.port], start }])
      await makeDatabase(serverUrl, databaseName)
    },
  }
}

function planBroker(
  settings: LaunchSettings,
  supervisor: Supervisor,
  log: (line: string) => void,
  stopping: AbortSignal,
): Pick<PlannedStores, 'startBroker'> & { stores: Pick<Stores, 'natsUrl' | 'natsUsers'> } {
  const { dataDir, natsUrl: given, natsReplicas: replicas } = settings
  // Not loaded before it is needed: the client library takes as long as the rest of the launcher.
  const keep = async (at: { url: string; access: object }, journal: Logger) => {
    const { keepStream } = await import('./stream.ts')
    return await keepStream({ ...at, replicas, log: journal, stopping })
  }
  if (given) {
    const at = natsFrom({ ...settings, natsUrl: given })
    return { stores: { natsUrl: given }, startBroker: (journal) => keep(at, journal) }
  }
  const at = { dataDir: path.join(dataDir, 'nats'), port: natsPort(settings) }
  const url = `nats://127.0.0.1:${at.port}`
  return {
    stores: { natsUrl: url, natsUsers: true },
    startBroker: async (journal) => {
      const users = prepareNatsUsers(dataDir, at.dataDir)
      const start = () => startNats({ ...at, log, users })
      await supervisor.start([{ name: 'nats', ports: [at.port], start }])
      const passwordFile = natsPasswordFile(dataDir, 'stream-controller')
      return await keep({ url, access: { passwordFile } }, journal)
    },
  }
}
