// The inbox of a consumer without a broker: events that come by RPC, and batches that fail.
import { create, toBinary } from '@bufbuild/protobuf'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { randomId } from '#core/identity/id.ts'
import { type Event, EventSchema } from '#gen/payweave/events/v1/events_pb.js'
import { sql } from '#platform/db/db.ts'
import { type EventConsumer, type HandleEvents, startConsumer } from '#platform/events/inbox.ts'
import { answerSeen } from '#platform/events/inbox-routes.ts'
import type { ReceivedMessage } from '#platform/events/nats/batches.ts'
import type { Nats } from '#platform/events/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, log, startHarness, subject } from './harness.ts'

let harness: Harness
let consumer: EventConsumer

beforeAll(async () => {
  harness = await startHarness('nats://127.0.0.1:1')
})
afterEach(() => consumer.close())
afterEach(() => vi.restoreAllMocks())
afterAll(() => harness.close())

const goingOn = new AbortController().signal
const limitStatement = sql('limit_statement', "select set_config('statement_timeout', '20', true)")
const sleep = sql('sleep', 'select pg_sleep(1)')

/** Starts a consumer to which the broker brings these messages at once. */
function start(handle: HandleEvents, messages: ReceivedMessage[] = [], db = harness.consumerDb) {
  const stopped = Promise.withResolvers<undefined>()
  const batches = messages.length === 0 ? [] : [messages]
  const nats: Partial<Nats> = {
    ready: () => true,
    onConnected: () => () => undefined,
    openDurable: async () => ({
      next: async () => batches.pop() ?? (await stopped.promise),
      stop: () => stopped.resolve(undefined),
    }),
  }
  consumer = startConsumer({
    db,
    nats: nats as Nats,
    durable: 'consumer',
    subjects: [subject],
    handle,
    log,
    metrics: new Registry(),
  })
}

function makeEvents(count: number): Event[] {
  return Array.from({ length: count }, () => create(EventSchema, { eventId: randomId(), subject }))
}

/** A message of the broker that records its acknowledgement. */
function makeMessage(payload: Uint8Array, answers: string[]): ReceivedMessage {
  return {
    subject,
    payload,
    messageId: undefined,
    deliveries: 1,
    ack: () => answers.push('acknowledged'),
    retry: () => answers.push('delivered again'),
    refuse: () => answers.push('refused'),
  }
}

it('while the database does not answer, no event of a batch is tried alone', async () => {
  const sizes: number[] = []
  start((_tx, events) => {
    sizes.push(events.length)
    return Promise.reject(new Failure('TIMEOUT', 'the database did not answer'))
  })
  const processing = consumer.process(makeEvents(5), goingOn)
  await expect(processing).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  expect(sizes).toEqual([5])
})

it('an event whose statement takes too long does not delay the other events of its batch', async () => {
  const events = makeEvents(5)
  const slow = events[2]?.eventId
  start(async (tx, batch) => {
    await tx.run(limitStatement, [])
    if (batch.some(({ eventId }) => eventId === slow)) await tx.run(sleep, [])
  })
  await consumer.process(events, goingOn)
  const ids = events.map(({ eventId }) => eventId)
  const { known } = await answerSeen(harness.consumerDb, ids)
  expect(known.map(({ eventId }) => eventId).toSorted()).toEqual(
    ids.filter((id) => id !== slow).toSorted(),
  )
})

it('an event that takes the time of its whole batch comes again after the other events', async () => {
  const events = makeEvents(5)
  const ids = events.map(({ eventId }) => eventId)
  // Each of its statements takes half of the time of a batch, by the clock of the consumer.
  const nowMs = performance.now()
  const now = vi.spyOn(performance, 'now').mockReturnValue(nowMs)
  const delaysMs = new Map<string, number>()
  const messages = events.map((event) => ({
    ...makeMessage(toBinary(EventSchema, event), []),
    retry: (delayMs: number) => delaysMs.set(event.eventId, delayMs),
  }))
  start(async (tx, batch) => {
    if (!batch.some(({ eventId }) => eventId === ids[0])) return
    now.mockReturnValue(performance.now() + 5_000)
    await tx.run(limitStatement, [])
    await tx.run(sleep, [])
  }, messages)
  await eventually(() => expect(delaysMs.size).toBe(5))
  expect(ids.map((id) => delaysMs.get(id))).toEqual([1_000, 100, 100, 100, 100])
})

it('events are not begun after their caller has gone', async () => {
  const calling = new AbortController()
  const sizes: number[] = []
  start((_tx, events) => {
    sizes.push(events.length)
    if (events.length === 1) calling.abort()
    return Promise.reject(new Error('a bad batch'))
  })
  const processing = consumer.process(makeEvents(5), calling.signal)
  await expect(processing).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  expect(sizes).toEqual([5, 1])
})

it('a consumer that stops begins no more events of a batch that failed', async () => {
  const sizes: number[] = []
  const answers: string[] = []
  let closed: Promise<void> | undefined
  const messages = makeEvents(5).map((event) => makeMessage(toBinary(EventSchema, event), answers))
  start((_tx, events) => {
    sizes.push(events.length)
    if (events.length === 1) closed = consumer.close()
    return Promise.reject(new Error('a bad batch'))
  }, messages)
  await eventually(() => expect(answers).toHaveLength(5))
  await closed
  expect(sizes).toEqual([5, 1])
  expect(new Set(answers)).toEqual(new Set(['delivered again']))
})

it('while the database is down, one dead letter of a batch is tried, and all its messages are delivered again', async () => {
  const answers: string[] = []
  let tries = 0
  const run: typeof harness.consumerDb.run = (statement, values) => {
    if (statement.name !== 'inbox_poison') return harness.consumerDb.run(statement, values)
    tries += 1
    return Promise.reject(new Failure('TIMEOUT', 'no database connection became free'))
  }
  const broken = Array.from({ length: 5 }, () => makeMessage(Buffer.from('?'), answers))
  start(harness.note, broken, { ...harness.consumerDb, run })
  await eventually(() => expect(answers).toHaveLength(5))
  expect(tries).toBe(1)
  expect(new Set(answers)).toEqual(new Set(['delivered again']))
})

it('an event whose subject is not consumed is left out, and the others are processed', async () => {
  start(harness.note)
  const [event, unknown] = makeEvents(2) as [Event, Event]
  unknown.subject = 'pw.test.later'
  await consumer.process([unknown, event], goingOn)
  const { known } = await answerSeen(harness.consumerDb, [unknown.eventId, event.eventId])
  expect(known.map(({ eventId }) => eventId)).toEqual([event.eventId])
})
