// Shows which failures count against a lane, and which say something about one of its URLs alone.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Claimed, PostEnd } from '../../../services/delivery/domain/delivery.ts'
import { createLearner, type Ended, startHarness } from '../harness.ts'

const breaker = { openS: 30, maxS: 100 }
const origin = 'https://receiver.example'

let harness: Awaited<ReturnType<typeof startHarness>>
let learner: ReturnType<typeof createLearner>
beforeAll(async () => {
  harness = await startHarness()
})
beforeEach(() => {
  learner = createLearner(harness, breaker)
})
afterEach(() => harness.reset())
afterAll(() => harness.drop())

const timedOut: PostEnd = { outcome: 'timed_out', totalMs: 15_000 }
const answered = (status: number, totalMs = 10): PostEnd => ({
  outcome: status < 300 ? 'delivered' : 'refused',
  status,
  totalMs,
  peerAddress: '192.0.2.1',
})

const pushTo = (...paths: string[]) =>
  harness.push(...paths.map((path) => ({ url: `${origin}${path}` })))

const claim = () => learner.claim({ endpoints: 10, deliveries: 50, leaseS: 60 })

/** Records attempts in the order in which they ended, in one batch; those that failed come again in an hour. */
function record(...ends: [Claimed | undefined, PostEnd][]): Promise<unknown> {
  const batch = ends.map(([claimed, end]): Ended => {
    if (claimed === undefined) throw new Error('nothing was claimed')
    const verdict =
      end.outcome === 'delivered'
        ? ({ state: 'delivered' } as const)
        : ({ state: 'pending', delayMs: 3_600_000 } as const)
    return { claimed, end, verdict }
  })
  return learner.record(batch)
}

type Lane = { limit: number; breaker: string; failures: number }

async function lane(): Promise<Lane | undefined> {
  const [row] = await harness.asOwner<Lane>(
    `select limit_now as limit, breaker, window_failures as failures from delivery.endpoint`,
  )
  return row
}

const setLimit = (limit: number) =>
  harness.asOwner(`update delivery.endpoint set limit_now = ${limit}`)

/** Claims a push to each of these paths, which wait already. */
async function claimed(...paths: string[]): Promise<(Claimed | undefined)[]> {
  const all = await claim()
  return paths.map((path) => all.find(({ url }) => url === `${origin}${path}`))
}

describe('a path that answers with errors while others of its lane succeed', () => {
  it('a path that answers with errors while others of its lane succeed shrinks no limit and opens no breaker, and the limit grows by the successes', async () => {
    await pushTo('/1')
    await setLimit(10)
    for (let n = 0; n < 40; n += 1) {
      const paths = Array.from({ length: 9 }, (_, index) => `/order-${n}-${index}`)
      await pushTo('/fails', ...paths)
      const all = await claim()
      const ends = all.map((one): [Claimed, PostEnd] => {
        return [one, answered(one.url.endsWith('/fails') ? 500 : 200)]
      })
      await record(...ends)
      expect((await lane())?.limit).toBeGreaterThanOrEqual(10)
    }
    expect(await lane()).toMatchObject({ limit: 16, breaker: 'closed' })
  })

  it.each([400, 401, 404, 500, 502, 504])(
    'a path that answers with errors while others of its lane succeed does not shrink the limit by %d',
    async (status) => {
      await pushTo('/a', '/b')
      await setLimit(8)
      const [a, b] = await claimed('/a', '/b')
      await record([a, answered(status)], [b, answered(200)])
      expect((await lane())?.limit).toBe(8)
    },
  )

  it.each([429, 503])(
    'a path that answers with errors while others of its lane succeed shrinks the limit by %d, which asks for less',
    async (status) => {
      await pushTo('/a', '/b')
      await setLimit(8)
      const [a, b] = await claimed('/a', '/b')
      await record([a, answered(status)], [b, answered(200)])
      expect((await lane())?.limit).toBe(4)
    },
  )

  it('a connection that is cut off before the answer does not shrink the limit while others of its lane succeed', async () => {
    const cutOff: PostEnd = {
      outcome: 'connection_failed',
      error: 'und_err_socket',
      totalMs: 5,
      peerAddress: '192.0.2.1',
    }
    await pushTo('/a', '/b')
    await setLimit(8)
    const [a, b] = await claimed('/a', '/b')
    await record([a, cutOff], [b, answered(200)])
    expect(await lane()).toMatchObject({ limit: 8, failures: 1 })
  })
})

describe('a lane whose receiver is down', () => {
  it('a lane whose receiver is down has its breaker opened when eight of ten fail in any way', async () => {
    await pushTo(...Array.from({ length: 10 }, (_, n) => `/${n}`))
    await setLimit(10)
    const all = await claim()
    expect(all).toHaveLength(10)
    await record(...all.slice(0, 2).map((one): [Claimed, PostEnd] => [one, answered(200)]))
    await record(...all.slice(2, 9).map((one): [Claimed, PostEnd] => [one, answered(500)]))
    expect((await lane())?.breaker).toBe('closed')
    await record([all[9], answered(500)])
    expect((await lane())?.breaker).toBe('open')
  })
})

describe('a time-out', () => {
  it('a time-out while another URL of the lane answered does not count', async () => {
    await pushTo('/hangs', '/works')
    await setLimit(8)
    const [hangs, works] = await claimed('/hangs', '/works')
    await record([works, answered(200)])
    harness.clock.advance(15_000)
    await record([hangs, timedOut])
    expect(await lane()).toEqual({ limit: 8, breaker: 'closed', failures: 0 })
  })

  it('a time-out does not count either when that answer is recorded with it', async () => {
    await pushTo('/hangs', '/works')
    await setLimit(8)
    const [hangs, works] = await claimed('/hangs', '/works')
    await record([hangs, timedOut], [works, answered(500, 14_000)])
    expect(await lane()).toEqual({ limit: 8, breaker: 'closed', failures: 1 })
  })

  it('a time-out while nothing answered counts', async () => {
    await pushTo('/hangs', '/too')
    await setLimit(8)
    const [hangs, too] = await claimed('/hangs', '/too')
    await record([hangs, timedOut], [too, timedOut])
    expect(await lane()).toEqual({ limit: 4, breaker: 'closed', failures: 2 })
  })

  it('a time-out while only its own URL answered counts', async () => {
    await pushTo('/one', '/one')
    await setLimit(8)
    const [first, second] = await claim()
    await record([first, answered(200)])
    await record([second, timedOut])
    expect((await lane())?.limit).toBe(4)
  })

  it('a time-out counts when others answered before it began, and none since', async () => {
    await pushTo('/works')
    await setLimit(8)
    const [works] = await claimed('/works')
    await record([works, answered(200)])
    harness.clock.advance(1_000)
    await pushTo('/hangs')
    const [hangs] = await claimed('/hangs')
    await record([hangs, timedOut])
    expect((await lane())?.limit).toBe(4)
  })

  it('a time-out does not count when another URL answered, though its own answered last', async () => {
    await pushTo('/a', '/b', '/a', '/c')
    await setLimit(16)
    const [first, b, second, c] = await claim()
    await record([b, answered(200, 10)])
    await record([first, answered(200, 20)])
    // Answers are recorded in any order.
    await record([c, answered(200, 5)])
    harness.clock.advance(15_000)
    await record([second, timedOut])
    expect(await lane()).toMatchObject({ limit: 16, failures: 0 })
  })
})
