// Shows that a broker that is killed and wiped delays pushes and loses none: the outbox is the truth.
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import type { Database } from '#platform/db/db.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { insertEvent, type Outbox, startOutbox } from '#platform/events/outbox.ts'
import { bearerIdentity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#platform/rpc/client/client.ts'
import { startBroker, type TestBroker } from '../events/harness.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createdEvent } from './event.ts'
import { migrations } from './harness.ts'
import { bearer, type DeliveryProcess, startDeliveryProcess } from './process.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const root = path.resolve(import.meta.dirname, '../..')
const producerMigrations = ['clock', 'outbox'].map((name) =>
  path.join(root, 'platform/db/migrations', name),
)

let broker: TestBroker
let database: TestDatabase
let producer: Database
let nats: Nats
let pool: RpcPool
let outbox: Outbox
let service: DeliveryProcess
let receiver: Receiver

beforeAll(async () => {
  ;[broker, database, receiver] = await Promise.all([
    startBroker(),
    createTestDatabase('delivery', migrations),
    startReceiver(),
  ])
  await database.migrate('payments', producerMigrations)
  producer = database.open({ service: 'payments' })
  service = await startDeliveryProcess({ DATABASE_URL: database.url, NATS_URL: broker.url })
  nats = connectNats({ url: broker.url, name: 'producer', log: silentLog })
  const { url } = service
  pool = createRpcPool(url)
  const identity = bearerIdentity(bearer)
  const delivery = createRpcClient(InboxService, { url, audience: 'delivery', identity, pool })
  outbox = startOutbox({
    db: producer,
    nats,
    subjects: { 'pw.payments.event': { consumers: { delivery } } },
    log: silentLog,
    metrics: new Registry(),
  })
})
afterAll(async () => {
  await outbox.close()
  await Promise.all([nats.close(), pool.close(), service.stop('SIGKILL'), receiver.close()])
  await database.drop()
  await broker.remove()
})

/** What the process says of itself: ready for pushes, and whether events reach it. */
async function healthOf(name: string): Promise<unknown> {
  return (await service.call('grpc.health.v1.Health/Check', { service: name }))['status']
}

it('a broker without JetStream leaves the process ready; its health of events and its metric say so', async () => {
  const metric = async () => {
    const text = await (await fetch(`${service.adminUrl}/metrics`)).text()
    return /^payweave_jetstream_up\{.*\} (\d)$/m.exec(text)?.[1]
  }
  const isReady = async () => (await fetch(`${service.adminUrl}/readyz`)).status
  await eventually(async () => expect(await healthOf('delivery.events')).toBe('SERVING'))
  expect(await metric()).toBe('1')
  broker.disableJetStream()
  await eventually(async () => expect(await healthOf('delivery.events')).toBe('NOT_SERVING'))
  expect([await healthOf(''), await isReady(), await metric()]).toEqual(['SERVING', 200, '0'])
  await broker.kill()
  await broker.start()
  await eventually(async () => expect(await healthOf('delivery.events')).toBe('SERVING'))
  expect(await metric()).toBe('1')
})

it('a broker that is killed and wiped under load loses no push and repeats none', {
  timeout: 90_000,
}, async () => {
  const projectId = randomUUID()
  const total = 120
  for (let n = 1; n <= total; n += 1) {
    const { eventId, subject, payload } = createdEvent({
      projectId,
      notify: `${receiver.url}/${n}`,
    })
    await producer.transaction((tx) => insertEvent(tx, { eventId, subject, projectId, payload }))
    outbox.notify()
    if (n % 50 === 0) {
      await broker.kill()
      broker.wipe()
      await broker.start()
    }
  }
  await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(total), 60_000)
  expect(new Set(receiver.requests.map(({ path }) => path)).size).toBe(total)
  expect(receiver.requests).toHaveLength(total)
})
