// PostgreSQL and NATS servers for tests that need one of their own, to stop or to kill.
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { connectNats } from '#platform/events/nats/nats.ts'
import { startStreamController } from '#platform/events/stream-controller.ts'
import { consumedSubjects, durablesOf } from '#platform/events/topology.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { type NatsServer, startNats } from '../../deploy/local/nats/nats.ts'
import { type PostgresServer, startPostgres } from '../../deploy/local/postgres/postgres.ts'
import { eventually } from './eventually.ts'

/** A server on a port and folder that stay the same over stop, kill and start. */
export type TestServer = {
  /** PostgreSQL: the superuser's URL on the database `postgres`. NATS: the URL with its user. */
  url: string
  /** Holds all that it stores, and its configuration. */
  dataDir: string
  pid(): number
  /** Ends it in an orderly way; what it has stored stays. */
  stop(): Promise<void>
  /** SIGKILL, as a crash would; resolves when it is gone. */
  kill(): Promise<void>
  /** Starts it again after stop or kill. */
  start(): Promise<void>
  /** Stops it and removes its folder. */
  remove(): Promise<void>
}

/** Below the range that systems take ports from by themselves, and above the blocks of whole systems. */
const portRange = { first: 29_100, count: 3_600 }
/** A file for each port that a process of tests has got: it may be long until it is used. */
const portFolder = path.join(os.tmpdir(), `payweave-ports-${process.getuid?.() ?? 0}`)

/** Ports that nobody listens on, all different. No other process of tests gets them while this one lives. */
export async function freePorts(count: number): Promise<number[]> {
  fs.mkdirSync(portFolder, { recursive: true })
  const ports: number[] = []
  while (ports.length < count) {
    const port = portRange.first + Math.floor(Math.random() * portRange.count)
    if (takePort(port) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/** How many ports a local start takes from its PORT_BASE on; the gateway of a test gets the next one. */
export const portBlock = 22
const blockRange = { first: 10_000, count: 600, step: 30 }

/** The first of `portBlock` + 1 ports in a row that nobody listens on. No other process of tests gets them while this one lives. */
export async function freePortBlock(): Promise<number> {
  while (true) {
    const first = blockRange.first + Math.floor(Math.random() * blockRange.count) * blockRange.step
    if (!takePort(first)) continue
    const ports = Array.from({ length: portBlock + 1 }, (_, index) => first + index)
    const free = await Promise.all(ports.map(isFree))
    if (free.every(Boolean)) return first
  }
}

function takePort(port: number): boolean {
  const file = path.join(portFolder, String(port))
  try {
    fs.writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    // Of a process that has ended, it is free from the next look on.
    if (!lives(file)) fs.rmSync(file, { force: true })
    return false
  }
}

function lives(file: string): boolean {
  try {
    process.kill(Number(fs.readFileSync(file, 'utf8')) || process.pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

/** A new folder below the system's temporary one, which a server's own user may enter. */
export function temporaryFolder(name: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `payweave-${name}-`))
  fs.chmodSync(folder, 0o711)
  return folder
}

/** Starts a PostgreSQL for one test. */
export async function ownPostgres(settings?: Record<string, string>): Promise<TestServer> {
  const [port = 0] = await freePorts(1)
  const folder = temporaryFolder('postgres')
  const options = { dataDir: path.join(folder, 'postgres'), port, log: () => {} }
  return testServer(folder, options.dataDir, async () => {
    const server: PostgresServer = await startPostgres(
      settings ? { ...options, settings } : options,
    )
    return { url: server.adminUrl, ...server }
  })
}

/** Starts a NATS server for one test. */
export async function ownNats(): Promise<TestServer> {
  const [port = 0] = await freePorts(1)
  const folder = temporaryFolder('nats')
  const dataDir = path.join(folder, 'nats')
  return testServer(folder, dataDir, () => startNats({ dataDir, port, log: () => {} }))
}

/**
 * Makes a nats-server of ours go on without JetStream, as 2.9.10 does after a full disk: it takes connections and events have
 * nowhere to go. Lasts until its next start.
 */
export function disableJetStream(dataDir: string, pid: number): void {
  const config = path.join(dataDir, 'nats.conf')
  const text = fs.readFileSync(config, 'utf8')
  fs.writeFileSync(config, text.replace(/^jetstream: .*$/m, ''))
  process.kill(pid, 'SIGHUP')
}

/** Starts a NATS server for one test with the stream and the consumers of the mesh, as an installation has it. */
export async function ownBroker(): Promise<TestServer> {
  const server = await ownNats()
  const stream = await keepStream(server.url)
  const remove = async () => {
    await stream.close()
    await server.remove()
  }
  return { ...server, remove }
}

/**
 * Keeps the stream on a broker as the stream controller of an installation does, with the consumers of the mesh and of
 * `subjects`, by consumer. Resolves when they are there.
 */
export async function keepStream(
  url: string,
  subjects: Record<string, readonly string[]> = {},
  replicas = 1,
): Promise<{ close(): Promise<void> }> {
  const log = createLogger({ part: 'test', level: 'silent' })
  const nats = connectNats({ url, name: 'stream-controller', log, stream: { replicas } })
  const consumers = durablesOf({ ...consumedSubjects, ...subjects })
  const controller = startStreamController({ nats, consumers, log })
  await eventually(() => controller.ready())
  return {
    async close() {
      await controller.close()
      await nats.close()
    },
  }
}

type Started = { url: string } & Pick<NatsServer, 'pid' | 'exited' | 'stop'>

async function testServer(
  folder: string,
  dataDir: string,
  start: () => Promise<Started>,
): Promise<TestServer> {
  let server = await start()
  const stop = async () => {
    await server.stop()
  }
  return {
    url: server.url,
    dataDir,
    pid: () => server.pid,
    stop,
    kill: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
    },
    start: async () => {
      server = await start()
    },
    remove: async () => {
      await stop()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}
