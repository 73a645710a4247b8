// Events come through although the broker loses them or parts are down.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectNats } from '#platform/events/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import {
  deleteStream,
  log,
  makeWorld,
  metricValue,
  startBroker,
  type TestBroker,
  type World,
} from './harness.ts'

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

describe('a broker that loses events', () => {
  it('acknowledged and then lost with the disk, an event is published again and seen', async () => {
    const producer = world.startProducer()
    const eventId = await world.write()
    await eventually(async () => expect((await world.row(eventId)).attempts).toBe(1))
    await broker.kill()
    broker.wipe()
    await broker.start()
    world.startConsumer()
    world.clock.advance(3_000)
    producer.notify()
    await eventually(async () => expect((await world.row(eventId)).confirmed_at).not.toBeNull())
    expect(await world.handled()).toEqual([eventId])
    expect((await world.row(eventId)).attempts).toBeGreaterThan(1)
  })

  it('a wiped broker gets stream and consumer back while both sides run', async () => {
    world.startConsumer()
    const producer = world.startProducer()
    const before = await world.write()
    await eventually(async () => expect(await world.handled()).toEqual([before]))
    await broker.kill()
    broker.wipe()
    await broker.start()
    const after = await world.write()
    producer.notify()
    await eventually(async () => expect(await world.handled()).toContain(after))
    await eventually(async () => expect(await world.pendingRows()).toBe(0))
    expect(await world.handled()).toHaveLength(2)
  })

  it('a deleted stream is made again and its events come through', async () => {
    world.startConsumer()
    const producer = world.startProducer()
    const before = await world.write()
    await eventually(async () => expect(await world.handled()).toEqual([before]))
    await deleteStream(broker)
    const after = await world.write()
    producer.notify()
    await eventually(async () => expect(await world.handled()).toContain(after))
    await eventually(async () => expect(await world.pendingRows()).toBe(0))
  })

  it('under load, kills and wipes of the broker lose nothing and repeat nothing', async () => {
    world.startConsumer()
    const producer = world.startProducer()
    const written: string[] = []
    const ending = new AbortController()
    const writer = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        written.push(await world.write())
        producer.notify()
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
      expect(await world.pendingRows()).toBe(0)
    })
    expect((await world.handled()).toSorted()).toEqual(written.toSorted())
  })
})

describe('parts that are down', () => {
  it('events wait for a broker that is down at the start', async () => {
    await broker.kill()
    world.startConsumer()
    const nats = connectNats({ url: broker.url, name: 'test', log })
    world.startProducer({ nats })
    const eventId = await world.write()
    expect(nats.ready()).toBe(false)
    await broker.start()
    await eventually(async () => expect((await world.row(eventId)).confirmed_at).not.toBeNull())
    expect(await world.handled()).toEqual([eventId])
    await nats.close()
  })

  it('connecting to a broker that never responds can be aborted', async () => {
    await broker.kill()
    const nats = connectNats({ url: broker.url, name: 'test', log })
    await expect(nats.publish('pw.test.event', Buffer.from('x'), 'id')).rejects.toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
    })
    await nats.close()
    expect(nats.ready()).toBe(false)
    await broker.start()
  })

  it('a consumer that cannot be asked confirms nothing until it can', async () => {
    world.setConsumerReachable(false)
    world.startConsumer()
    const producer = world.startProducer()
    const eventId = await world.write()
    await eventually(async () => expect(await world.handled()).toEqual([eventId]))
    world.clock.advance(3_000)
    await eventually(async () => expect((await world.row(eventId)).attempts).toBe(2))
    expect((await world.row(eventId)).confirmed_at).toBeNull()
    expect(
      await metricValue(producer.metrics, 'payweave_outbox_oldest_unconfirmed_seconds'),
    ).toBeGreaterThanOrEqual(3)
    world.setConsumerReachable(true)
    await eventually(async () => expect((await world.row(eventId)).confirmed_at).not.toBeNull())
    expect(await world.handled()).toEqual([eventId])
    expect(await metricValue(producer.metrics, 'payweave_outbox_oldest_unconfirmed_seconds')).toBe(
      0,
    )
  })

  it('a failed publication leaves the row with its error, to be tried again', async () => {
    const nats = world.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    world.startProducer({ nats })
    const eventId = await world.write({ subject: 'elsewhere.event' })
    await eventually(async () =>
      expect((await world.row(eventId)).last_error).toBe('the broker refused: 503'),
    )
    expect(await world.row(eventId)).toMatchObject({ attempts: 0, published_at: null })
  })
})
