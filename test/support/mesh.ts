// Runs a whole system as `npm start` does, in a process of its own, for black-box tests. It knows no route and no table.
import fs from 'node:fs'
import path from 'node:path'
import { Client, type QueryResultRow } from 'pg'
import { spawnTied, type TiedProcess } from '../../deploy/local/process/tied-process.ts'
import type { SandboxFile } from '../../deploy/local/sandbox-file.ts'
import { eventually } from './eventually.ts'
import { freePortBlock, portBlock, temporaryFolder } from './servers.ts'

/** The running processes as listed in processes.json. */
export type ProcessTable = Record<string, { pid: number; ports: number[] }>

/** A system on this machine, seen from outside. */
export type Mesh = {
  sandbox: SandboxFile
  dataDir: string
  portBase: number
  processes(): ProcessTable
  pid(part: string): number
  /** What starts the parts, and starts again those that end. */
  launcherPid(): number
  /** All that the launcher has printed. */
  output(): string
  /** The superuser's URL of the system's database. */
  databaseUrl(): string
  /** Rows of the system's database, through a connection that cannot write. */
  rows<T extends QueryResultRow>(statement: string, values?: unknown[]): Promise<T[]>
  /** Resolves when GET /readyz answers 200. */
  ready(withinMs?: number): Promise<void>
  /** Sends SIGTERM, waits for the end and fails if anything is left running. */
  stop(): Promise<void>
  /** Ends all of it by SIGKILL, as the loss of its machine would; resolves when nothing runs any more. */
  kill(): Promise<void>
  /** Starts it again after a stop or a kill, on the same data and ports. */
  start(): Promise<void>
  /** Stops it if it runs and removes its data, unless that was in a given folder. */
  remove(): Promise<void>
}

/** What a mesh is started with; settings are those of `npm start`. */
export type MeshOptions = {
  settings?: Record<string, string>
  name?: string
  /** Where its data is, which stays; a new folder, which goes with it, if not given. */
  folder?: string
  /** Absolute: what starts it instead of what `npm start` runs, as that does. */
  script?: string
  /** Called with the first port of its block before anything is started. */
  onPorts?: (portBase: number) => void
}

const root = path.resolve(import.meta.dirname, '../..')
const startWithinMs = 180_000
const stopWithinMs = 30_000

/** Starts a system on free ports and a new data folder and waits until it is ready. */
export async function startMesh(options: MeshOptions = {}): Promise<Mesh> {
  const { settings = {}, name = 'mesh', folder = temporaryFolder(name) } = options
  const portBase = await freePortBlock()
  options.onPorts?.(portBase)
  const dataDir = path.join(folder, 'data')
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    // What the processes of one mesh have compiled serves those of the next.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    PORT_BASE: String(portBase),
    PORT: String(portBase + portBlock),
    PAYWEAVE_DATA_DIR: dataDir,
    ...settings,
  }
  const isOurs = options.folder === undefined
  const mesh = meshOf(folder, { dataDir, portBase, env, isOurs, script: options.script })
  try {
    await mesh.start()
  } catch (error) {
    await mesh.remove()
    throw error
  }
  return mesh
}

type Place = { dataDir: string; portBase: number }

/** A mesh that another process has started: what tests need of it, without its life. */
export type SharedMesh = Pick<
  Mesh,
  'sandbox' | 'dataDir' | 'portBase' | 'processes' | 'pid' | 'rows' | 'databaseUrl'
>

/** Looks at the system that runs on a data folder. */
export function meshAt(dataDir: string, portBase: number): SharedMesh {
  const read = (file: string): unknown =>
    JSON.parse(fs.readFileSync(path.join(dataDir, file), 'utf8'))
  const processes = () => read('processes.json') as ProcessTable
  return {
    sandbox: read('sandbox.json') as SandboxFile,
    dataDir,
    portBase,
    processes,
    pid: (part) => {
      const pid = processes()[part]?.pid
      if (pid === undefined) throw new Error(`${part} does not run`)
      return pid
    },
    rows: (statement, values) => queryRows(databaseUrlOf(dataDir, portBase), statement, values),
    databaseUrl: () => databaseUrlOf(dataDir, portBase),
  }
}

function meshOf(
  folder: string,
  {
    dataDir,
    portBase,
    env,
    isOurs,
    script,
  }: Place & {
    env: NodeJS.ProcessEnv
    isOurs: boolean
    script: string | undefined
  },
): Mesh {
  let launcher: Launcher | undefined
  const view = () => meshAt(dataDir, portBase)
  const isRunning = () => launcher?.alive() ?? false
  const output = () => launcher?.output() ?? ''
  const databaseUrl = () => env['DATABASE_URL'] ?? databaseUrlOf(dataDir, portBase)
  const baseUrl = `http://127.0.0.1:${env['PORT']}`
  const ready = (withinMs = startWithinMs) => becomeReady(baseUrl, withinMs, isRunning, output)
  const stop = async (): Promise<void> => {
    if (!isRunning() || launcher === undefined)
      throw new Error(`the launcher had ended: ${output()}`)
    const before = Object.entries(view().processes())
    const startedMs = Date.now()
    launcher.child.kill('SIGTERM')
    const { code } = await launcher.exited
    const tookMs = Date.now() - startedMs
    const left = before.filter(([, { pid }]) => runs(pid)).map(([name]) => name)
    left.push(...processesOf(folder))
    if (left.length > 0) throw new Error(`left running after the stop: ${left.join(', ')}`)
    if (code !== 0) throw new Error(`the launcher ended with ${code}: ${output()}`)
    if (tookMs > stopWithinMs) throw new Error(`the stop took ${tookMs} ms`)
    const now = Object.keys(view().processes())
    if (now.length > 0) throw new Error(`processes.json still names ${now.join(', ')}`)
  }
  return {
    get sandbox() {
      return view().sandbox
    },
    dataDir,
    portBase,
    processes: () => view().processes(),
    pid: (part) => view().pid(part),
    launcherPid: () => {
      if (launcher === undefined) throw new Error('it was never started')
      return launcher.pid
    },
    databaseUrl,
    rows: (statement, values) => queryRows(databaseUrl(), statement, values),
    output,
    ready,
    start: async () => {
      launcher = await launch(env, script)
      await ready()
    },
    stop,
    kill: async () => {
      const pids = Object.values(view().processes()).map(({ pid }) => pid)
      // The launcher first, so that it starts nothing again.
      launcher?.child.kill('SIGKILL')
      for (const pid of pids) if (runs(pid)) process.kill(pid, 'SIGKILL')
      await eventually(() => processesOf(folder).length === 0)
    },
    remove: async () => {
      try {
        if (isRunning()) await stop()
      } finally {
        if (isOurs) fs.rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/** What `npm start` gives to node. */
const startArguments = (): string[] => {
  const { scripts } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  return scripts.start.replace(/^exec node /, '').split(' ')
}

type Launcher = TiedProcess & { output(): string }

/** A launcher that is stopped when the test's process is killed. */
async function launch(env: NodeJS.ProcessEnv, script?: string): Promise<Launcher> {
  const words = startArguments()
  if (script !== undefined) words[words.length - 1] = script
  const launcher = await spawnTied({
    command: [process.execPath, ...words],
    deathSignal: 'TERM',
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [launcher.child.stdout, launcher.child.stderr]) {
    stream?.on('data', (text) => {
      output += String(text)
    })
  }
  return { ...launcher, output: () => output }
}

async function becomeReady(
  baseUrl: string,
  withinMs: number,
  isRunning: () => boolean,
  output: () => string,
): Promise<void> {
  await eventually(async () => {
    if (!isRunning()) return
    const last = await readiness(baseUrl)
    if (!last.startsWith('200 ')) throw new Error(`not ready, /readyz: ${last}; ${output()}`)
  }, withinMs)
  if (!isRunning()) throw new Error(`the launcher ended: ${output()}`)
}

async function readiness(baseUrl: string): Promise<string> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.timeout(5_000) })
    return `${answer.status} ${await answer.text()}`
  } catch (error) {
    return String(error)
  }
}

function databaseUrlOf(dataDir: string, portBase: number): string {
  const password = fs.readFileSync(path.join(dataDir, 'postgres', 'password'), 'utf8').trim()
  return `postgres://postgres:${password}@127.0.0.1:${portBase + 20}/payweave`
}

/** Rows of a database, through a connection that cannot write. */
export async function queryRows<T extends QueryResultRow>(
  url: string,
  statement: string,
  values: unknown[] = [],
): Promise<T[]> {
  const client = new Client({
    connectionString: url,
    options: '-c default_transaction_read_only=on',
  })
  await client.connect()
  try {
    return (await client.query<T>(statement, values)).rows
  } finally {
    await client.end()
  }
}

/** Returns whether a process runs; one that only waits to be reaped has ended. */
export function runs(pid: number): boolean {
  try {
    return !/^State:\s*[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** All processes that have the folder in their command line or environment. */
function processesOf(folder: string): string[] {
  const found: string[] = []
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (pid === String(process.pid) || !runs(Number(pid))) continue
    try {
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      const environment = fs.readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (`${command}\0${environment}`.includes(folder)) found.push(`${pid} ${command}`)
    } catch {
      // Ended meanwhile, or not ours to read.
    }
  }
  return found
}
