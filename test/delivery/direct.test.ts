// Shows how fresh pushes are posted without a claim, what a crash at each step does to them, and which limits they keep.
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { storeEvents } from '../../services/delivery/store/intake-store.ts'
import { expireLeases, releaseLeases } from '../../services/delivery/store/lease-store.ts'
import { createIntake } from '../../services/delivery/workers/intake.ts'
import type { DeliveryWorker } from '../../services/delivery/workers/worker.ts'
import { eventually } from '../support/eventually.ts'
import { createdEvent } from './event.ts'
import { leasesOf, startHarness, unownedLeases, type WorkerChanges } from './harness.ts'
import { type Receiver, startReceiver, status } from './receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  // First, so that no POST is in flight any more.
  await receiver.close()
  await harness.reset()
})
afterAll(() => harness.drop())

/** A worker that knows the lane of its receiver, with this limit: a claim has served it before. */
async function workerOfLane(limit: number, changes: WorkerChanges = {}): Promise<DeliveryWorker> {
  receiver = await startReceiver()
  const [first = ''] = await harness.push({ url: `${receiver.url}/first` })
  await harness.asOwner(`update delivery.endpoint set limit_now = ${limit}`)
  return knowing(first, changes)
}

async function knowing(first: string, changes: WorkerChanges): Promise<DeliveryWorker> {
  const worker = harness.worker(changes)
  await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
  await eventually(() => expect(worker.inFlight()).toBe(0))
  receiver.requests.length = 0
  return worker
}

/** A database that runs the statements of this name, or fails them. */
function observed(db: Database, name: string, answer: () => 'run' | 'fail'): Database {
  return {
    ...db,
    rows: (statement, values) =>
      statement.name === name && answer() === 'fail'
        ? Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'about to die'))
        : db.rows(statement, values),
  }
}

/** Answers nothing, and keeps what it would answer with. */
function keepWaiting(): ServerResponse[] {
  const waiting: ServerResponse[] = []
  receiver.answer((_request, response) => void waiting.push(response))
  return waiting
}

const each = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ url: `${receiver.url}/${n}` }))

describe('a fresh push of a lane with free slots', () => {
  it('a fresh push is posted without a claim, and its attempt is recorded before', async () => {
    let answer: 'run' | 'fail' = 'run'
    const db = observed(harness.db, 'delivery_claim', () => answer)
    const worker = await workerOfLane(2, { db })
    answer = 'fail'
    const seen: Promise<unknown>[] = []
    receiver.answer((request, response) => {
      const id = String(request.headers['pw-delivery-id'])
      seen.push(harness.attempts(id).finally(() => response.end()))
    })
    const [id = ''] = await harness.pushDirectly(worker, { url: receiver.url })
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    expect(receiver.requests[0]?.headers).toMatchObject({ 'pw-delivery-attempt': '1' })
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(await Promise.all(seen)).toMatchObject([[{ number: 1, outcome: 'started', round: 1 }]])
    expect(await harness.attempts(id)).toMatchObject([{ number: 1, outcome: 'delivered' }])
  })

  it('a repeated event posts nothing', async () => {
    const worker = await workerOfLane(4)
    const { projectId } = harness
    const takeIn = createIntake(harness.db, worker)
    const event = createdEvent({ projectId, notify: receiver.url })
    const answers = await Promise.all([takeIn([event]), takeIn([event])])
    expect(answers.map(({ size }) => size).toSorted()).toEqual([0, 1])
    await eventually(() => expect(worker.inFlight()).toBe(0))
    expect(receiver.requests).toHaveLength(1)
  })

  it('a push to a URL that is gone for its payment is not posted', async () => {
    const worker = await workerOfLane(4)
    receiver.answer(status(410))
    const url = `${receiver.url}/gone`
    const [first = ''] = await harness.pushDirectly(worker, { url })
    await eventually(async () => expect(await harness.state(first)).toBe('gone'))
    const [second = ''] = await harness.pushDirectly(worker, { url })
    expect(await harness.state(second)).toBe('gone')
    expect(worker.inFlight()).toBe(0)
    expect(receiver.requests).toHaveLength(1)
  })

  it('a push that fails is tried again by the schedule', async () => {
    const worker = await workerOfLane(2, { scheduleS: [60] })
    receiver.answer(status(500))
    const [id = ''] = await harness.pushDirectly(worker, { url: receiver.url })
    await eventually(async () => expect(await harness.state(id)).toBe('pending'))
    receiver.answer(status(200))
    harness.clock.advance(61_000)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, outcome: 'refused' },
      { number: 2, outcome: 'delivered' },
    ])
  })
})

describe('a crash in the middle of a direct push', () => {
  async function expectPushedAgain(id: string): Promise<void> {
    harness.clock.advance(61_000)
    expect(await expireLeases(harness.db, 100)).toBe(1)
    harness.worker()
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(await harness.attempts(id)).toMatchObject([
      { number: 1, outcome: 'unknown', error: 'lease_expired' },
      { number: 2, outcome: 'delivered' },
    ])
  }

  it('a crash before the push is stored leaves nothing', async () => {
    const worker = await workerOfLane(2)
    await worker.reserve(harness.newDeliveries([{ url: receiver.url }]))
    worker.abandon()
    expect(await harness.count("state <> 'delivered'")).toBe(0)
  })

  it('a crash after the push is stored has another process post it', async () => {
    const worker = await workerOfLane(2)
    const pushes = harness.newDeliveries([{ url: receiver.url }])
    const [push] = pushes
    const reservation = await worker.reserve(pushes)
    const eventIds = pushes.map(({ eventId }) => eventId)
    const { startedAt } = await storeEvents(harness.db, { eventIds, pushes, ...reservation })
    const id = push?.deliveryId ?? ''
    expect([...startedAt.keys()]).toEqual([id])
    worker.abandon()
    expect(await harness.attempts(id)).toMatchObject([{ number: 1, outcome: 'started' }])
    await expectPushedAgain(id)
    expect(receiver.requests).toHaveLength(1)
  })

  it('a crash after the POST has the receiver see the same bytes twice', async () => {
    const worker = await workerOfLane(2)
    const waiting = keepWaiting()
    const [id = ''] = await harness.pushDirectly(worker, {
      url: receiver.url,
      body: Buffer.from('{"n":1}'),
    })
    await eventually(() => expect(waiting).toHaveLength(1))
    worker.abandon()
    receiver.answer(status(200))
    await expectPushedAgain(id)
    expect(receiver.requests.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":1}'])
  })

  it('a crash after the response and before its record has the receiver see the same bytes twice', async () => {
    let isDying = false
    let records = 0
    const db = observed(harness.db, 'delivery_complete', () => {
      if (isDying) records += 1
      return isDying ? 'fail' : 'run'
    })
    const worker = await workerOfLane(2, { db })
    isDying = true
    const [id = ''] = await harness.pushDirectly(worker, { url: receiver.url })
    await eventually(() => expect(records).toBeGreaterThan(0))
    worker.abandon()
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'started' }])
    await expectPushedAgain(id)
    expect(receiver.requests).toHaveLength(2)
  })

  it('a push whose storing got no response is released and posted later, once', async () => {
    let failures = 0
    const leases = { ...unownedLeases, releaseUnheld: () => void (failures += 1) }
    const worker = await workerOfLane(2, { leases })
    const unheld = async () => (await leasesOf(harness)).filter((lease) => !worker.holds(lease))
    const lost: Database = {
      ...harness.db,
      async rows(statement, values) {
        await harness.db.rows(statement, values)
        expect(await unheld()).toEqual([])
        throw new Failure('TIMEOUT', 'no response')
      },
    }
    const event = createdEvent({ projectId: harness.projectId, notify: receiver.url })
    await expect(createIntake(lost, worker)([event])).rejects.toThrow('no response')
    expect(worker.inFlight()).toBe(0)
    expect(await harness.count("state = 'sending'")).toBe(1)
    expect(failures).toBe(1)
    expect(await releaseLeases(harness.db, await unheld())).toBe(1)
    worker.notify()
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(2))
    expect(receiver.requests).toHaveLength(1)
    expect(await createIntake(harness.db, worker)([event])).toEqual(new Set())
  })
})

describe('the limits of direct pushes', () => {
  it('direct pushes keep the limit of their lane, and the rest waits in the table', async () => {
    const worker = await workerOfLane(4, { timeoutMs: 60_000 })
    const waiting = keepWaiting()
    await harness.pushDirectly(worker, ...each(100))
    await eventually(() => expect(waiting).toHaveLength(4))
    expect(await harness.count("state = 'pending'")).toBeGreaterThanOrEqual(100 - 4 - 32)
    expect(waiting).toHaveLength(4)
    receiver.answer(status(200))
    for (const response of waiting) response.end()
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(101))
    expect(receiver.requests).toHaveLength(100)
  })

  it('one URL gets half of the slots for direct pushes', async () => {
    const worker = await workerOfLane(8, { timeoutMs: 60_000 })
    const waiting = keepWaiting()
    const one = { url: `${receiver.url}/one` }
    await harness.pushDirectly(worker, ...Array.from({ length: 50 }, () => one))
    await eventually(() => expect(waiting).toHaveLength(4))
    await harness.pushDirectly(worker, { url: `${receiver.url}/other` })
    await eventually(() => expect(receiver.requests.map(({ path }) => path)).toContain('/other'))
    expect(receiver.requests.filter(({ path }) => path === '/one')).toHaveLength(4)
  })

  it('a process has its share of the limit while others share it', async () => {
    const worker = await workerOfLane(16, {
      timeoutMs: 60_000,
      leases: { ...unownedLeases, instances: () => 4 },
    })
    const waiting = keepWaiting()
    await harness.pushDirectly(worker, ...each(60))
    await eventually(() => expect(waiting).toHaveLength(4))
    await eventually(async () => expect(await harness.count("state = 'pending'")).toBe(56))
    expect(waiting).toHaveLength(4)
  })

  it('a fresh push does not overtake what waits in its lane', async () => {
    const worker = await workerOfLane(2, { timeoutMs: 60_000 })
    const waiting = keepWaiting()
    const order = each(60)
    await harness.pushDirectly(worker, ...order)
    await eventually(() => expect(waiting).toHaveLength(2))
    const [late = ''] = await harness.pushDirectly(worker, { url: `${receiver.url}/late` })
    expect(await harness.state(late)).toBe('pending')
    receiver.answer(status(200))
    for (const response of waiting) response.end()
    await eventually(async () => expect(await harness.state(late)).toBe('delivered'))
    const place = receiver.requests.findIndex(({ path }) => path === '/late')
    expect(place).toBeGreaterThan(40)
  })

  it('a push that is stored after a claim found its lane empty is claimed at once', async () => {
    const worker = await workerOfLane(2, { timeoutMs: 60_000 })
    const waiting = keepWaiting()
    await harness.pushDirectly(worker, ...each(60))
    await eventually(() => expect(waiting).toHaveLength(2))
    const pushes = harness.newDeliveries([{ url: `${receiver.url}/late` }])
    const reservation = await worker.reserve(pushes)
    // The worker knows of what waits in the lane, so it does not make the lane ready.
    expect([reservation.direct.size, reservation.makesReady.size]).toEqual([0, 0])
    receiver.answer(status(200))
    for (const response of waiting) response.end()
    await eventually(async () => {
      const lanes = await harness.asOwner(
        'select from delivery.endpoint where ready_at < $$infinity$$',
      )
      expect(lanes).toEqual([])
    })
    const eventIds = pushes.map(({ eventId }) => eventId)
    const { startedAt } = await storeEvents(harness.db, { eventIds, pushes, ...reservation })
    reservation.begin(startedAt)
    const id = pushes[0]?.deliveryId ?? ''
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
  })

  it('what waits in memory for a slot goes back to the table when the receiver hangs, and costs no attempt', async () => {
    const worker = await workerOfLane(4, { timeoutMs: 60_000 })
    keepWaiting()
    const ids = await harness.pushDirectly(worker, ...each(30))
    await eventually(() => expect(receiver.requests).toHaveLength(4))
    const unsent = "state = 'pending' and attempts = 0 and failures = 0"
    await eventually(async () => expect(await harness.count(unsent)).toBe(26))
    const sent = new Set(receiver.requests.map(({ headers }) => headers['pw-delivery-id']))
    for (const id of ids.filter((one) => !sent.has(one))) {
      expect(await harness.attempts(id)).toEqual([])
    }
    expect(receiver.requests).toHaveLength(4)
  })

  it('pushes wait until the process has room for all of them, as long as slots become free', async () => {
    const limits = { maxInFlight: 4, stalledMs: 10_000, timeoutMs: 60_000 }
    const worker = await workerOfLane(16, limits)
    const waiting = keepWaiting()
    await harness.pushDirectly(worker, ...each(3))
    await eventually(() => expect(waiting).toHaveLength(3))
    const reserving = worker.reserve(harness.newDeliveries(each(2)))
    waiting.pop()?.end()
    const { direct, abandon } = await reserving
    expect(direct.size).toBe(2)
    abandon()
    for (const response of waiting) response.end()
  })

  it('a process whose receivers hang lets the next pushes wait in the table', async () => {
    const worker = await workerOfLane(16, { maxInFlight: 4, stalledMs: 1, timeoutMs: 60_000 })
    const waiting = keepWaiting()
    await harness.pushDirectly(worker, ...each(4))
    await eventually(() => expect(waiting).toHaveLength(4))
    const late = await worker.reserve(harness.newDeliveries(each(1)))
    expect(late.direct.size).toBe(0)
    late.abandon()
    for (const response of waiting) response.end()
  })

  it('a stop posts nothing more and leaves no lease', async () => {
    const worker = await workerOfLane(4)
    receiver.answer((_request, response) => void setTimeout(() => response.end(), 300))
    await harness.pushDirectly(worker, ...each(40))
    await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(4))
    await worker.close()
    const sent = receiver.requests.length
    expect(await harness.count("state = 'sending'")).toBe(0)
    expect(await harness.count("state = 'delivered'")).toBe(sent + 1)
    expect(await harness.count("state = 'pending' and attempts = 0")).toBe(40 - sent)
    const [late = ''] = await harness.pushDirectly(worker, { url: receiver.url })
    expect(await harness.state(late)).toBe('pending')
  })
})

describe('two processes', () => {
  it('two processes post each push once, within the limit of each', async () => {
    const first = await workerOfLane(16, { leases: { ...unownedLeases, instances: () => 2 } })
    const [id = ''] = await harness.push({ url: `${receiver.url}/second` })
    const second = await knowing(id, { leases: { ...unownedLeases, instances: () => 2 } })
    let atOnce = 0
    let most = 0
    receiver.answer((_request, response) => {
      atOnce += 1
      most = Math.max(most, atOnce)
      setTimeout(() => {
        atOnce -= 1
        response.end()
      }, 20)
    })
    const before = receiver.requests.length
    for (let n = 0; n < 10; n += 1) {
      await Promise.all([
        harness.pushDirectly(first, ...each(10)),
        harness.pushDirectly(second, ...each(10)),
      ])
    }
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(202))
    expect(receiver.requests.length - before).toBe(200)
    expect(most).toBeLessThanOrEqual(16)
    const ids = receiver.requests.map(({ headers }) => headers['pw-delivery-id'])
    expect(new Set(ids).size).toBe(ids.length)
  })
})
