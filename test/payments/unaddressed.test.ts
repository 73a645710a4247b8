// Tests events that no push follows: the broker's acknowledgement ends them, and delivery gets none.
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { connect } from 'nats'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { startConsumer } from '#platform/events/inbox.ts'
import { inboxRoutes } from '#platform/events/inbox-routes.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { type Outbox, type Subjects, startOutbox } from '#platform/events/outbox.ts'
import { directLeaseMs } from '#platform/events/outbox-store.ts'
import { subjects } from '../../services/delivery/operations/event-intake.ts'
import { createIntake } from '../../services/delivery/workers/intake.ts'
import { paymentSubjects } from '../../services/payments/api/events.ts'
import { noSlots } from '../delivery/harness.ts'
import { startBroker, type TestBroker } from '../events/harness.ts'
import { createTestDatabase, silentLog, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

const addressed = 'pw.payments.event'
const unaddressed = 'pw.payments.event.unaddressed'
const nowhere = { notify: '', callback: '' }

let broker: TestBroker
let harness: Harness
let database: TestDatabase
let delivery: Database
const closing: (() => Promise<void>)[] = []

beforeEach(async () => {
  ;[broker, harness, database] = await Promise.all([
    startBroker(),
    startHarness(),
    createTestDatabase('delivery', migrationFolders('delivery')),
  ])
  delivery = database.open()
  const consumer = startConsumer({
    db: delivery,
    nats: open('delivery'),
    durable: 'delivery',
    subjects,
    takeIn: createIntake(delivery, noSlots),
    log: silentLog,
    metrics: new Registry(),
  })
  closing.unshift(() => consumer.close())
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await Promise.all([harness.stop(), database.drop()])
  await broker.remove()
})

function open(name: string): Nats {
  const nats = connectNats({ url: broker.url, name, log: silentLog })
  closing.push(() => nats.close())
  return nats
}

/** The subjects as main.ts declares them; the ledger, which no event of these tests concerns, is delivery's stand-in. */
function declared(): Subjects {
  const inbox = createClient(
    InboxService,
    createRouterTransport((router) => inboxRoutes(router, delivery)),
  )
  return paymentSubjects({ delivery: inbox, ledger: inbox })
}

function startRelay(of: Subjects): Outbox {
  const outbox = startOutbox({
    db: harness.db,
    nats: open('payments'),
    subjects: of,
    log: silentLog,
    metrics: new Registry(),
  })
  closing.unshift(() => outbox.close())
  return outbox
}

type OutboxRow = { event_id: string; subject: string; attempts: number; ended: boolean }
const outboxRows = sql(
  'test_unaddressed_outbox',
  `select event_id, subject, attempts, confirmed_at is not null as ended from outbox
   order by subject, occurred_at`,
)
const inboxRows = sql('test_unaddressed_inbox', 'select event_id from inbox order by event_id')

const outboxRowsNow = () => harness.db.rows<OutboxRow>(outboxRows, [])
const idsOf = (rows: OutboxRow[]) => rows.map(({ event_id }) => event_id).toSorted()

async function whenEnded(count: number): Promise<OutboxRow[]> {
  return await eventually(async () => {
    const rows = await outboxRowsNow()
    return rows.length === count && rows.every(({ ended }) => ended) && rows
  })
}

async function inDelivery(): Promise<string[]> {
  const rows = await delivery.rows<{ event_id: string }>(inboxRows, [])
  return rows.map(({ event_id }) => event_id)
}

/** How many messages of each subject the stream keeps. */
async function kept(): Promise<Record<string, number>> {
  const { username, password, host } = new URL(broker.url)
  const connection = await connect({ servers: host, user: username, pass: password })
  const manager = await connection.jetstreamManager()
  const { state } = await manager.streams.info('PAYWEAVE', { subjects_filter: 'pw.payments.>' })
  await connection.close()
  return state.subjects ?? {}
}

it('unaddressed events end without delivery, those that a push follows are delivered, and the stream keeps both', async () => {
  harness.publishBy(startRelay(declared()).publish)
  const quiet = await harness.create({ urls: nowhere })
  await harness.cancel(quiet.paymentId)
  await harness.create({ urls: { ...nowhere, notify: 'https://shop.example/notify' } })
  const called = await harness.create({
    urls: { ...nowhere, callback: 'https://shop.example/callback' },
  })
  await harness.cancel(called.paymentId)
  const rows = await whenEnded(5)
  const pushed = rows.filter(({ subject }) => subject === addressed)
  expect(await inDelivery()).toEqual(idsOf(pushed))
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1])
  expect(await kept()).toEqual({ [addressed]: 2, [unaddressed]: 3 })
})

it('unaddressed events whose writer died after the commit are published by another process, and end', async () => {
  await harness.create({ urls: nowhere })
  startRelay(declared())
  harness.testClock.advance(directLeaseMs)
  expect(await whenEnded(1)).toMatchObject([{ subject: unaddressed, attempts: 1 }])
  expect(await kept()).toEqual({ [unaddressed]: 1 })
  expect(await inDelivery()).toEqual([])
})

it('unaddressed events stay open at a publisher of an older release until one that knows them takes them', async () => {
  const { [unaddressed]: _, ...known } = declared()
  await harness.create({ urls: nowhere })
  const older = startRelay(known)
  harness.testClock.advance(directLeaseMs)
  await eventually(async () => expect((await outboxRowsNow())[0]?.attempts).toBe(1))
  expect(await outboxRowsNow()).toMatchObject([{ ended: false }])
  await older.close()
  startRelay(declared())
  harness.testClock.advance(60_000)
  expect(await whenEnded(1)).toMatchObject([{ attempts: 2 }])
})
