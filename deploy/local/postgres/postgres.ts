// Starts the bundled PostgreSQL on a data folder.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from '../preflight/launch-error.ts'
import { serverProblem } from '../preflight/problems.ts'
import { newPassword, readOrMakeFile } from '../private-file.ts'
import { keepBounded, openLog, tailOf } from '../process/log-file.ts'
import { type Exit, spawnTied, type TiedProcess } from '../process/tied-process.ts'
import {
  type PostgresIdentity,
  type PostgresPrograms,
  postgresIdentity,
  postgresPrograms,
} from './binaries.ts'
import { endOrphan } from './orphan.ts'

/** A running PostgreSQL of ours. */
export type PostgresServer = {
  /** The superuser's URL on the database `postgres`. Secret. */
  adminUrl: string
  pid: number
  port: number
  exited: Promise<Exit>
  /** Fast shutdown: open transactions are rolled back, committed ones are on disk. */
  stop(): Promise<Exit>
}

/** Where it runs. */
export type PostgresAddress = {
  /** Made if absent; holds the cluster and the superuser's password. */
  dataDir: string
  port: number
}

/** Where and how to start. */
export type PostgresOptions = PostgresAddress & {
  log: (line: string) => void
  /** Where it writes its log; in `dataDir`, if not given. */
  logFile?: string
  /** Further settings, which win over the standard ones. */
  settings?: Record<string, string>
}

/** Durable as in production; sized as the sandbox of the manifests, of which an idle mesh touches little. */
const standardSettings = {
  listen_addresses: '127.0.0.1',
  // No socket file: its path may be too long, and TCP serves every client alike.
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '512MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_compression: 'pglz',
  max_wal_size: '1GB',
  checkpoint_timeout: '15min',
  huge_pages: 'off',
  max_parallel_workers_per_gather: '0',
  // Prepared plans of tables that were empty last until the first look at their rows: that comes soon.
  autovacuum_naptime: '10s',
}

const startTimeoutMs = 60_000
// Within the 30 s that the whole system has; an unfinished shutdown is recovered at the next start.
const stopTimeoutMs = 5_000

/** The superuser's URL of the server that will run on a folder; makes the folder if need be. Secret. */
export function plannedPostgresUrl({ dataDir, port }: PostgresAddress): string {
  return adminUrl(preparePassword(path.resolve(dataDir)), port)
}

function adminUrl(password: string, port: number): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

function preparePassword(dataDir: string): string {
  fs.mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
  return readOrMakeFile(path.join(dataDir, 'password'), newPassword)
}

/** Starts PostgreSQL, making the cluster on the first start, and answers when it takes connections. */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const { port, log } = options
  const dataDir = path.resolve(options.dataDir)
  const password = preparePassword(dataDir)
  const programs = postgresPrograms()
  const identity = postgresIdentity(programs, dataDir)
  const cluster = path.join(dataDir, 'cluster')
  if (fs.existsSync(cluster)) {
    await endOrphan(cluster, log)
    ownAll(cluster, identity)
  } else {
    log('making a new PostgreSQL cluster')
    await makeCluster({ dataDir, cluster, programs, identity, password })
  }
  const server = await launch({ ...options, dataDir }, cluster, programs, identity)
  log(`PostgreSQL takes connections on port ${port}`)
  return {
    adminUrl: adminUrl(password, port),
    pid: server.pid,
    port,
    exited: server.exited,
    stop: () => stop(server),
  }
}

/** initdb works in a folder beside the final one, so that a killed first start leaves no half cluster. */
async function makeCluster(made: {
  dataDir: string
  cluster: string
  programs: PostgresPrograms
  identity: PostgresIdentity
  password: string
}): Promise<void> {
  const { programs, identity } = made
  const fresh = path.join(made.dataDir, 'cluster.new')
  const passwordFile = path.join(made.dataDir, 'initdb-password')
  fs.rmSync(fresh, { recursive: true, force: true })
  fs.rmSync(passwordFile, { force: true })
  fs.mkdirSync(fresh, { mode: 0o700 })
  fs.writeFileSync(passwordFile, made.password, { mode: 0o600 })
  ownAll(fresh, identity)
  ownAll(passwordFile, identity)
  const log = fs.openSync(path.join(made.dataDir, 'initdb.log'), 'w', 0o600)
  try {
    const initdb = await spawnTied({
      command: [programs.initdb, '-D', fresh, '-U', 'postgres', ...initdbOptions(passwordFile)],
      runAs: identity.runAs,
      deathSignal: 'TERM',
      env: serverEnv(),
      stdio: ['ignore', log, log],
      cwd: made.dataDir,
    })
    const { code } = await initdb.exited
    if (code !== 0) {
      const file = path.join(made.dataDir, 'initdb.log')
      throw new LaunchError(serverProblem('PostgreSQL', tailOf(file), made.dataDir, file))
    }
  } finally {
    fs.closeSync(log)
    fs.rmSync(passwordFile, { force: true })
  }
  fs.renameSync(fresh, made.cluster)
}

function initdbOptions(passwordFile: string): string[] {
  const auth = ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  return [...auth, '--encoding=UTF8', '--locale=C', '--no-instructions']
}

async function launch(
  options: PostgresOptions,
  cluster: string,
  programs: PostgresPrograms,
  identity: PostgresIdentity,
): Promise<TiedProcess> {
  const logFile = options.logFile ?? path.join(options.dataDir, 'postgres.log')
  const settings = { ...standardSettings, port: String(options.port), ...options.settings }
  const assignments = Object.entries(settings).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const deadlineMs = Date.now() + startTimeoutMs
  const log = openLog(logFile)
  try {
    for (;;) {
      const from = fs.statSync(logFile).size
      const server = await spawnTied({
        command: [programs.postgres, '-D', cluster, ...assignments],
        runAs: identity.runAs,
        deathSignal: 'INT',
        env: serverEnv(),
        stdio: ['ignore', log, log],
        cwd: options.dataDir,
      })
      if (await becomesReady(server, cluster, deadlineMs)) {
        keepBounded(logFile, server.exited)
        return server
      }
      const said = tailOf(logFile, from)
      // Backends of a killed server need a moment to notice and to let go of its memory.
      if (!said.includes('shared memory block') || Date.now() > deadlineMs) {
        throw new LaunchError(serverProblem('PostgreSQL', said, options.dataDir, logFile))
      }
      await sleep(200)
    }
  } finally {
    fs.closeSync(log)
  }
}

/** The server writes its pid and, on line 8, its state into a file, which pg_ctl reads too. */
async function becomesReady(
  server: TiedProcess,
  cluster: string,
  deadlineMs: number,
): Promise<boolean> {
  const pidFile = path.join(cluster, 'postmaster.pid')
  while (server.alive()) {
    const lines = fs.existsSync(pidFile) ? fs.readFileSync(pidFile, 'utf8').split('\n') : []
    const ours = lines[0]?.trim() === String(server.pid)
    if (ours && lines[7]?.trim() === 'ready') return true
    if (Date.now() > deadlineMs) {
      await server.end('SIGQUIT', 5_000)
      return false
    }
    await sleep(15)
  }
  return false
}

async function stop(server: TiedProcess): Promise<Exit> {
  if (server.alive()) server.child.kill('SIGINT')
  const waited = new AbortController()
  const late = sleep(stopTimeoutMs, 'late' as const, { signal: waited.signal }).catch(
    () => 'late' as const,
  )
  const first = await Promise.race([server.exited, late])
  waited.abort()
  // SIGQUIT ends every backend at once; the next start recovers from the log.
  return first === 'late' ? server.end('SIGQUIT', 2_000) : first
}

function ownAll(file: string, { owner }: PostgresIdentity): void {
  if (!owner) return
  const stat = fs.lstatSync(file)
  if (stat.uid === owner.uid && stat.gid === owner.gid) return
  if (stat.isDirectory()) {
    for (const entry of fs.readdirSync(file)) ownAll(path.join(file, entry), { owner, runAs: [] })
  }
  // The folder last: an interrupted change is then begun again.
  fs.lchownSync(file, owner.uid, owner.gid)
}

function serverEnv(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
}
