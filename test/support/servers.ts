// PostgreSQL and NATS servers for tests that need one of their own, to stop or to kill.
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { type NatsServer, startNats } from '../../deploy/local/nats.ts'
import { type PostgresServer, startPostgres } from '../../deploy/local/postgres.ts'

/** A server on a port and folder that stay the same over stop, kill and start. */
export type TestServer = {
  /** PostgreSQL: the superuser's URL on the database `postgres`. NATS: the URL with its user. */
  url: string
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

/** Ports that nobody listens on at this moment, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = await Promise.all(Array.from({ length: count }, () => holdPort()))
  const ports = holders.map((holder) => (holder.address() as net.AddressInfo).port)
  await Promise.all(holders.map((holder) => new Promise((resolve) => holder.close(resolve))))
  return ports
}

function holdPort(): Promise<net.Server> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve(server))
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
  return testServer(folder, async () => {
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
  return testServer(folder, () => startNats({ dataDir, port, log: () => {} }))
}

type Started = { url: string } & Pick<NatsServer, 'pid' | 'exited' | 'stop'>

async function testServer(folder: string, start: () => Promise<Started>): Promise<TestServer> {
  let server = await start()
  const stop = async () => {
    await server.stop()
  }
  return {
    url: server.url,
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
