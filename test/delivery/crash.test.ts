// Tests what a crash, a lost lease and a graceful shutdown do to pushes in flight.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { judge } from '../../services/delivery/domain/delivery.ts'
import { complete } from '../../services/delivery/store/complete-store.ts'
import { expireLeases, scheduleForgottenLanes } from '../../services/delivery/store/lease-store.ts'
import { eventually } from '../support/eventually.ts'
import { claimDeliveries, startHarness } from './harness.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

const limits = { endpoints: 10, deliveries: 10, leaseS: 60 }
const tokens = [
  '00000000-0000-4000-8000-000000000001',
  '00000000-0000-4000-8000-000000000002',
] as const

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver

beforeAll(async () => {
  harness = await startHarness()
  receiver = await startReceiver()
})
afterEach(async () => {
  await harness.reset()
  receiver.requests.length = 0
  receiver.answer(status(200))
})
afterAll(async () => {
  await receiver.close()
  await harness.drop()
})

const delivered = { outcome: 'delivered', status: 200, totalMs: 1 } as const
const refused = { outcome: 'refused', status: 500, totalMs: 1 } as const
const terms = { scheduleS: [60], failures: 0, random: 0.5 }

async function claimOne(token: string = tokens[0]) {
  const [claimed] = await claimDeliveries(harness.db, token, limits)
  if (claimed === undefined) throw new Error('nothing was due')
  return claimed
}

describe('a worker that dies', () => {
  it('a worker that dies before the POST leaves an attempt that becomes unknown, and the push comes from another', async () => {
    const [id = ''] = await harness.push({ url: receiver.url })
    await claimOne()
    expect(await harness.attempts(id)).toMatchObject([{ number: 1, outcome: 'started' }])
    harness.worker()
    // The worker delivers what is pushed later, and leaves the first alone.
    await harness.push({ url: `${receiver.url}/later`, projectId: randomUUID() })
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(1))
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/later'])

    harness.clock.advance(61_000)
    expect(await expireLeases(harness.db, 100)).toBe(1)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, outcome: 'unknown', error: 'lease_expired' },
      { number: 2, outcome: 'delivered' },
    ])
    expect(receiver.requests).toHaveLength(2)
  })

  it('a worker that dies after the POST has the receiver see the same bytes twice', async () => {
    const released = Promise.withResolvers<void>()
    receiver.answer((_request, response) => void released.promise.then(() => response.end()))
    const dying = harness.worker()
    const [id = ''] = await harness.push({ url: receiver.url, body: Buffer.from('{"n":1}') })
    await eventually(() => expect(receiver.requests.length).toBe(1))
    dying.abandon()
    receiver.answer(status(200))
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    released.resolve()
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":1}'])
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'unknown' },
      { outcome: 'delivered' },
    ])
  })

  it('a worker that dies after the 2xx and before it is recorded has the receiver see the same bytes twice', async () => {
    const { db } = harness
    let ends = 0
    const dying = harness.worker({
      db: {
        ...db,
        rows: (statement, values) => {
          if (statement.name !== 'delivery_complete') return db.rows(statement, values)
          ends += 1
          return Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'about to die'))
        },
      },
    })
    const [id = ''] = await harness.push({ url: receiver.url, body: Buffer.from('{"n":1}') })
    await eventually(() => expect(ends).toBe(1))
    dying.abandon()
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'started' }])
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":1}'])
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'unknown', error: 'lease_expired' },
      { outcome: 'delivered' },
    ])
  })

  it('a worker that dies does not use up the schedule', async () => {
    receiver.answer(status(500))
    const [id = ''] = await harness.push({ url: receiver.url })
    await claimOne()
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    harness.worker({ scheduleS: [60] })
    await eventually(async () =>
      (await harness.attempts(id)).some((one) => one.outcome === 'refused'),
    )
    expect(await harness.state(id)).toBe('pending')
  })
})

describe('a lease', () => {
  it('a lease that has not expired keeps all other workers away', async () => {
    await harness.push({ url: receiver.url })
    await claimOne()
    harness.clock.advance(30_000)
    expect(await expireLeases(harness.db, 100)).toBe(0)
    expect(await claimDeliveries(harness.db, tokens[1], limits)).toEqual([])
  })

  it('a lost lease fences off a failure, which is only recorded in its attempt', async () => {
    const [id = ''] = await harness.push({ url: receiver.url })
    const first = await claimOne()
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    const second = await claimOne(tokens[1])
    const late = { claimed: first, end: refused, verdict: judge(refused, terms) }
    expect(await complete(harness.db, [late])).toEqual([])
    expect(await harness.state(id)).toBe('sending')
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'refused', status: 500 },
      { outcome: 'started' },
    ])
    const end = { claimed: second, end: delivered, verdict: judge(delivered, terms) }
    expect(await complete(harness.db, [end])).toMatchObject([
      { deliveryId: id, state: 'delivered' },
    ])
  })

  it('a lost lease does not fence off a 2xx, which wins while the push has not ended', async () => {
    const [id = ''] = await harness.push({ url: receiver.url })
    const first = await claimOne()
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    const second = await claimOne(tokens[1])
    const late = { claimed: first, end: delivered, verdict: judge(delivered, terms) }
    expect(await complete(harness.db, [late])).toMatchObject([{ state: 'delivered' }])
    const loser = { claimed: second, end: refused, verdict: judge(refused, terms) }
    expect(await complete(harness.db, [loser])).toEqual([])
    expect(await harness.state(id)).toBe('delivered')
    expect(await harness.attempts(id)).toMatchObject([
      { outcome: 'delivered' },
      { outcome: 'refused' },
    ])
  })

  it('a lost lease changes nothing once the push has ended', async () => {
    receiver.answer(status(410))
    const [id = ''] = await harness.push({ url: receiver.url })
    const first = await claimOne()
    harness.clock.advance(61_000)
    await expireLeases(harness.db, 100)
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('gone'))
    const late = { claimed: first, end: delivered, verdict: judge(delivered, terms) }
    expect(await complete(harness.db, [late])).toEqual([])
    expect(await harness.state(id)).toBe('gone')
  })
})

describe('a stop', () => {
  it('a stop lets POSTs in flight end, records them and claims nothing more', async () => {
    const stopping = Promise.withResolvers<void>()
    receiver.answer((_request, response) => void stopping.promise.then(() => response.end()))
    const worker = harness.worker({ maxInFlight: 1 })
    const [first = '', second = ''] = await harness.push(
      { url: receiver.url },
      { url: receiver.url },
    )
    await eventually(() => expect(receiver.requests.length).toBe(1))
    const closed = worker.close()
    stopping.resolve()
    await closed
    const states = [await harness.state(first), await harness.state(second)]
    expect(new Set(states)).toEqual(new Set(['delivered', 'pending']))
    expect(worker.inFlight()).toBe(0)
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('workers side by side', () => {
  it('workers side by side send each push once', async () => {
    const pushes = Array.from({ length: 200 }, (_, n) => ({
      url: `${receiver.url}/${n}`,
      projectId: harness.projectId,
    }))
    await harness.push(...pushes)
    const workers = [harness.worker(), harness.worker(), harness.worker()]
    await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(200))
    // They end what they have begun.
    await Promise.all(workers.map((worker) => worker.close()))
    expect(new Set(receiver.requests.map(({ path }) => path)).size).toBe(200)
    expect(receiver.requests).toHaveLength(200)
  })
})

describe('a receiver', () => {
  it('a receiver with overdue pushes that lost its ready time is made ready again', async () => {
    const [id = ''] = await harness.push({ url: receiver.url })
    await harness.asOwner("update delivery.endpoint set ready_at = 'infinity'")
    harness.clock.advance(6_000)
    expect(await claimDeliveries(harness.db, tokens[0], limits)).toEqual([])
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(1)
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
  })
  it('a receiver with pushes that another process sends past overdue ones is made ready after half a minute', async () => {
    const [sent = ''] = await harness.push({ url: receiver.url })
    await claimDeliveries(harness.db, tokens[0], limits)
    await harness.push({ url: receiver.url }, { url: `${receiver.url}/other` })
    await harness.asOwner("update delivery.endpoint set ready_at = 'infinity'")
    expect(await harness.state(sent)).toBe('sending')
    harness.clock.advance(6_000)
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(0)
    harness.clock.advance(25_000)
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(1)
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(0)
  })

  it('receivers that lost their ready time are all made ready, however few a statement looks at', async () => {
    const hosts = ['a', 'b', 'c', 'd', 'e']
    await harness.push(...hosts.map((host) => ({ url: `https://${host}.example/` })))
    await harness.asOwner("update delivery.endpoint set ready_at = 'infinity'")
    await harness.asOwner(
      "update delivery.delivery set attempts = 1 where url in ('https://b.example/', 'https://d.example/')",
    )
    harness.clock.advance(6_000)
    expect(await scheduleForgottenLanes(harness.db, 2)).toBe(5)
  })
})
