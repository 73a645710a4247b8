// Events that their writer publishes directly: processed once and confirmed, also when the writer crashes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { randomId } from '#core/identity/id.ts'
import { sql } from '#platform/db/db.ts'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { directLeaseMs } from '#platform/events/outbox-store.ts'
import { eventually } from '../support/eventually.ts'
import {
  counted,
  type Harness,
  invalidationSubject,
  metricValue,
  startBroker,
  startHarness,
  subject,
  type TestBroker,
} from './harness.ts'

let broker: TestBroker
let harness: Harness

beforeEach(async () => {
  broker = await startBroker()
  harness = await startHarness(broker.url)
})
afterEach(async () => {
  await harness.close()
  await broker.remove()
})

/** An event that is not confirmed within 2.5 s goes through its row: however long a test takes, its events are younger. */
const timeStandsStill = { nowMs: () => 0 }
const confirmations = sql('confirmations', 'select count(*)::integer as n from confirmation')

async function ends(eventId: string): Promise<void> {
  await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
}

describe('a directly published event', () => {
  it('an event is handled with all its fields and confirmed, with a single update of its row', async () => {
    const received: unknown[] = []
    harness.startConsumer({
      handle: (_tx, events) => {
        received.push(...events)
        return Promise.resolve()
      },
    })
    const producer = harness.startProducer(timeStandsStill)
    const more = { projectId: randomId(), traceparent: '00-ab-cd-01', requestId: 'r-1' }
    const event = await harness.writeLeased(more)
    producer.publish(event)
    await ends(event.eventId)
    const { eventId } = event
    expect(received).toMatchObject([{ eventId, subject, payload: Buffer.from('fact'), ...more }])
    expect(await harness.row(eventId)).toMatchObject({ attempts: 1, parked_at: null })
    expect(await harness.producerDb.row(confirmations, [])).toEqual({ n: 0 })
    expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    await counted(producer, 'payweave_outbox_confirmed_total', 1)
  })

  it('an event that the broker acknowledges while others are being confirmed is confirmed too', async () => {
    harness.startConsumer()
    const nats = harness.openNats()
    const { promise: mayGo, resolve: letGo } = Promise.withResolvers<void>()
    const [first, held] = [await harness.writeLeased(), await harness.writeLeased()]
    const producer = harness.startProducer({
      ...timeStandsStill,
      nats: {
        ...nats,
        async publish(subject, payload, messageId) {
          if (messageId.startsWith(held.eventId)) await mayGo
          await nats.publish(subject, payload, messageId)
        },
      },
    })
    producer.publish(first)
    await eventually(async () => {
      expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    })
    producer.publish(held)
    await ends(first.eventId)
    letGo()
    await ends(held.eventId)
    // The confirmer of rows would have left its answers.
    expect(await harness.producerDb.row(confirmations, [])).toEqual({ n: 0 })
  })

  it('an event whose writer died is published by another process once its lease expires, not before', async () => {
    harness.startConsumer()
    const { eventId } = await harness.writeLeased()
    const ordinary = await harness.write()
    const { notify } = harness.startProducer()
    await ends(ordinary)
    expect(await harness.row(eventId)).toMatchObject({ attempts: 0 })
    harness.clock.advance(directLeaseMs)
    notify()
    await ends(eventId)
    expect((await harness.handled()).toSorted()).toEqual([eventId, ordinary].toSorted())
  })

  it('a directly published event is handled once although its row is claimed too', async () => {
    harness.startConsumer()
    const events = await Promise.all(Array.from({ length: 50 }, () => harness.writeLeased()))
    harness.clock.advance(directLeaseMs)
    const producer = harness.startProducer()
    producer.notify()
    for (const event of events) producer.publish(event)
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    const ids = events.map(({ eventId }) => eventId).toSorted()
    expect((await harness.handled()).toSorted()).toEqual(ids)
  })

  it('an event that no consumer confirms becomes an ordinary outbox event', async () => {
    harness.setConsumerReachable(false)
    harness.startConsumer()
    const producer = harness.startProducer()
    const event = await harness.writeLeased()
    producer.publish(event)
    await eventually(async () => expect((await harness.row(event.eventId)).attempts).toBe(1))
    expect(await harness.row(event.eventId)).toMatchObject({ confirmed_at: null })
    harness.setConsumerReachable(true)
    await ends(event.eventId)
    expect(await harness.handled()).toEqual([event.eventId])
  })

  it('an event that its consumer refuses permanently becomes a dead letter', async () => {
    harness.startConsumer({
      handle: (_tx, [first]) =>
        Promise.reject(new UnprocessableEvent(first?.eventId ?? '', 'no sense')),
    })
    const producer = harness.startProducer()
    const event = await harness.writeLeased()
    producer.publish(event)
    await eventually(async () =>
      expect((await harness.row(event.eventId)).parked_at).not.toBeNull(),
    )
  })

  it('an event without consumers to confirm it ends although no consumer can be queried', async () => {
    harness.setConsumerReachable(false)
    const producer = harness.startProducer()
    const invalidation = await harness.writeLeased({ subject: invalidationSubject })
    producer.publish(invalidation)
    await ends(invalidation.eventId)
    expect(await harness.row(invalidation.eventId)).toMatchObject({ attempts: 1 })
    await counted(producer, 'payweave_outbox_confirmed_total', 1)
  })

  it('an event without consumers to confirm it is published and ended by a writer that stops', async () => {
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const producer = harness.startProducer({ nats })
    const invalidation = await harness.writeLeased({ subject: invalidationSubject })
    const other = await harness.writeLeased()
    for (const event of [invalidation, other]) producer.publish(event)
    await producer.close()
    expect((await harness.row(invalidation.eventId)).confirmed_at).not.toBeNull()
    expect(await harness.row(other.eventId)).toMatchObject({ attempts: 1, confirmed_at: null })
  })

  it('an event that cannot be published has its error in its row', async () => {
    const producer = harness.startProducer()
    const event = await harness.writeLeased({ subject: 'elsewhere.event' })
    producer.publish(event)
    await eventually(async () =>
      expect((await harness.row(event.eventId)).last_error).toBe('the broker refused: 503'),
    )
    expect(await harness.row(event.eventId)).toMatchObject({ attempts: 0, published_at: null })
  })

  it('a directly published event is due for other processes at once when its writer stops', async () => {
    harness.startConsumer()
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const stopping = harness.startProducer({ nats })
    await broker.kill()
    await eventually(() => expect(nats.ready()).toBe(false))
    const event = await harness.writeLeased()
    stopping.publish(event)
    await stopping.close()
    await broker.start()
    harness.startProducer()
    await ends(event.eventId)
    expect(await harness.handled()).toEqual([event.eventId])
  })
})

describe('no broker', () => {
  it('events that wait for the broker leave room for an event that its consumer can take by RPC', async () => {
    harness.startConsumer({ servesRpc: true })
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const producer = harness.startProducer({ nats })
    await broker.kill()
    await eventually(() => expect(nats.ready()).toBe(false))
    const waiting = await harness.writeLeased({ subject: invalidationSubject })
    for (let n = 0; n < 5_000; n += 1) producer.publish(waiting)
    const left = await harness.writeLeased()
    const event = await harness.writeLeased()
    producer.publish(event)
    await ends(event.eventId)
    // Its lease runs, as that of the event did.
    expect(await harness.row(left.eventId)).toMatchObject({ confirmed_at: null })
  })
})

describe('a broker that forgets', () => {
  it('an event is published again when the broker loses it with its disk after the acknowledgement', async () => {
    const producer = harness.startProducer()
    const event = await harness.writeLeased()
    producer.publish(event)
    await eventually(async () => {
      expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    })
    await broker.kill()
    broker.wipe()
    await broker.start()
    harness.startConsumer()
    await eventually(async () => {
      harness.clock.advance(1_000)
      expect((await harness.row(event.eventId)).confirmed_at).not.toBeNull()
    })
    expect(await harness.handled()).toEqual([event.eventId])
    const publications = await metricValue(producer.metrics, 'payweave_outbox_published_total')
    expect(publications).toBeGreaterThan(1)
  })

  it('no event is lost or processed twice when the broker is killed and wiped under load', async () => {
    harness.startConsumer()
    const producer = harness.startProducer()
    const written: string[] = []
    const ending = new AbortController()
    const writer = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const event = await harness.writeLeased()
        written.push(event.eventId)
        producer.publish(event)
      }
    }
    const writers = Array.from({ length: 4 }, writer)
    for (let crash = 1; crash <= 3; crash += 1) {
      const target = crash * 300
      await eventually(() => expect(written.length).toBeGreaterThan(target))
      await broker.kill()
      broker.wipe()
      await broker.start()
    }
    ending.abort()
    await Promise.all(writers)
    await eventually(async () => {
      harness.clock.advance(1_000)
      expect(await harness.pendingRows()).toBe(0)
    })
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
  })
})
