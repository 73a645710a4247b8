// Events come through although the broker loses them or parts are down.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UnprocessableEvent } from '#platform/events/inbox.ts'
import { connectNats } from '#platform/events/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import {
  deleteStream,
  type Harness,
  invalidationSubject,
  log,
  metricValue,
  startBroker,
  startHarness,
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

describe('a broker that loses events', () => {
  it('an event that was acknowledged and then lost with the disk is published again and seen', async () => {
    const producer = harness.startProducer()
    const eventId = await harness.write()
    await eventually(async () => expect((await harness.row(eventId)).attempts).toBe(1))
    await broker.kill()
    broker.wipe()
    await broker.start()
    harness.startConsumer()
    harness.clock.advance(3_000)
    producer.notify()
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.handled()).toEqual([eventId])
    expect((await harness.row(eventId)).attempts).toBeGreaterThan(1)
  })

  it('a wiped broker gets stream and consumer back while both sides run', async () => {
    harness.startConsumer()
    const producer = harness.startProducer()
    const before = await harness.write()
    await eventually(async () => expect(await harness.handled()).toEqual([before]))
    await broker.kill()
    broker.wipe()
    await broker.start()
    const after = await harness.write()
    producer.notify()
    await eventually(async () => expect(await harness.handled()).toContain(after))
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
    expect(await harness.handled()).toHaveLength(2)
  })

  it('a deleted stream is made again and its events come through', async () => {
    harness.startConsumer()
    const producer = harness.startProducer()
    const before = await harness.write()
    await eventually(async () => expect(await harness.handled()).toEqual([before]))
    await deleteStream(broker)
    const after = await harness.write()
    producer.notify()
    await eventually(async () => expect(await harness.handled()).toContain(after))
    await eventually(async () => expect(await harness.pendingRows()).toBe(0))
  })

  it('under load, kills and wipes of the broker lose nothing and repeat nothing', async () => {
    harness.startConsumer()
    const producer = harness.startProducer()
    const written: string[] = []
    const ending = new AbortController()
    const writer = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        written.push(await harness.write())
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
      harness.clock.advance(1_000)
      expect(await harness.pendingRows()).toBe(0)
    })
    expect((await harness.handled()).toSorted()).toEqual(written.toSorted())
  })
})

describe('a broker that takes no events', () => {
  it('events reach their consumers by RPC while the broker is down, and are not handled again when it is back', async () => {
    harness.startConsumer({ servesRpc: true })
    const producer = harness.startProducer()
    await broker.kill()
    const written = await harness.write()
    const leased = await harness.writeLeased()
    producer.notify()
    producer.publish(leased)
    const ids = [written, leased.eventId]
    for (const id of ids) {
      await eventually(async () => expect((await harness.row(id)).confirmed_at).not.toBeNull())
    }
    expect((await harness.handled()).toSorted()).toEqual(ids.toSorted())
    expect(await metricValue(producer.metrics, 'payweave_outbox_sent_by_rpc_total')).toBe(2)
    await broker.start()
    const later = await harness.write()
    producer.notify()
    await eventually(async () => expect(await harness.handled()).toContain(later))
    expect(await harness.handled()).toHaveLength(3)
  })

  it('an event whose publication is not acknowledged reaches its consumer by RPC, and is handled once', async () => {
    harness.startConsumer({ servesRpc: true })
    const producer = harness.startProducer()
    const before = await harness.write()
    producer.notify()
    await eventually(async () => expect(await harness.handled()).toEqual([before]))
    await broker.freeze()
    const event = await harness.writeLeased()
    producer.publish(event)
    await eventually(async () => expect(await harness.handled()).toContain(event.eventId))
    // The frozen broker has the message in its socket, and brings it when it goes on.
    broker.thaw()
    const after = await harness.write()
    producer.notify()
    await eventually(async () => expect(await harness.handled()).toContain(after))
    expect(await harness.handled()).toHaveLength(3)
  })

  it('an event without consumers waits for the broker that is down', async () => {
    harness.startConsumer({ servesRpc: true })
    const producer = harness.startProducer()
    await broker.kill()
    const waiting = await harness.write({ subject: invalidationSubject })
    const sent = await harness.write()
    producer.notify()
    await eventually(async () => expect((await harness.row(sent)).confirmed_at).not.toBeNull())
    expect(await harness.row(waiting)).toMatchObject({ confirmed_at: null, last_error: null })
    await broker.start()
    await eventually(async () => expect((await harness.row(waiting)).confirmed_at).not.toBeNull())
  })

  it('an event that no consumer can process is left to the broker, and the others reach it by RPC', async () => {
    let bad = ''
    harness.startConsumer({
      servesRpc: true,
      handle: async (tx, events) => {
        if (events.some(({ eventId }) => eventId === bad)) throw new UnprocessableEvent(bad, 'bad')
        await harness.note(tx, events)
      },
    })
    const producer = harness.startProducer()
    await broker.kill()
    bad = await harness.write()
    const good = await harness.write()
    producer.notify()
    await eventually(async () => expect((await harness.row(good)).confirmed_at).not.toBeNull())
    expect(await harness.handled()).toEqual([good])
    expect((await harness.row(bad)).confirmed_at).toBeNull()
    await broker.start()
    await eventually(async () => expect((await harness.row(bad)).parked_at).not.toBeNull())
  })
})

describe('parts that are down', () => {
  it('events wait for a broker that is down at the start', async () => {
    await broker.kill()
    harness.startConsumer()
    const nats = connectNats({ url: broker.url, name: 'test', log })
    harness.startProducer({ nats })
    const eventId = await harness.write()
    expect(nats.ready()).toBe(false)
    await broker.start()
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.handled()).toEqual([eventId])
    await nats.close()
  })

  it('a connection attempt to a broker that never responds can be aborted', async () => {
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
    harness.setConsumerReachable(false)
    harness.startConsumer()
    const producer = harness.startProducer()
    const eventId = await harness.write()
    await eventually(async () => expect(await harness.handled()).toEqual([eventId]))
    // It may be handled before its publication is recorded, and is due again three seconds after that.
    await eventually(async () => expect((await harness.row(eventId)).attempts).toBe(1))
    harness.clock.advance(3_000)
    await eventually(async () => expect((await harness.row(eventId)).attempts).toBe(2))
    expect((await harness.row(eventId)).confirmed_at).toBeNull()
    expect(
      await metricValue(producer.metrics, 'payweave_outbox_oldest_unconfirmed_seconds'),
    ).toBeGreaterThanOrEqual(3)
    harness.setConsumerReachable(true)
    await eventually(async () => expect((await harness.row(eventId)).confirmed_at).not.toBeNull())
    expect(await harness.handled()).toEqual([eventId])
    expect(await metricValue(producer.metrics, 'payweave_outbox_oldest_unconfirmed_seconds')).toBe(
      0,
    )
  })

  it('a failed publication leaves the row with its error, to be tried again', async () => {
    const nats = harness.openNats()
    await eventually(() => expect(nats.ready()).toBe(true))
    const { metrics } = harness.startProducer({ nats })
    const eventId = await harness.write({ subject: 'elsewhere.event' })
    const lastError = async () => (await harness.row(eventId)).last_error
    await eventually(async () => expect(await lastError()).toBe('the broker refused: 503'))
    harness.clock.advance(1_000)
    // The first publication is recorded by the time that the second is made.
    await eventually(async () =>
      expect(await metricValue(metrics, 'payweave_outbox_publish_failed_total')).toBeGreaterThan(1),
    )
    expect(await harness.row(eventId)).toMatchObject({ attempts: 0, published_at: null })
  })
})
