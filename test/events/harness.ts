// A producer and a consumer of events with databases and a broker of their own. It must not replace any of their code.
import fs from 'node:fs'
import path from 'node:path'
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { connect, type StreamAPI } from 'nats'
import { Client } from 'pg'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { InboxService } from '#gen/payweave/events/v1/events_pb.js'
import { type Database, openDatabase, sql } from '#platform/db/db.ts'
import { type EventConsumer, type HandleEvents, startConsumer } from '#platform/events/inbox.ts'
import { inboxService } from '#platform/events/inbox-routes.ts'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import {
  type CommittedEvent,
  type InboxClient,
  insertEvent,
  leasedUntil,
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
  startOutbox,
} from '#platform/events/outbox.ts'
import { eventStream } from '#platform/events/topology.ts'
import { createLogger } from '#platform/telemetry/log.ts'
import { createTestClock, type TestClock } from '#platform/testing/clock.ts'
import { type NatsServer, startNats } from '../../deploy/local/nats/nats.ts'
import { copyOfDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freeze } from '../support/freeze.ts'
import { disableJetStream, freePorts, keepStream, temporaryFolder } from '../support/servers.ts'

export const subject = 'pw.test.event'
export const invalidationSubject = 'pw.test.invalidation'
export const log = createLogger({ part: 'test', level: 'silent' })

/** A broker that can crash and forget. */
export type TestBroker = {
  url: string
  kill(): Promise<void>
  /** Stops it in its tracks: its connections stay and nothing answers. */
  freeze(): Promise<void>
  /** Ends `freeze`. */
  thaw(): void
  /** Makes it go on without JetStream until its next start. */
  disableJetStream(): void
  /** Removes all that it has stored; it must be down. */
  wipe(): void
  start(): Promise<void>
  remove(): Promise<void>
}

/** What the consumer of these tests takes in. */
export const testSubjects = { consumer: [subject] }

/** Starts a broker of our own, with its stream controller, and a password of its own unless one is given. */
export async function startBroker(password?: string): Promise<TestBroker> {
  const dataDir = path.join(temporaryFolder('broker'), 'nats')
  if (password !== undefined) {
    fs.mkdirSync(dataDir)
    fs.writeFileSync(path.join(dataDir, 'password'), password, { mode: 0o600 })
  }
  const [port = 0] = await freePorts(1)
  const start = (): Promise<NatsServer> => startNats({ dataDir, port, log: () => {} })
  let server = await start()
  const stream = await keepStream(server.url, testSubjects)
  let thaw = () => {}
  return {
    url: server.url,
    async kill() {
      process.kill(server.pid, 'SIGKILL')
      await server.exited
    },
    async freeze() {
      thaw = await freeze(server.pid)
    },
    thaw: () => thaw(),
    disableJetStream: () => disableJetStream(dataDir, server.pid),
    wipe: () => fs.rmSync(path.join(dataDir, 'store'), { recursive: true }),
    async start() {
      server = await start()
    },
    async remove() {
      thaw()
      await stream.close()
      await server.stop()
      fs.rmSync(path.dirname(dataDir), { recursive: true })
    },
  }
}

/** Deletes the stream, if it is there, without the knowledge of any client. */
export async function deleteStream(broker: TestBroker): Promise<void> {
  await onStreams(broker, (streams) => streams.delete(eventStream.name)).catch(() => undefined)
}

/** Removes all messages from the stream. */
export async function emptyStream(broker: TestBroker): Promise<void> {
  await onStreams(broker, (streams) => streams.purge(eventStream.name))
}

async function onStreams(
  { url }: TestBroker,
  work: (streams: StreamAPI) => Promise<unknown>,
): Promise<void> {
  const { username, password, host } = new URL(url)
  const connection = await connect({ servers: host, user: username, pass: password })
  try {
    await work((await connection.jetstreamManager()).streams)
  } finally {
    await connection.close()
  }
}

/** Makes a database with these folders of migrations, without events, and opens it. */
export async function makeDatabase(folders: string[], testClock: TestClock): Promise<Database> {
  const url = await copyOfDatabase(`events ${folders.join(' ')}`, async (empty) => {
    for (const folder of folders) {
      const directory = path.resolve(import.meta.dirname, '../../platform/db/migrations', folder)
      for (const file of fs.readdirSync(directory).toSorted()) {
        await execute(empty, fs.readFileSync(path.join(directory, file), 'utf8'))
      }
    }
    await execute(empty, 'create table handled (event_id uuid not null)')
  })
  return openDatabase({ url, service: undefined, log, testClock, poolSize: 16 })
}

async function execute(connectionString: string, text: string): Promise<void> {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(text)
  await client.end()
}

const writeLeased = sql(
  'write_leased',
  `insert into outbox (${outboxColumns}, next_at) values (${outboxParameters(1)}, ${leasedUntil})
   returning occurred_at`,
)
const noteHandled = sql('note_handled', 'insert into handled select unnest($1::uuid[])')
const handledRows = sql('handled', 'select event_id from handled')
const outboxRow = sql(
  'row',
  `select attempts, published_at, confirmed_at, parked_at, last_error from outbox
   where event_id = $1`,
)
const pendingRows = sql(
  'pending_rows',
  'select count(*)::integer as n from outbox where confirmed_at is null and parked_at is null',
)

export type OutboxRow = {
  attempts: number
  published_at: Date | null
  confirmed_at: Date | null
  parked_at: Date | null
  last_error: string | null
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** Two databases, no process started yet. `close` stops every process that was started. */
export async function startHarness(brokerUrl: string) {
  const clock = createTestClock()
  const producerDb = await makeDatabase(['clock', 'outbox', 'dead-letters'], clock)
  const consumerDb = await makeDatabase(['clock', 'inbox', 'dead-letters'], clock)
  const closing: (() => Promise<void>)[] = []
  let consumerReachable = true

  // Undefined as long as the broker alone is to bring events.
  let byRpc: EventConsumer | undefined
  const handlers = () => inboxService(consumerDb, byRpc)
  const client = createClient(
    InboxService,
    createRouterTransport((router) =>
      router.service(InboxService, {
        seen: (...call) => handlers().seen(...call),
        processEvents: (...call) => handlers().processEvents(...call),
      }),
    ),
  )
  const reached = (): InboxClient => {
    if (!consumerReachable) throw new Failure('SERVICE_UNAVAILABLE', 'no route to the consumer')
    return client
  }
  const inboxClient: InboxClient = {
    seen: async (...call) => reached().seen(...call),
    processEvents: async (...call) => reached().processEvents(...call),
  }

  function started<T extends { close(): Promise<void> }>(part: T): T {
    closing.unshift(() => part.close())
    return part
  }

  const openNats = (): Nats => started(connectNats({ url: brokerUrl, name: 'test', log }))

  /** The work of a consumer: a row for each event, with no constraint that would hide a repetition. */
  const note: HandleEvents = async (tx, events) => {
    await tx.run(noteHandled, [events.map((event) => event.eventId)])
  }

  return {
    clock,
    producerDb,
    consumerDb,
    inboxClient,
    openNats,
    note,
    setConsumerReachable(reachable: boolean) {
      consumerReachable = reachable
    },
    /** `nowMs` replaces the clock of the process. */
    startProducer(
      options: { nats?: Nats; consumers?: Record<string, InboxClient>; nowMs?: () => number } = {},
    ) {
      const metrics = new Registry()
      const outbox = startOutbox({
        db: producerDb,
        nats: options.nats ?? openNats(),
        subjects: {
          [subject]: { consumers: options.consumers ?? { consumer: inboxClient } },
          [invalidationSubject]: { consumers: {} },
        },
        log,
        metrics,
        ...(options.nowMs !== undefined && { nowMs: options.nowMs }),
      })
      return { ...started(outbox), metrics }
    },
    /** `servesRpc`: producers can have it process events without the broker. */
    startConsumer(options: { nats?: Nats; handle?: HandleEvents; servesRpc?: boolean } = {}) {
      const metrics = new Registry()
      const consumer = startConsumer({
        db: consumerDb,
        nats: options.nats ?? openNats(),
        durable: 'consumer',
        subjects: testSubjects.consumer,
        handle: options.handle ?? note,
        log,
        metrics,
      })
      if (options.servesRpc) byRpc = consumer
      return { ...started(consumer), metrics }
    },
    /** Commits one event. */
    async write(event: Partial<OutboxEvent> = {}): Promise<string> {
      const eventId = randomId()
      await producerDb.transaction((tx) =>
        insertEvent(tx, {
          eventId,
          subject,
          projectId: undefined,
          payload: Buffer.from('fact'),
          ...event,
        }),
      )
      return eventId
    },
    /** Commits one event that is leased to its writer, which has yet to publish it. */
    async writeLeased(event: Partial<OutboxEvent> = {}): Promise<CommittedEvent> {
      const payload = Buffer.from('fact')
      const made = { eventId: randomId(), subject, projectId: undefined, payload, ...event }
      const row = await producerDb.row<{ occurred_at: Date }>(writeLeased, outboxValues(made))
      if (row === undefined) throw new Error('nothing was written')
      return { ...made, occurredAt: row.occurred_at }
    },
    /** Ids of handled events, once per handling. */
    async handled(): Promise<string[]> {
      const rows = await consumerDb.rows<{ event_id: string }>(handledRows, [])
      return rows.map((row) => row.event_id)
    },
    async row(eventId: string): Promise<OutboxRow> {
      const row = await producerDb.row<OutboxRow>(outboxRow, [eventId])
      if (row === undefined) throw new Error('no such event')
      return row
    },
    async pendingRows(): Promise<number> {
      return (await producerDb.row<{ n: number }>(pendingRows, []))?.n ?? 0
    },
    async close() {
      for (const close of closing) await close()
      await Promise.all([producerDb.close(), consumerDb.close()])
    },
  }
}

/** Publishes, however often the broker is too slow to say that it has it: it knows the message by its id. */
export function publishSurely(nats: Nats, ...message: Parameters<Nats['publish']>): Promise<void> {
  return eventually(() => nats.publish(...message))
}

/** Reads one metric without labels. */
export async function metricValue(metrics: Registry, name: string): Promise<number> {
  const metric = await metrics.getSingleMetric(name)?.get()
  return metric?.values[0]?.value ?? 0
}

/** Waits for a count. Parts count after their commits: a row may be read before. */
export function counted({ metrics }: { metrics: Registry }, name: string, count: number) {
  return eventually(async () => expect(await metricValue(metrics, name), name).toBe(count))
}

const makeNotes = [
  sql('make_gaps', 'create table gap (event_id uuid, attempts integer, ms integer)'),
  sql(
    'make_note_gap',
    `create function note_gap() returns trigger language plpgsql as $$ begin
       insert into gap
       values (new.event_id, new.attempts, extract(epoch from new.next_at - new.published_at) * 1000);
       return null;
     end $$`,
  ),
  sql(
    'note_gaps',
    `create trigger note_gap after update of attempts on outbox for each row
     when (new.attempts > old.attempts) execute function note_gap()`,
  ),
]
const gaps = sql('gaps', 'select ms from gap where event_id = $1 order by attempts')

/** Records the delays between publications of an event from now on, in the database: polling would be too slow. */
export async function noteGaps(db: Database): Promise<void> {
  for (const statement of makeNotes) await db.run(statement, [])
}

/** The delays of one event in milliseconds, one for each publication. */
export async function gapsOf(db: Database, eventId: string): Promise<number[]> {
  return (await db.rows<{ ms: number }>(gaps, [eventId])).map(({ ms }) => ms)
}
