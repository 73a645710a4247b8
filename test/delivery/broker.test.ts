// Shows that a broker that is killed and wiped delays pushes and loses none: the outbox is the truth.
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { InboxService } from '#gen/events/v1/events_pb.js'
import type { Database } from '#runtime/db.ts'
import { connectNats, type Nats } from '#runtime/events/nats.ts'
import { insertEvent, type Outbox, startOutbox } from '#runtime/events/outbox.ts'
import { createRpcClient, createRpcPool, type RpcPool } from '#runtime/rpc/client.ts'
import { bearerIdentity } from '#runtime/rpc/identity.ts'
import { startBroker, type TestBroker } from '../events/world.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { createdEvent } from './event.ts'
import { bearer, type DeliveryProcess, startDeliveryProcess } from './process.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { migrations, until } from './setting.ts'

const root = path.resolve(import.meta.dirname, '../..')
const producerMigrations = ['clock', 'outbox'].map((name) =>
  path.join(root, 'runtime/migrations', name),
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
    outbox.kick()
    if (n % 50 === 0) {
      await broker.kill()
      broker.wipe()
      await broker.start()
    }
  }
  await until(() => receiver.requests.length >= total, 60_000)
  expect(new Set(receiver.requests.map(({ path }) => path)).size).toBe(total)
  expect(receiver.requests).toHaveLength(total)
})
