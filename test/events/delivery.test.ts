// Events from the commit to their handler: processed once, under repeats, refusals and shutdowns on the way.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { sql } from '#platform/db/db.ts'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { subscribeInvalidation } from '#platform/events/invalidation.ts'
import { insertEvent } from '#platform/events/outbox.ts'
import { claimDue } from '#platform/events/outbox-store.ts'
import { publishEvent } from '#platform/events/publisher.ts'
import { eventually } from '../support/eventually.ts'
import {
  counted,
  emptyStream,
  gapsOf,
  type Harness,
  invalidationSubject,
  log,
  metricValue,
  noteGaps,
  publishSurely,
  startBroker,
  startHarness,
  subject,
  type TestBroker,
} from './harness.ts'

let broker: TestBroker
let harness: Harness

beforeAll(async () => {
  broker = await startBroker()
})
afterAll(() => broker.remove())

beforeEach(async () => {
  harness = await startHarness(broker.url)
})
afterEach(async () => {
  await harness.close()
  await emptyStream(broker)
})

const poisonRows = sql('poison_rows', 'select event_id, subject, reason from poison')
const countInbox = sql('count_inbox', 'select count(*)::integer as n from inbox')

describe('the way of an event', () => {
  it('a committed event is handled once and confirmed', async () => {
    const consumer = harness.startConsumer()
    const producer = harness.startProducer()
    const projectId = randomId()
    const eventId = await harness.write({ projectId, traceparent: 't', requestId: 'r' })
    producer.notify()
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.handled()).toEqual([eventId])
    expect(await harness.row(eventId)).toMatchObject({
      attempts: 1,
      parked_at: null,
      last_error: null,
    })
    expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    // Counted after the commits.
    await counted(producer, 'payweave_outbox_confirmed_total', 1)
    await counted(consumer, 'payweave_inbox_processed_total', 1)
  })

  it('an event reaches its handler with everything that was written', async () => {
    const received: unknown[] = []
    harness.startConsumer({
      handle: (_tx, events) => {
        received.push(...events)
        return Promise.resolve()
      },
    })
    harness.startProducer()
    const projectId = randomId()
    const eventId = await harness.write({ projectId, traceparent: '00-ab-cd-01', requestId: 'r-1' })
    await eventually(() => expect(received).toHaveLength(1))
    expect(received[0]).toMatchObject({
      eventId,
      subject,
      projectId,
      payload: Buffer.from('fact'),
      traceparent: '00-ab-cd-01',
      requestId: 'r-1',
    })
  })

  it('an event without a notify is found by the poll', async () => {
    harness.startConsumer()
    harness.startProducer()
    const eventId = await harness.write()
    await eventually(async () => expect(await harness.handled()).toEqual([eventId]))
  })

  it('a change that is rolled back leaves no event', async () => {
    await expect(
      harness.producerDb.transaction(async (tx) => {
        await insertEvent(tx, {
          eventId: randomId(),
          subject,
          projectId: undefined,
          payload: Buffer.from('never'),
        })
        throw new Error('changed our mind')
      }),
    ).rejects.toThrow('changed our mind')
    expect(await harness.pendingRows()).toBe(0)
  })

  it('writers that commit out of order lose no event', async () => {
    harness.startConsumer()
    const producer = harness.startProducer()
    const written: string[] = []
    const writer = async (): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        await harness.producerDb.transaction(async (tx) => {
          const eventId = randomId()
          await insertEvent(tx, {
            eventId,
            subject,
            projectId: undefined,
            payload: Buffer.from('x'),
          })
          // The earlier row often commits after later ones were relayed.
          await tx.run(wait, [Math.random() * 0.02])
          written.push(eventId)
        })
        producer.notify()
      }
    }
    await Promise.all(Array.from({ length: 10 }, writer))
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
  })

  it('two publishers and two consumers share the work without repeating it', async () => {
    harness.startConsumer()
    harness.startConsumer()
    const first = harness.startProducer()
    const second = harness.startProducer()
    const written = await Promise.all(Array.from({ length: 400 }, () => harness.write()))
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
    const published = await Promise.all(
      [first, second].map(({ metrics }) => metricValue(metrics, 'payweave_outbox_published_total')),
    )
    expect(published.reduce((sum, count) => sum + count, 0)).toBe(400)
  })

  it('an invalidation is confirmed once the broker has it, and reaches every subscriber', async () => {
    const heard: string[] = []
    const subscription = subscribeInvalidation({
      nats: harness.openNats(),
      subject: invalidationSubject,
      log,
      onEvent: (event) => heard.push(event.eventId),
      onGap: () => heard.push('gap'),
    })
    await eventually(() => expect(heard).toEqual(['gap']))
    harness.startProducer()
    const eventId = await harness.write({ subject: invalidationSubject })
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    await eventually(() => expect(heard).toEqual(['gap', eventId]))
    subscription.close()
  })
})

const wait = sql('wait', 'select pg_sleep($1)')

/** As the publisher does, however often the broker is too slow to say that it has it. */
const publishesSurely = (...published: Parameters<typeof publishEvent>) =>
  eventually(async () => expect(await publishEvent(...published)).toBeUndefined())

describe('repetition', () => {
  it('an event that comes twice is handled once', async () => {
    const nats = harness.openNats()
    const consumer = harness.startConsumer()
    const eventId = await harness.write()
    const [claimed] = await claimDue(harness.producerDb, { fresh: 10, again: 10, leaseMs: 60_000 })
    if (claimed === undefined) throw new Error('nothing claimed')
    await eventually(() => expect(nats.ready()).toBe(true))
    await publishesSurely(nats, claimed)
    await publishesSurely(nats, { ...claimed, attempts: 1 })
    await publishesSurely(nats, { ...claimed, attempts: 2 })
    await counted(consumer, 'payweave_inbox_duplicates_total', 2)
    expect(await harness.handled()).toEqual([eventId])
  })

  it('a publisher that dies between publication and its record costs no repetition', async () => {
    const nats = harness.openNats()
    const consumer = harness.startConsumer()
    const eventId = await harness.write()
    const [claimed] = await claimDue(harness.producerDb, { fresh: 10, again: 10, leaseMs: 15_000 })
    if (claimed === undefined) throw new Error('nothing claimed')
    await eventually(() => expect(nats.ready()).toBe(true))
    await publishesSurely(nats, claimed)
    expect(await harness.row(eventId)).toMatchObject({ attempts: 0, published_at: null })
    harness.clock.advance(15_000)
    harness.startProducer()
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.row(eventId)).toMatchObject({ attempts: 1 })
    expect(await harness.handled()).toEqual([eventId])
    expect(await metricValue(consumer.metrics, 'payweave_inbox_duplicates_total')).toBe(0)
  })

  it('a publisher leaves a leased row alone until the lease ends', async () => {
    await harness.write()
    const limits = { fresh: 10, again: 10, leaseMs: 3_600_000 }
    expect(await claimDue(harness.producerDb, limits)).toHaveLength(1)
    harness.clock.advance(1_800_000)
    expect(await claimDue(harness.producerDb, limits)).toHaveLength(0)
    harness.clock.advance(3_600_000)
    expect(await claimDue(harness.producerDb, limits)).toHaveLength(1)
  })

  it('an unseen event is published again inside the duplicate window, later each time', async () => {
    await noteGaps(harness.producerDb)
    const producer = harness.startProducer()
    const eventId = await harness.write()
    await eventually(async () => expect((await harness.row(eventId)).attempts).toBe(1))
    const expectedMs = [3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000, 60_000]
    for (let attempts = 2; attempts <= expectedMs.length; attempts += 1) {
      harness.clock.advance(expectedMs[attempts - 2] ?? 0)
      await eventually(async () =>
        expect((await harness.row(eventId)).attempts).toBeGreaterThanOrEqual(attempts),
      )
    }
    expect(await gapsOf(harness.producerDb, eventId)).toEqual(expectedMs)
    expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(8)
    const consumer = harness.startConsumer()
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    await counted(consumer, 'payweave_inbox_duplicates_total', 7)
    expect(await harness.handled()).toEqual([eventId])
  })
})

describe('refusal', () => {
  it('a message that is no event becomes a dead letter, and its event too', async () => {
    const consumer = harness.startConsumer()
    const nats = harness.openNats()
    const eventId = await harness.write()
    await claimDue(harness.producerDb, { fresh: 10, again: 10, leaseMs: 1 })
    await eventually(() => expect(nats.ready()).toBe(true))
    await publishSurely(nats, subject, Buffer.from([0xff, 0xff, 0xff]), `${eventId}:0`)
    await eventually(async () =>
      expect(await harness.consumerDb.rows(poisonRows, [])).toEqual([
        { event_id: eventId, subject, reason: 'the message is not an event' },
      ]),
    )
    harness.clock.advance(10)
    const producer = harness.startProducer()
    await eventually(async () => expect((await harness.row(eventId)).parked_at).not.toBeNull())
    expect(await harness.row(eventId)).toMatchObject({ confirmed_at: null })
    expect(await harness.handled()).toEqual([])
    await counted(producer, 'payweave_outbox_dead_lettered_total', 1)
    expect(await metricValue(producer.metrics, 'payweave_outbox_dead_letters')).toBe(1)
    expect(await metricValue(consumer.metrics, 'payweave_inbox_dead_letters')).toBe(1)
  })

  it('a message without a readable id is kept as a dead letter and not delivered again', async () => {
    const consumer = harness.startConsumer()
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    await publishSurely(nats, subject, Buffer.from([0xff]), 'nonsense')
    await eventually(async () =>
      expect(await harness.consumerDb.rows(poisonRows, [])).toEqual([
        { event_id: null, subject, reason: 'the message is not an event' },
      ]),
    )
    await counted(consumer, 'payweave_inbox_dead_lettered_total', 1)
  })

  it('an event that its handler refuses permanently becomes a dead letter; the others are handled', async () => {
    const written = await Promise.all(Array.from({ length: 20 }, () => harness.write()))
    const bad = written[7] ?? ''
    harness.startConsumer({
      handle: async (tx, events) => {
        await harness.note(tx, events)
        if (events.some((event) => event.eventId === bad))
          throw new UnprocessableEvent(bad, 'no amount')
      },
    })
    harness.startProducer()
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect((await harness.handled()).toSorted()).toEqual(
      written.filter((eventId) => eventId !== bad).toSorted(),
    )
    expect((await harness.row(bad)).parked_at).not.toBeNull()
    expect(await harness.consumerDb.rows(poisonRows, [])).toEqual([
      { event_id: bad, subject, reason: 'no amount' },
    ])
  })

  it('a temporary failure is retried later, blocks no other event and is never a dead letter', async () => {
    const written = await Promise.all(Array.from({ length: 10 }, () => harness.write()))
    const slow = written[3] ?? ''
    const triedAtMs: number[] = []
    harness.startConsumer({
      handle: async (tx, events) => {
        if (events.some((event) => event.eventId === slow)) {
          if (events.length === 1) triedAtMs.push(performance.now())
          if (triedAtMs.length < 3) throw new Error('a lock was taken')
        }
        await harness.note(tx, events)
      },
    })
    harness.startProducer()
    await eventually(async () => expect(await harness.handled()).toHaveLength(9))
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
    expect(await harness.consumerDb.rows(poisonRows, [])).toEqual([])
    expect((triedAtMs[1] ?? 0) - (triedAtMs[0] ?? 0)).toBeGreaterThan(900)
  })

  it('an event with two consumers ends when both have answered', async () => {
    let secondKnows = false
    harness.startConsumer()
    harness.startProducer({
      consumers: {
        consumer: harness.inboxClient,
        ledger: {
          ...harness.inboxClient,
          seen: (request) =>
            secondKnows ? harness.inboxClient.seen(request) : Promise.resolve({ known: [] }),
        },
      },
    })
    const eventId = await harness.write()
    await eventually(async () => expect(await answeredBy(eventId)).toEqual(['consumer']))
    expect((await harness.row(eventId)).confirmed_at).toBeNull()
    secondKnows = true
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await answeredBy(eventId)).toEqual(['consumer', 'ledger'])
  })
})

const answers = sql(
  'answers',
  'select consumer from confirmation where event_id = $1 order by consumer',
)

async function answeredBy(eventId: string): Promise<string[]> {
  const rows = await harness.producerDb.rows<{ consumer: string }>(answers, [eventId])
  return rows.map((row) => row.consumer)
}

describe('stopping', () => {
  it('a consumer that is stopped while it is being opened stops', async () => {
    const nats = harness.openNats()
    const asked = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    const openDurable: typeof nats.openDurable = async (wanted) => {
      const batches = await nats.openDurable(wanted)
      asked.resolve()
      await opened.promise
      return batches
    }
    const consumer = harness.startConsumer({ nats: { ...nats, openDurable } })
    await asked.promise
    const closed = consumer.close()
    opened.resolve()
    await expect(closed).resolves.toBeUndefined()
  })

  it('a consumer that stops finishes its batch and leaves the rest to the next one', async () => {
    let entered = (): void => {}
    const working = new Promise<void>((resolve) => {
      entered = resolve
    })
    let finish = (): void => {}
    const allowed = new Promise<void>((resolve) => {
      finish = resolve
    })
    const written = await Promise.all(Array.from({ length: 300 }, () => harness.write()))
    const first = harness.startConsumer({
      handle: async (tx, events) => {
        entered()
        await allowed
        await harness.note(tx, events)
      },
    })
    harness.startProducer()
    await working
    const closed = first.close()
    finish()
    await closed
    const taken = (await harness.consumerDb.row<{ n: number }>(countInbox, []))?.n ?? 0
    expect(taken).toBeGreaterThan(0)
    expect(await harness.handled()).toHaveLength(taken)
    harness.startConsumer()
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
  })
})
