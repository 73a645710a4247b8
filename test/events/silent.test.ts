// Tests that the client leaves a broker server that falls silent, even with responses outstanding.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connectNats, type Nats } from '#platform/events/nats/nats.ts'
import { eventually } from '../support/eventually.ts'
import { startStopwatch } from '../support/stopwatch.ts'
import { log, startBroker, subject, type TestBroker } from './harness.ts'

let first: TestBroker
let second: TestBroker
let nats: Nats

/** Connected to the first, which is then frozen. */
beforeEach(async () => {
  ;[first, second] = await Promise.all([startBroker('same'), startBroker('same')])
  await second.kill()
  nats = connectNats({ url: `${first.url},${second.url}`, name: 'test', log })
  await eventually(() => nats.ensureStream())
  await second.start()
  await first.freeze()
})
afterEach(async () => {
  await nats.close()
  await Promise.all([first.remove(), second.remove()])
})

/** Publication works again within 10 s. */
async function resumes(): Promise<void> {
  const watch = startStopwatch()
  await eventually(() => nats.publish(subject, Buffer.from('fact'), 'later'), 40_000)
  expect(watch.elapsedMs()).toBeLessThan(10_000)
}

describe('a server that is frozen', () => {
  it('a frozen server is left for another, and its publication in flight soon fails', async () => {
    const watch = startStopwatch()
    await expect(nats.publish(subject, Buffer.from('fact'), 'first')).rejects.toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
    })
    expect(watch.elapsedMs()).toBeLessThan(4_500)
    await resumes()
  })

  it('the client leaves a server that is frozen although it has not taken all that was written to it', async () => {
    const large = Buffer.alloc(512 * 1024)
    const numbers = Array.from({ length: 60 }, (_, index) => index)
    const given = numbers.map((index) => nats.publish(subject, large, `large-${index}`))
    const outcomes = await Promise.allSettled(given)
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
    await resumes()
  })

  it('a frozen server does not block a shutdown', async () => {
    const watch = startStopwatch()
    await nats.close()
    expect(watch.elapsedMs()).toBeLessThan(3_000)
  })
})
