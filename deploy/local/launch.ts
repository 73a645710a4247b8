// Starts a whole local system in order and stops it again.
import fs from 'node:fs'
import path from 'node:path'
import type { ServingProcess } from '#platform/config/setting.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { commandLine, prepareCertificates } from './certificates.ts'
import { forwardPorts } from './forward.ts'
import { migrateAll, seed } from './postgres/database.ts'
import { prepareLogins, requireLogin } from './postgres/logins.ts'
import { prepareDataDir } from './preflight/data-dir.ts'
import { requireFreePorts, type WantedPort } from './preflight/ports.ts'
import { explained } from './preflight/problems.ts'
import { writePrivateFile } from './private-file.ts'
import { takeLock } from './process/lock.ts'
import { openJournal } from './process/log-file.ts'
import { becomeReady, preloadedPart } from './process/node-part.ts'
import { type NodePart, processNames, type Stores, stopOrder } from './process/parts.ts'
import { type ProcessTable, type Supervisor, supervise } from './process/supervise.ts'
import { prepareSandboxFile, type SandboxFile, sandboxAddresses } from './sandbox-file.ts'
import { consoleKey, prepareSecrets } from './secrets.ts'
import {
  type LaunchSettings,
  natsPort,
  postgresPort,
  servingPort,
  simulatorPublicPort,
} from './settings.ts'
import { logsFolder, type PlannedStores, planStores } from './stores.ts'

/** What is started, and the callbacks for its progress. */
export type LaunchOptions = {
  settings: LaunchSettings
  /** Our processes for the stores that were found or started. */
  parts: (stores: Stores) => NodePart[]
  log: (line: string) => void
  /** Aborted when the start is to be given up. */
  stopping: AbortSignal
}

/** A system that is ready. */
export type Launched = { sandbox: SandboxFile; processes(): ProcessTable; stop(): Promise<void> }

/** How long the parts of a killed launcher may take to let go of their ports. */
const takeOverPatienceMs = 10_000

/**
 * Starts everything and resolves when all of it is ready. A start that fails leaves nothing running, and throws a LaunchError
 * where the person who starts can fix it.
 */
export async function launch(options: LaunchOptions): Promise<Launched> {
  try {
    return await launchLocked(options)
  } catch (error) {
    throw explained(error, options.settings.dataDir)
  }
}

async function launchLocked(options: LaunchOptions): Promise<Launched> {
  const { dataDir } = options.settings
  prepareDataDir(dataDir)
  const lock = takeLock(dataDir)
  let processes: ProcessTable = {}
  const supervisor = supervise({
    log: options.log,
    onChange: (now) => {
      processes = now
      writeProcesses(dataDir, now, options.log)
    },
  })
  const closing: (() => Promise<void>)[] = []
  const stop = async (): Promise<void> => {
    await Promise.all([supervisor.stop(stopOrder), ...closing.map((close) => close())])
    lock.release()
  }
  try {
    await requirePorts(options, lock.takenOver ? takeOverPatienceMs : 0)
    const sandbox = await bringUp(options, supervisor, closing)
    return { sandbox, processes: () => processes, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A full disk is no reason to end what runs: the file is then that of an earlier moment. */
function writeProcesses(dataDir: string, now: ProcessTable, log: (line: string) => void): void {
  const file = path.join(dataDir, 'processes.json')
  try {
    // None of them outlives the machine.
    writePrivateFile(file, `${JSON.stringify(now, null, 2)}\n`, false)
  } catch (error) {
    const why = explained(error, dataDir)
    log(`processes.json is not current: ${why instanceof Error ? why.message : String(why)}`)
  }
}

async function bringUp(
  options: LaunchOptions,
  supervisor: Supervisor,
  closing: (() => Promise<void>)[],
): Promise<SandboxFile> {
  const { settings, log, stopping } = options
  const { dataDir } = settings
  const logsDir = logsFolder(settings)
  fs.mkdirSync(logsDir, { recursive: true, mode: 0o700 })
  const portOf = (name: ServingProcess) => servingPort(settings, name)
  const isSecured = settings.rpcTls === 'required'
  const scheme = isSecured ? 'https' : 'http'
  const publicPort = simulatorPublicPort(settings)
  const addresses = sandboxAddresses(settings.publicBaseUrl, portOf, publicPort, scheme)
  const sandbox = prepareSandboxFile(dataDir, addresses)
  prepareSecrets(dataDir, processNames, sandbox.grpc_token)
  consoleKey(dataDir)
  if (isSecured) await prepareCertificates(dataDir, [...processNames, commandLine])
  closing.push(await forwardPorts(settings.forwardTo))
  const journal = openJournal(path.join(logsDir, 'launcher.log'))
  const planned = planStores(settings, supervisor, log, stopping)
  await planned.requireGiven(journal)
  // The parts load their code while the stores come up, which takes both processors' time, and begin when all is there.
  const mayBegin = Promise.withResolvers<void>()
  const parts = options
    .parts(planned.stores)
    .map((part) => preloadedPart(part, logsDir, mayBegin.promise))
  await Promise.all([
    supervisor.start(parts),
    planned.startBroker(journal).then((stream) => closing.push(() => stream.close())),
    planned.startDatabase().then(() => prepareDatabase(options, planned, sandbox, journal)),
  ])
  stopping.throwIfAborted()
  log('the database is up to date; the parts begin')
  mayBegin.resolve()
  await becomeReady(parts, supervisor, logsDir, stopping)
  return sandbox
}

/** Migrates, lets the services log in, and inserts what the sandbox starts with. */
async function prepareDatabase(
  { settings, stopping }: LaunchOptions,
  { adminUrl, loginOf }: PlannedStores,
  sandbox: SandboxFile,
  log: Logger,
): Promise<void> {
  const { dataDir, environment, databaseUrl: given } = settings
  stopping.throwIfAborted()
  await migrateAll(adminUrl, log)
  if (loginOf !== undefined) {
    await prepareLogins(adminUrl, dataDir, loginOf)
    if (given) await requireLogin(adminUrl, dataDir, loginOf)
  }
  await seed({ databaseUrl: adminUrl, dataDir, sandbox, environment, log })
}

function settingOf({ port, consolePort }: LaunchSettings, wanted: number): string {
  if (wanted === port) return 'PORT'
  return wanted === consolePort ? 'CONSOLE_PORT' : 'PORT_BASE'
}

async function requirePorts({ settings, parts }: LaunchOptions, patienceMs: number): Promise<void> {
  // The ports do not depend on the stores, and the settings of all parts are checked by the way.
  const planned = parts({ databaseUrl: 'postgres://planned/', natsUrl: 'nats://planned' })
  const wanted: WantedPort[] = planned.flatMap(({ name, ports }) =>
    ports.map((port) => ({
      part: name,
      port,
      setting: settingOf(settings, port),
      address: settings.listenAddress,
    })),
  )
  const forwarded = settings.forwardTo.map(({ host, port }) => ({ part: host, port }))
  wanted.push(...forwarded.map((one) => ({ ...one, setting: 'FORWARD_TO' })))
  if (!settings.databaseUrl) {
    wanted.push({ part: 'postgres', port: postgresPort(settings), setting: 'PORT_BASE' })
  }
  if (!settings.natsUrl)
    wanted.push({ part: 'nats', port: natsPort(settings), setting: 'PORT_BASE' })
  await requireFreePorts(wanted, patienceMs)
}
