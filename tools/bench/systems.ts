// Starts what is measured, each time on an empty folder: the whole mesh or the yardstick.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServingProcess } from '#platform/config/setting.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { makeDatabase, migrateAll, seed } from '../../deploy/local/postgres/database.ts'
import { startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { nodeParts, processNames } from '../../deploy/local/process/parts.ts'
import { spawnTied, type TiedProcess } from '../../deploy/local/process/tied-process.ts'
import {
  prepareSandboxFile,
  type SandboxFile,
  sandboxAddresses,
} from '../../deploy/local/sandbox-file.ts'
import { prepareSecrets } from '../../deploy/local/secrets.ts'
import {
  readLaunchSettings,
  servingPort,
  simulatorPublicPort,
} from '../../deploy/local/settings.ts'
import { type Target, targetOf } from './load/requests.ts'

/** Something that answers the API. */
export type System = {
  target: Target
  sandbox: SandboxFile
  /** Whose CPU is counted; a pid stands for its descendants too. */
  pids: Record<string, number>
  /** The superuser's URL of the database. */
  databaseUrl: string
  /** Ends what answers the API, and with it the mesh; the yardstick's PostgreSQL stays. */
  stopServing(): Promise<void>
  stop(): Promise<void>
}

/** Where a mesh listens: the gateway's port, and the first one of its block. */
export type Ports = { port: number; portBase: number; consolePort: number }

/** Away from the ports of a local start and of the tests. */
const ports: Ports = { port: 18_180, portBase: 17_100, consolePort: 17_122 }
/** Where the console of a mesh is, on its usual ports. */
export const consoleUrl = `http://127.0.0.1:${ports.consolePort}`
/** For a second mesh at the same time. */
export const secondPorts: Ports = { port: 18_181, portBase: 17_130, consolePort: 17_152 }
const readyWithinMs = 60_000
const stopWithinMs = 30_000
const bench = import.meta.dirname
/** The yardsticks send no messages. */
const nowhere = 'nats://127.0.0.1:1'

/** A new folder that PostgreSQL's own user may enter. */
export function emptyFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-bench-'))
  fs.chmodSync(folder, 0o711)
  return folder
}

/** A launcher that was spawned, and how long it took to be ready. */
export type StartedMesh = { launcher: TiedProcess; readyMs: number }

/** Spawns a command that launches the mesh on a folder; resolves when the gateway says that all is ready. */
export async function launchMesh(
  command: string[],
  dataDir: string,
  env: Record<string, string> = {},
  at = ports,
): Promise<StartedMesh> {
  const startedMs = performance.now()
  const launcher = await spawnTied({
    command,
    // It ends with us, however we end.
    deathSignal: 'TERM',
    cwd: path.resolve(bench, '../..'),
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      PORT: String(at.port),
      PORT_BASE: String(at.portBase),
      PAYWEAVE_DATA_DIR: dataDir,
      ...env,
    },
  })
  const url = `http://127.0.0.1:${at.port}/readyz`
  while (!(await answersOk(url))) {
    if (!launcher.alive()) throw new Error('the mesh did not start')
    if (performance.now() - startedMs > readyWithinMs) throw new Error('the mesh is not ready')
    await sleep(20)
  }
  return { launcher, readyMs: performance.now() - startedMs }
}

/** Ends a launcher and with it the mesh. */
export async function stopLauncher({ launcher }: Pick<StartedMesh, 'launcher'>): Promise<void> {
  if (launcher.alive()) await launcher.end('SIGTERM', stopWithinMs)
}

/** The mesh of a data folder as it stands in its files. */
export function readMesh(
  dataDir: string,
  { portBase } = ports,
): Pick<System, 'sandbox' | 'pids' | 'databaseUrl'> {
  const read = (name: string): string => fs.readFileSync(path.join(dataDir, name), 'utf8')
  const processes = JSON.parse(read('processes.json')) as Record<string, { pid: number }>
  const password = read('postgres/password').trim()
  return {
    sandbox: JSON.parse(read('sandbox.json')) as SandboxFile,
    pids: Object.fromEntries(Object.entries(processes).map(([name, { pid }]) => [name, pid])),
    databaseUrl: `postgres://postgres:${password}@127.0.0.1:${portBase + 20}/payweave`,
  }
}

/** The product: every process of it, as `npm start` runs them. */
export async function startMesh(env: Record<string, string> = {}): Promise<System> {
  return await startMeshOn(emptyFolder(), env)
}

/** The product on a folder that may have been used before; it is removed in the end. */
export async function startMeshOn(
  dataDir: string,
  env: Record<string, string> = {},
  at = ports,
): Promise<System> {
  const command = [process.execPath, path.join(bench, 'mesh.ts')]
  const launched = await launchMesh(command, dataDir, env, at)
  const stopServing = () => stopLauncher(launched)
  const mesh = readMesh(dataDir, at)
  return {
    ...mesh,
    target: targetOf(mesh.sandbox, at.port),
    stopServing,
    async stop() {
      await stopServing()
      fs.rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Only the PostgreSQL of a folder that the mesh has used, with other settings if wanted. */
export async function onDatabaseOf(
  dataDir: string,
  settings: Record<string, string>,
  work: (databaseUrl: string) => Promise<void>,
): Promise<void> {
  const postgres = await startPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    port: ports.portBase + 20,
    log: () => undefined,
    settings,
  })
  try {
    await work(readMesh(dataDir).databaseUrl)
  } finally {
    await postgres.stop()
  }
}

/** Works on a PostgreSQL of a local start on an empty folder, by its superuser's URL. */
export async function onServer<T>(work: (serverUrl: string) => Promise<T>): Promise<T> {
  const folder = emptyFolder()
  const postgres = await startPostgres({
    dataDir: path.join(folder, 'postgres'),
    port: ports.portBase + 20,
    log: () => undefined,
  })
  try {
    return await work(postgres.adminUrl)
  } finally {
    await postgres.stop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** A program that answers in place of the mesh, and what it needs beside PostgreSQL. */
export type Yardstick = {
  /** File in this folder. */
  program: string
  /** Whose secrets and settings it has. */
  service: ServingProcess
  /** Other parts of the product that it depends on. */
  parts?: ServingProcess[]
  env?: Record<string, string>
}

const ofPayments: Yardstick = { program: 'one-process.ts', service: 'payments' }

/** A yardstick: PostgreSQL with the same settings, schemas and rows, and one program. */
export async function startOneProcess(yardstick: Yardstick = ofPayments): Promise<System> {
  const dataDir = emptyFolder()
  const log = createLogger({ part: 'bench', level: 'warn' })
  const addresses = sandboxAddresses(
    `http://127.0.0.1:${ports.port}`,
    (name) => servingPort(ports, name),
    simulatorPublicPort(ports),
  )
  const sandbox = prepareSandboxFile(dataDir, addresses)
  prepareSecrets(dataDir, processNames, sandbox.grpc_token)
  const postgres = await startPostgres({
    dataDir: path.join(dataDir, 'postgres'),
    port: ports.portBase + 20,
    log: () => undefined,
  })
  const databaseUrl = await makeDatabase(postgres.adminUrl, 'payweave')
  await migrateAll(databaseUrl, log)
  await seed({ databaseUrl, dataDir, sandbox, environment: 'local', log })
  const env = { ...process.env, PORT: String(ports.port), PORT_BASE: String(ports.portBase) }
  const launch = readLaunchSettings({ ...env, PAYWEAVE_DATA_DIR: dataDir })
  const parts = nodeParts(launch, { databaseUrl, natsUrl: nowhere }, process.env)
  const beside = parts.filter(({ name }) => yardstick.parts?.some((wanted) => wanted === name))
  const running: Program[] = []
  for (const { name, script, env: own } of beside) running.push(await run(name, script, own))
  const program = await run('one process', path.join(bench, 'yardsticks', yardstick.program), {
    ...env,
    DATABASE_URL: databaseUrl,
    NATS_URL: nowhere,
    SECRETS_DIR: path.join(dataDir, 'secrets', yardstick.service),
    ACCOUNTS_SECRETS_DIR: path.join(dataDir, 'secrets', 'accounts'),
    ...yardstick.env,
  })
  running.unshift(program)
  const stopServing = async () => {
    for (const one of running) await one.stop()
  }
  const pids = running.map(({ name, pid }) => [name, pid] as const)
  return {
    target: targetOf(sandbox, ports.port),
    sandbox,
    pids: { ...Object.fromEntries(pids), postgres: postgres.pid },
    databaseUrl,
    stopServing,
    async stop() {
      await stopServing()
      await postgres.stop()
      fs.rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

type Program = { name: string; pid: number; stop(): Promise<void> }

/** Forks a script that sends a message when it is ready and ends when its channel is closed. */
async function run(name: string, script: string, env: NodeJS.ProcessEnv): Promise<Program> {
  const program = fork(script, { env })
  await once(program, 'message')
  return {
    name,
    pid: program.pid ?? 0,
    async stop() {
      if (program.exitCode !== null) return
      const ended = once(program, 'exit')
      program.disconnect()
      await ended
    },
  }
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) })
    await answer.body?.cancel()
    return answer.status === 200
  } catch {
    return false
  }
}
