// Tests that a reader of the live tail that stops reading only misses changes itself, and then loses its stream.
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import http2 from 'node:http2'
import net from 'node:net'
import path from 'node:path'
import { create, toBinary } from '@bufbuild/protobuf'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  DeliveryChangesSchema,
  DeliveryKind,
  DeliveryService,
  type TailDeliveriesResponse,
} from '#gen/payweave/delivery/v1/delivery_pb.js'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { bearerIdentity, openIdentity } from '#platform/rpc/auth/identity.ts'
import { writeIdentities } from '#platform/rpc/auth/trust.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import { serveRpc } from '#platform/rpc/server/server.ts'
import { deliveryService } from '../../services/delivery/api/deliveries.ts'
import { createTail } from '../../services/delivery/api/tail.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ownNats, type TestServer, temporaryFolder } from '../support/servers.ts'
import { migrations } from './harness.ts'
import { bearer, type DeliveryProcess, startDeliveryProcess } from './process.ts'

const projectId = randomUUID()
const rpc = '/payweave.delivery.v1.DeliveryService/TailDeliveries'
const longText = 'x'.repeat(8_000)
const changesAtOnce = 100

let broker: TestServer
let database: TestDatabase
let nats: Nats

beforeAll(async () => {
  // Not shared: the megabytes that this test publishes would disturb other tests.
  ;[broker, database] = await Promise.all([ownNats(), createTestDatabase('delivery', migrations)])
  nats = connectNats({ url: broker.url, name: 'other-replica', log: silentLog })
  await eventually(() => nats.ready())
})
afterAll(async () => {
  await nats.close()
  await database.drop()
  await broker.remove()
})

/** Publishes attempts as another replica does. */
function announce(count: number, deliveryId = randomUUID()): void {
  const change = {
    deliveryId,
    projectId,
    kind: DeliveryKind.NOTIFY,
    attempt: { number: 1, error: longText },
  }
  const changes = create(DeliveryChangesSchema, {
    changes: Array.from({ length: count }, () => change),
  })
  nats.announce('pwtail.delivery.changes', toBinary(DeliveryChangesSchema, changes))
}

const request = Buffer.from(JSON.stringify({ projectId }))
const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, request.length]), request])
const tailHeaders = {
  authorization: `Bearer ${bearer}`,
  'content-type': 'application/connect+json',
  'connect-protocol-version': '1',
  'connect-timeout-ms': '3600000',
}

/** Opens a tail over HTTP/1.1 and reads nothing of it after the headers. */
async function stallOverHttp1(port: number) {
  const socket = net.connect(port, '127.0.0.1')
  let closed = false
  socket.on('close', () => {
    closed = true
  })
  socket.on('error', () => undefined)
  const headers = Object.entries({ ...tailHeaders, 'content-length': envelope.length, host: 'a' })
  const lines = headers.map(([name, value]) => `${name}: ${value}`).join('\r\n')
  socket.write(`POST ${rpc} HTTP/1.1\r\n${lines}\r\n\r\n`)
  socket.write(envelope)
  const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  expect(first.toString('latin1')).toMatch(/^HTTP\/1.1 200 /)
  socket.pause()
  return {
    /** Reads on to the end and says whether the connection was cut. */
    async isCut() {
      socket.resume()
      await eventually(() => closed).catch(() => undefined)
      socket.destroy()
      return closed
    },
    leave: () => socket.destroy(),
  }
}

/** The same over HTTP/2. */
async function stallOverHttp2(port: number) {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  const stream = session.request({ ':method': 'POST', ':path': rpc, ...tailHeaders })
  let closed = false
  stream.on('close', () => {
    closed = true
  })
  stream.on('error', () => undefined)
  stream.write(envelope)
  stream.end()
  await new Promise((resolve) => stream.once('response', resolve))
  return {
    async isCut() {
      stream.resume()
      await eventually(() => closed).catch(() => undefined)
      session.destroy()
      return closed
    },
    leave: () => session.destroy(),
  }
}

/** A reader that keeps up; counts the changes that it received and missed. */
function readWell(url: string) {
  const pool = createRpcPool(url, { lasting: true })
  const identity = bearerIdentity(bearer)
  const client = createRpcClient(DeliveryService, { url, audience: 'delivery', identity, pool })
  const stopping = new AbortController()
  const seen = { changes: 0, dropped: 0n, heartbeats: 0, last: '' }
  const begun = Promise.withResolvers<boolean>()
  const reading = (async () => {
    const call = { signal: stopping.signal, timeoutMs: 3_600_000 }
    for await (const { event } of client.tailDeliveries({ projectId }, call)) {
      begun.resolve(true)
      note(event)
    }
  })()
    .catch(() => undefined)
    .finally(() => begun.resolve(false))

  function note(event: TailDeliveriesResponse['event']): void {
    if (event.case === 'change') {
      seen.changes += 1
      seen.last = event.value.deliveryId
    } else if (event.case === 'gap') seen.dropped += event.value.droppedCount
    else seen.heartbeats += 1
  }

  return {
    seen,
    /** Whether anything came: a reader for whom there is no room is refused. */
    isServed: () => begun.promise,
    async stop() {
      stopping.abort()
      await reading
      await pool.close()
    },
  }
}

/** Publishes attempts `times` times, each time once the reader has the previous ones. */
async function passBy({ seen }: ReturnType<typeof readWell>, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const before = seen.changes
    announce(changesAtOnce)
    await eventually(() => expect(seen.changes).toBe(before + changesAtOnce))
  }
}

function rssMb(pid: number): number {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1_024
}

describe('a reader who stops reading', () => {
  let service: DeliveryProcess
  beforeAll(async () => {
    service = await startDeliveryProcess({ DATABASE_URL: database.url, NATS_URL: broker.url })
  })
  afterAll(() => service.stop())

  it('a reader who stops reading over HTTP/1.1 or HTTP/2 costs no memory, and other readers miss no change', {
    timeout: 240_000,
  }, async () => {
    const reader = readWell(service.url)
    await eventually(() => expect(reader.seen.heartbeats).toBeGreaterThan(0))
    // What any reader costs is there before.
    await passBy(reader, 60)
    const port = Number(new URL(service.url).port)
    const stalled = [await stallOverHttp1(port), await stallOverHttp2(port)]
    // More than the systems keep for a socket.
    await passBy(reader, 20)
    const beforeMb = rssMb(service.pid)
    await passBy(reader, 100)
    // 80 MB went by each of those who stand still.
    expect(rssMb(service.pid) - beforeMb).toBeLessThan(40)
    expect(reader.seen).toMatchObject({ changes: 180 * changesAtOnce, dropped: 0n })
    await reader.stop()
    for (const { leave } of stalled) leave()
  })
})

describe('a stream that nobody reads', () => {
  it.each([
    ['HTTP/1.1', stallOverHttp1],
    ['HTTP/2', stallOverHttp2],
  ])(
    'a stream over %s that nobody reads is cut, and one that is read goes on',
    { timeout: 120_000 },
    async (_name, stall) => {
      const folder = temporaryFolder('stalled')
      const sha256 = createHash('sha256').update(bearer).digest('hex')
      writeIdentities(folder, ['delivery'], [{ name: 'operator', sha256, rpcs: ['*'] }])
      const identity = openIdentity({
        name: 'delivery',
        dir: path.join(folder, 'delivery'),
        log: silentLog,
      })
      const tail = createTail({ nats, log: silentLog, heartbeatMs: 200, readerLimit: 2 })
      const db = database.open()
      const server = await serveRpc({
        host: '127.0.0.1',
        port: 0,
        identity,
        log: silentLog,
        stalledMs: 1_500,
        routes: (router) => {
          const handlers = deliveryService({ db, tail, onDue: () => undefined })
          router.service(DeliveryService, handlers)
        },
      })
      const stalled = await stall(server.port)
      const reader = readWell(`http://127.0.0.1:${server.port}`)
      await eventually(() => expect(reader.seen.heartbeats).toBeGreaterThan(0))
      // More than the system keeps for a socket, then silence for longer than a call may stand still.
      await passBy(reader, 30)
      const heartbeats = reader.seen.heartbeats
      // There is room for two: a third is served once the one that stands still was cut off.
      const next = await eventually(async () => {
        const third = readWell(`http://127.0.0.1:${server.port}`)
        if (await third.isServed()) return third
        await third.stop()
        return false
      })
      expect(await stalled.isCut()).toBe(true)
      const last = randomUUID()
      announce(1, last)
      await eventually(() => expect(reader.seen.last).toBe(last))
      await eventually(() => expect(reader.seen.heartbeats).toBeGreaterThan(heartbeats))
      await next.stop()
      await reader.stop()
      tail.close()
      await server.close()
      fs.rmSync(folder, { recursive: true })
    },
  )
})
