// Events that their writer carries itself: once to their handler and to their end, whatever becomes of the writer.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { randomId } from '#core/id.ts'
import { sql } from '#runtime/db.ts'
import { PoisonEvent } from '#runtime/events/inbox.ts'
import { inHandMs } from '#runtime/events/outbox-store.ts'
import {
  eventually,
  makeWorld,
  metricValue,
  newsSubject,
  startBroker,
  subject,
  type TestBroker,
  type World,
} from './world.ts'

let broker: TestBroker
let world: World

beforeEach(async () => {
  broker = await startBroker()
  world = await makeWorld(broker.url)
})
afterEach(async () => {
  await world.close()
  await broker.remove()
})

const confirmations = sql('confirmations', 'select count(*)::integer as n from confirmation')

async function ends(eventId: string): Promise<void> {
  await eventually(async () => expect((await world.row(eventId)).confirmed_at).not.toBeNull())
}

describe('an event in hand', () => {
  it('is handled with all that was written and ends, and the table is told of the end alone', async () => {
    const received: unknown[] = []
    world.startConsumer({
      handle: (_tx, events) => {
        received.push(...events)
        return Promise.resolve()
      },
    })
    const producer = world.startProducer()
    const more = { projectId: randomId(), traceparent: '00-ab-cd-01', requestId: 'r-1' }
    const event = await world.writeInHand(more)
    producer.carry(event)
    await ends(event.eventId)
    const { eventId } = event
    expect(received).toMatchObject([{ eventId, subject, payload: Buffer.from('fact'), ...more }])
    expect(await world.row(eventId)).toMatchObject({ attempts: 1, parked_at: null })
    expect(await world.producerDb.row(confirmations, [])).toEqual({ n: 0 })
    expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    expect(await metricValue(producer.metrics, 'payweave_outbox_confirmed_total')).toBe(1)
  })

  it('that the broker acknowledges while others end is carried to its end too', async () => {
    world.startConsumer()
    const nats = world.openNats()
    const { promise: mayGo, resolve: letGo } = Promise.withResolvers<void>()
    const [first, held] = [await world.writeInHand(), await world.writeInHand()]
    const producer = world.startProducer({
      nats: {
        ...nats,
        async publish(subject, payload, messageId) {
          if (messageId.startsWith(held.eventId)) await mayGo
          await nats.publish(subject, payload, messageId)
        },
      },
    })
    producer.carry(first)
    await eventually(async () => {
      expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    })
    producer.carry(held)
    await ends(first.eventId)
    letGo()
    await ends(held.eventId)
    // A relay that had to help would have left its answers.
    expect(await world.producerDb.row(confirmations, [])).toEqual({ n: 0 })
  })

  it('whose writer died is found by a relay when its time is over, not before', async () => {
    world.startConsumer()
    const { eventId } = await world.writeInHand()
    const ordinary = await world.write()
    const { kick } = world.startProducer()
    await ends(ordinary)
    expect(await world.row(eventId)).toMatchObject({ attempts: 0 })
    world.clock.advance(inHandMs)
    kick()
    await ends(eventId)
    expect((await world.handled()).toSorted()).toEqual([eventId, ordinary].toSorted())
  })

  it('is handled once although a relay takes it too', async () => {
    world.startConsumer()
    const events = await Promise.all(Array.from({ length: 50 }, () => world.writeInHand()))
    world.clock.advance(inHandMs)
    const producer = world.startProducer()
    producer.kick()
    for (const event of events) producer.carry(event)
    await eventually(async () => expect(await world.unended()).toBe(0))
    const ids = events.map(({ eventId }) => eventId).toSorted()
    expect((await world.handled()).toSorted()).toEqual(ids)
  })

  it('that nobody vouches for becomes an ordinary one', async () => {
    world.setConsumerReachable(false)
    world.startConsumer()
    const producer = world.startProducer()
    const event = await world.writeInHand()
    producer.carry(event)
    await eventually(async () => expect((await world.row(event.eventId)).attempts).toBe(1))
    expect(await world.row(event.eventId)).toMatchObject({ confirmed_at: null })
    world.setConsumerReachable(true)
    await ends(event.eventId)
    expect(await world.handled()).toEqual([event.eventId])
  })

  it('that its consumer refuses for good is parked', async () => {
    world.startConsumer({
      handle: (_tx, [first]) => Promise.reject(new PoisonEvent(first?.eventId ?? '', 'no sense')),
    })
    const producer = world.startProducer()
    const event = await world.writeInHand()
    producer.carry(event)
    await eventually(async () => expect((await world.row(event.eventId)).parked_at).not.toBeNull())
  })

  it('that nobody has to confirm ends although no consumer can be asked', async () => {
    world.setConsumerReachable(false)
    const producer = world.startProducer()
    const news = await world.writeInHand({ subject: newsSubject })
    producer.carry(news)
    await ends(news.eventId)
    expect(await world.row(news.eventId)).toMatchObject({ attempts: 1 })
    expect(await metricValue(producer.metrics, 'payweave_outbox_confirmed_total')).toBe(1)
  })

  it('that nobody has to confirm is published and ended by a writer that stops', async () => {
    const nats = world.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const producer = world.startProducer({ nats })
    const news = await world.writeInHand({ subject: newsSubject })
    const other = await world.writeInHand()
    for (const event of [news, other]) producer.carry(event)
    await producer.close()
    expect((await world.row(news.eventId)).confirmed_at).not.toBeNull()
    expect(await world.row(other.eventId)).toMatchObject({ attempts: 1, confirmed_at: null })
  })

  it('that cannot be published has its error in its row', async () => {
    const producer = world.startProducer()
    const event = await world.writeInHand({ subject: 'elsewhere.event' })
    producer.carry(event)
    await eventually(async () =>
      expect((await world.row(event.eventId)).last_error).toBe('the broker refused: 503'),
    )
    expect(await world.row(event.eventId)).toMatchObject({ attempts: 0, published_at: null })
  })

  it('is left to others at once by a writer that stops', async () => {
    world.startConsumer()
    const nats = world.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const stopping = world.startProducer({ nats })
    await broker.kill()
    await eventually(() => expect(nats.ready()).toBe(false))
    const event = await world.writeInHand()
    stopping.carry(event)
    await stopping.close()
    await broker.start()
    world.startProducer()
    await ends(event.eventId)
    expect(await world.handled()).toEqual([event.eventId])
  })
})

describe('a broker that forgets', () => {
  it('acknowledged and then lost with the disk, an event in hand is published again', async () => {
    const producer = world.startProducer()
    const event = await world.writeInHand()
    producer.carry(event)
    await eventually(async () => {
      expect(await metricValue(producer.metrics, 'payweave_outbox_published_total')).toBe(1)
    })
    await broker.kill()
    broker.wipe()
    await broker.start()
    world.startConsumer()
    await eventually(async () => {
      world.clock.advance(1_000)
      expect((await world.row(event.eventId)).confirmed_at).not.toBeNull()
    })
    expect(await world.handled()).toEqual([event.eventId])
    expect((await world.row(event.eventId)).attempts).toBeGreaterThan(1)
  })

  it('killed and wiped under load, it makes nobody lose an event in hand nor see one twice', async () => {
    world.startConsumer()
    const producer = world.startProducer()
    const written: string[] = []
    const ending = new AbortController()
    const writer = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        const event = await world.writeInHand()
        written.push(event.eventId)
        producer.carry(event)
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
      world.clock.advance(1_000)
      expect(await world.unended()).toBe(0)
    })
    expect((await world.handled()).toSorted()).toEqual(written.toSorted())
  })
})
