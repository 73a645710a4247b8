// A NATS cluster of three on this machine whose servers can be killed, frozen, cut off from each other and wiped. It must not
// know what its stream carries.

import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { connect, type JetStreamManager, type StreamInfo } from 'nats'
import { type NatsServer, startNats } from '../../deploy/local/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import { freeze } from '../support/freeze.ts'
import { freePorts, keepStream, temporaryFolder } from '../support/servers.ts'

const size = 3
const stream = 'PAYWEAVE'

/** One server; it keeps its name, ports and store over stops. */
export type Member = {
  name: string
  kill(): Promise<void>
  /** Stops it in its tracks: its connections stay and nothing answers. */
  freeze(): Promise<void>
  thaw(): void
  /** Ends its connections to the other servers, and lets none through; clients still reach it. */
  cutOff(): void
  rejoin(): void
  /** Removes what it has stored; it must be down. */
  wipe(): void
  start(): Promise<void>
}

export type Cluster = {
  /** The addresses of all three, comma-separated. */
  url: string
  /** Which server leads the stream, and how far the others are. */
  streamInfo(): Promise<StreamInfo>
  leader(): Promise<Member>
  /** Kills all three and starts them again with their stores. */
  restart(): Promise<void>
  /** Name of the server that leads a consumer; undefined while none does. */
  consumerLeader(durable: string): Promise<string | undefined>
  remove(): Promise<void>
}

/**
 * Starts three servers, with a controller of the stream and of the consumers of `subjects`. Their routes pass through us, so
 * that we can cut them.
 */
export async function startCluster(subjects: Record<string, readonly string[]>): Promise<Cluster> {
  const folder = temporaryFolder('cluster')
  const ports = await freePorts(3 * size)
  const indexes = Array.from({ length: size }, (_, index) => index)
  const place = (index: number) => ({
    name: `n${index}`,
    port: ports[index] ?? 0,
    routePort: ports[size + index] ?? 0,
    proxyPort: ports[2 * size + index] ?? 0,
  })
  const places = indexes.map(place)
  const password = 'of-a-test'
  const routes = await startRoutes(places)
  const starting = places.map(async (own) => {
    const dataDir = path.join(folder, own.name)
    fs.mkdirSync(dataDir, { recursive: true })
    fs.writeFileSync(path.join(dataDir, 'password'), password, { mode: 0o600 })
    return await startMember({ ...own, dataDir, config: clusterConfig(own, places) }, routes)
  })
  const members = await Promise.all(starting)
  const url = places.map(({ port }) => `nats://payweave:${password}@127.0.0.1:${port}`).join(',')
  const kept = await keepStream(url, subjects, size)

  async function ask<T>(question: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    const servers = places.map(({ port }) => `127.0.0.1:${port}`)
    const connection = await connect({ servers, user: 'payweave', pass: password, timeout: 2_000 })
    try {
      return await question(await connection.jetstreamManager({ checkAPI: false, timeout: 2_000 }))
    } finally {
      await connection.close()
    }
  }

  const streamInfo = () => ask(({ streams }) => streams.info(stream))

  return {
    url,
    streamInfo,
    // A server that is slow to answer, and an election, are waited for.
    leader: () =>
      eventually(async () => {
        const { cluster } = await streamInfo()
        const found = members.find(({ name }) => name === cluster?.leader)
        if (found === undefined) throw new Error('the stream has no leader')
        return found
      }),
    async restart() {
      await Promise.all(members.map((member) => member.kill()))
      await Promise.all(members.map((member) => member.start()))
    },
    async consumerLeader(durable) {
      const { cluster } = await ask(({ consumers }) => consumers.info(stream, durable))
      return cluster?.leader
    },
    async remove() {
      await kept.close()
      await Promise.all(members.map((member) => member.end()))
      await routes.close()
      fs.rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Place = { name: string; port: number; routePort: number; proxyPort: number }

function clusterConfig(own: Place, all: Place[]): string[] {
  const others = all.filter(({ name }) => name !== own.name)
  return [
    'cluster {',
    '  name: test',
    `  listen: "127.0.0.1:${own.routePort}"`,
    // The address that the other servers learn for this one, so that every route uses the proxy.
    `  advertise: "127.0.0.1:${own.proxyPort}"`,
    `  routes: [${others.map(({ proxyPort }) => `"nats-route://127.0.0.1:${proxyPort}"`).join(', ')}]`,
    '  no_advertise: true',
    '}',
  ]
}

async function startMember(
  { name, port, dataDir, config }: Place & { dataDir: string; config: string[] },
  routes: Routes,
) {
  const start = (): Promise<NatsServer> =>
    startNats({ dataDir, port, log: () => {}, member: { name, config } })
  let server: NatsServer | undefined = await start()
  let thaw = () => {}
  const kill = async (): Promise<void> => {
    if (server === undefined) return
    thaw()
    process.kill(server.pid, 'SIGKILL')
    await server.exited
    server = undefined
  }
  return {
    name,
    kill,
    async freeze() {
      if (server !== undefined) thaw = await freeze(server.pid)
    },
    thaw: () => thaw(),
    cutOff: () => routes.cutOff(name),
    rejoin: () => routes.rejoin(name),
    wipe: () => fs.rmSync(path.join(dataDir, 'store'), { recursive: true }),
    async start() {
      server = await start()
    },
    end: kill,
  }
}

type Routes = { cutOff(name: string): void; rejoin(name: string): void; close(): Promise<void> }

/** A server that opens a route says its name in its first words. */
const saidName = /"server_name":"(n\d)"/

async function startRoutes(places: Place[]): Promise<Routes> {
  const cut = new Set<string>()
  const open = new Set<{ from: string; to: string; end(): void }>()

  const proxies = places.map(({ name: to, routePort, proxyPort }) => {
    const proxy = net.createServer((near) => {
      const far = net.connect(routePort, '127.0.0.1')
      const end = () => {
        near.destroy()
        far.destroy()
        open.delete(route)
      }
      const route = { from: '', to, end }
      open.add(route)
      let said = ''
      near.on('data', (bytes) => {
        if (route.from !== '') return
        said += bytes.toString('latin1')
        route.from = saidName.exec(said)?.[1] ?? ''
        if (cut.has(route.from)) end()
      })
      for (const socket of [near, far]) socket.on('error', end).on('close', end)
      if (cut.has(to)) return end()
      near.pipe(far)
      far.pipe(near)
    })
    return proxy.listen(proxyPort, '127.0.0.1')
  })
  await Promise.all(proxies.map((proxy) => once(proxy, 'listening')))
  return {
    cutOff(name) {
      cut.add(name)
      for (const route of open) if ([route.from, route.to].includes(name)) route.end()
    },
    rejoin: (name) => cut.delete(name),
    async close() {
      const closed = proxies.map((proxy) => new Promise((resolve) => proxy.close(resolve)))
      for (const route of open) route.end()
      await Promise.all(closed)
    },
  }
}
