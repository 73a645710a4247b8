// Starts nats-server with JetStream on a data folder.
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LaunchError } from '../preflight/launch-error.ts'
import { serverProblem } from '../preflight/problems.ts'
import { newPassword, readOrMakeFile } from '../private-file.ts'
import { keepBounded, openLog, tailOf } from '../process/log-file.ts'
import { type Exit, spawnTied, type TiedProcess } from '../process/tied-process.ts'
import { natsProgram } from './program.ts'

/** A running nats-server of ours. */
export type NatsServer = {
  /** Its URL, with user and password where one user may do everything. Secret then. */
  url: string
  pid: number
  port: number
  exited: Promise<Exit>
  stop(): Promise<Exit>
}

/** Where it runs. */
export type NatsAddress = {
  /** Made if absent; holds the streams and the configuration with the passwords. */
  dataDir: string
  port: number
}

/** Where and how to start. */
export type NatsOptions = NatsAddress & {
  log: (line: string) => void
  /** Where it writes its log; in `dataDir`, if not given. */
  logFile?: string
  /** A program to run in place of the one that would be found. */
  program?: string
  /** Lines of its configuration that say who may log in; without them one user who may do everything. */
  users?: string[]
  /** Makes it one server of a cluster, which knows it by a name that stays. */
  member?: { name: string; config: string[] }
}

const startTimeoutMs = 30_000
const stopTimeoutMs = 2_000
const user = 'payweave'
/**
 * As in production. Without a limit nats-server takes three quarters of what the disk has free when it starts: if the disk is
 * full then, next to nothing until it starts again.
 */
const maxFileStore = '18GB'

/** Without users of its own it has one who may do everything. */
function accessOf(
  dataDir: string,
  users: string[] | undefined,
): { lines: string[]; login: string } {
  if (users !== undefined) return { lines: users, login: '' }
  const password = readOrMakeFile(path.join(dataDir, 'password'), newPassword)
  const lines = [`authorization: { user: ${user}, password: "${password}" }`]
  return { lines, login: `${user}:${password}@` }
}

/** Starts nats-server, obtaining the program if need be, and answers when it takes connections. */
export async function startNats(options: NatsOptions): Promise<NatsServer> {
  const { port, log } = options
  const dataDir = path.resolve(options.dataDir)
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const { lines, login } = accessOf(dataDir, options.users)
  const program = options.program ?? (await natsProgram({ fallbackDir: dataDir, log }))
  const name = options.member?.name ?? `payweave-${randomBytes(6).toString('hex')}`
  const config = writeConfig(dataDir, port, name, [...lines, ...(options.member?.config ?? [])])
  const logFile = options.logFile ?? path.join(dataDir, 'nats.log')
  const server = await launch(program, config, dataDir, logFile)
  await becomesReady(server, port, name, dataDir, logFile)
  keepBounded(logFile, server.exited)
  log(`nats-server takes connections on port ${port}`)
  return {
    url: `nats://${login}127.0.0.1:${port}`,
    pid: server.pid,
    port,
    exited: server.exited,
    stop: () => server.end('SIGTERM', stopTimeoutMs),
  }
}

/** Passwords are in a file and not among the arguments, which every user can list. */
function writeConfig(dataDir: string, port: number, name: string, more: string[]): string {
  const file = path.join(dataDir, 'nats.conf')
  const text = [
    `server_name: ${name}`,
    `listen: "127.0.0.1:${port}"`,
    `jetstream: { store_dir: ${JSON.stringify(path.join(dataDir, 'store'))}, max_file_store: ${maxFileStore} }`,
    ...more,
    '',
  ].join('\n')
  fs.rmSync(file, { force: true })
  fs.writeFileSync(file, text, { mode: 0o600 })
  return file
}

async function launch(
  program: string,
  config: string,
  dataDir: string,
  logFile: string,
): Promise<TiedProcess> {
  const log = openLog(logFile)
  try {
    return await spawnTied({
      command: [program, '-c', config],
      deathSignal: 'TERM',
      env: { PATH: process.env.PATH, TZ: 'UTC' },
      stdio: ['ignore', log, log],
      cwd: dataDir,
    })
  } finally {
    fs.closeSync(log)
  }
}

/**
 * JetStream is recovered before the listener opens, so an INFO means that all of it is there. The
 * name in it, new at each start, distinguishes our server from another that holds the port.
 */
async function becomesReady(
  server: TiedProcess,
  port: number,
  name: string,
  dataDir: string,
  logFile: string,
): Promise<void> {
  const deadlineMs = Date.now() + startTimeoutMs
  while (server.alive() && Date.now() < deadlineMs) {
    if (await answersAs(port, name)) return
    await sleep(20)
  }
  await server.end('SIGKILL', 1_000)
  throw new LaunchError(serverProblem('nats-server', tailOf(logFile), dataDir, logFile))
}

function answersAs(port: number, name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1', timeout: 1_000 })
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('data', (info) => settle(info.includes(name)))
    socket.once('error', () => settle(false))
    socket.once('timeout', () => settle(false))
    socket.once('close', () => settle(false))
  })
}
