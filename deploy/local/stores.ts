// The PostgreSQL and the NATS of a local start: those of the settings, or our own.
import path from 'node:path'
import { natsFrom } from '#platform/events/nats/access.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { startNats } from './nats/nats.ts'
import type { KeptStream } from './nats/stream.ts'
import { natsPasswordFile, prepareNatsUsers } from './nats/users.ts'
import { databaseUrlOn, makeDatabase } from './postgres/database.ts'
import { requireDatabase } from './postgres/database-errors.ts'
import { type LoginOf, loginOnDatabase, ownLogin } from './postgres/logins.ts'
import { plannedPostgresUrl, startPostgres } from './postgres/postgres.ts'
import type { Stores } from './process/parts.ts'
import type { Supervisor } from './process/supervise.ts'
import type { Check } from './process/watch-health.ts'
import { type LaunchSettings, natsPort, postgresPort } from './settings.ts'

/** Where the stores will be, and what brings them up. */
export type PlannedStores = {
  /** As the parts reach them. */
  stores: Stores
  /** The URL by which the database is migrated and filled. Secret. */
  adminUrl: string
  /** The roles of the services; undefined where they share the login of the URL. */
  loginOf: LoginOf | undefined
  /** Looks whether given servers can be used. Throws a LaunchError within ten seconds when they cannot. */
  requireGiven(journal: Logger): Promise<void>
  /** Starts our PostgreSQL, unless one was given, and makes its database. */
  startDatabase(): Promise<void>
  /**
   * Starts our NATS, unless one was given, and keeps the stream. Ours is started again when its JetStream does not answer; of
   * one that was given the log says so.
   */
  startBroker(journal: Logger): Promise<{ close(): Promise<void> }>
}

type PlannedDatabase = Pick<PlannedStores, 'adminUrl' | 'loginOf' | 'startDatabase'> & {
  requireGiven(): Promise<void>
}
type PlannedBroker = Pick<PlannedStores, 'requireGiven' | 'startBroker'> & {
  stores: Pick<Stores, 'natsUrl' | 'natsUsers'>
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
    requireGiven: async (journal) => {
      await Promise.all([database.requireGiven(), broker.requireGiven(journal)])
    },
    startDatabase,
    startBroker: broker.startBroker,
  }
}

/** The folder in which every part has its log. */
export function logsFolder({ dataDir }: Pick<LaunchSettings, 'dataDir'>): string {
  return path.join(dataDir, 'logs')
}

function logFileOf(settings: LaunchSettings, name: string): string {
  return path.join(logsFolder(settings), `${name}.log`)
}

function planDatabase(
  settings: LaunchSettings,
  supervisor: Supervisor,
  log: (line: string) => void,
): PlannedDatabase {
  const { databaseUrl: given } = settings
  if (given) {
    return {
      adminUrl: given,
      loginOf: settings.databaseRoleLogins ? loginOnDatabase(given) : undefined,
      requireGiven: () => requireDatabase(given, settings.databaseRoleLogins),
      startDatabase: async () => undefined,
    }
  }
  const at = { dataDir: path.join(settings.dataDir, 'postgres'), port: postgresPort(settings) }
  const serverUrl = plannedPostgresUrl(at)
  return {
    adminUrl: databaseUrlOn(serverUrl, databaseName),
    loginOf: ownLogin,
    requireGiven: async () => undefined,
    startDatabase: async () => {
      const start = () => startPostgres({ ...at, log, logFile: logFileOf(settings, 'postgres') })
      await supervisor.start([{ name: 'postgres', ports: [at.port], start }])
      await makeDatabase(serverUrl, databaseName)
    },
  }
}

/** Loaded when it is needed: the client library takes as long as the rest of the launcher. */
const stream = () => import('./nats/stream.ts')

function planBroker(
  settings: LaunchSettings,
  supervisor: Supervisor,
  log: (line: string) => void,
  stopping: AbortSignal,
): PlannedBroker {
  const { dataDir, natsUrl: given, natsReplicas: replicas } = settings
  if (given) {
    const payweaveEnv = settings.environment
    const at = { ...natsFrom({ ...settings, payweaveEnv, natsUrl: given }), replicas }
    return {
      stores: { natsUrl: given },
      requireGiven: async (journal) =>
        await (await stream()).makeStream({ ...at, journal, log, stopping }),
      startBroker: async (journal) => {
        const { keepStream, reportStream } = await stream()
        return reportStream(keepStream({ ...at, journal }), { url: given, log })
      },
    }
  }
  const at = { dataDir: path.join(dataDir, 'nats'), port: natsPort(settings) }
  const url = `nats://127.0.0.1:${at.port}`
  return {
    stores: { natsUrl: url, natsUsers: true },
    requireGiven: async () => undefined,
    startBroker: async (journal) => {
      const users = prepareNatsUsers(dataDir, at.dataDir)
      const logFile = logFileOf(settings, 'nats')
      const start = () => startNats({ ...at, log, users, logFile })
      let kept: KeptStream | undefined
      const check: Check = async (startedMs) => kept?.check(startedMs)
      await supervisor.start([{ name: 'nats', ports: [at.port], start, check }])
      const access = { passwordFile: natsPasswordFile(dataDir, 'stream-controller') }
      const own = { url, access, replicas, journal }
      const { keepStream, makeStream } = await stream()
      await makeStream({ ...own, log, stopping, own: { dataDir: at.dataDir, logFile } })
      kept = keepStream(own)
      return kept
    },
  }
}
