// Shows what becomes of pushes that wait in memory for a slot of their lane.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { newId } from '#core/identity/id.ts'
import { complete } from '../../../services/delivery/store/complete-store.ts'
import {
  expireLeases,
  type Lease,
  releaseUnsentLeases,
} from '../../../services/delivery/store/lease-store.ts'
import { replayDelivery } from '../../../services/delivery/store/operate-store.ts'
import type { DeliveryWorker } from '../../../services/delivery/workers/worker.ts'
import { eventually } from '../../support/eventually.ts'
import { claimDeliveries, startHarness, type WorkerChanges } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver
/** The clock of the lanes: attempts take no time, so a lane is fast, unless a test moves it. */
let laneMs = 0

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  // First, so that no POST is in flight any more.
  await receiver.close()
  vi.useRealTimers()
  await harness.reset()
})
afterAll(() => harness.drop())

/** A worker that knows the lane of its receiver, with this limit; the receiver answers nothing from now on. */
async function workerOfLane(limit: number, changes: WorkerChanges = {}) {
  laneMs = 0
  receiver = await startReceiver()
  const [first = ''] = await harness.push({ url: `${receiver.url}/first` })
  await harness.asOwner(`update delivery.endpoint set limit_now = ${limit}`)
  const worker = harness.worker({ timeoutMs: 60_000, nowMs: () => laneMs, ...changes })
  await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
  await eventually(() => expect(worker.inFlight()).toBe(0))
  receiver.requests.length = 0
  const hanging: ServerResponse[] = []
  receiver.answer((_request, response) => void hanging.push(response))
  return { worker, hanging }
}

/** Pushes of which as many are posted as the lane has slots for; the others wait in memory. */
async function pushInto(worker: DeliveryWorker, posts: number, urls: string[]): Promise<void> {
  await harness.pushDirectly(worker, ...urls.map((url) => ({ url })))
  await eventually(() => expect(receiver.requests).toHaveLength(posts))
  expect(await harness.count("state = 'pending'")).toBe(0)
}

it('pushes that go back to the table are sent before the pushes that came after them', async () => {
  const { worker, hanging } = await workerOfLane(4)
  const early = Array.from({ length: 30 }, (_, n) => `${receiver.url}/${n}`)
  await pushInto(worker, 4, early)
  laneMs += 1_000
  await harness.pushDirectly(worker, { url: `${receiver.url}/late` })
  expect(await harness.count("state = 'pending'")).toBe(1)
  // A claim that began before the lane stood still may have taken the late one too: it goes back as the others do.
  await eventually(async () => {
    laneMs += 2_001
    expect(await harness.count("state = 'pending'")).toBe(27)
  })
  receiver.answer(status(200))
  for (const response of hanging) response.end()
  await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(32))
  const place = receiver.requests.findIndex(({ path }) => path === '/late')
  // A claim takes several at once.
  expect(place).toBeGreaterThan(20)
})

it('a URL that is gone for a payment gets none of its pushes that wait in memory', async () => {
  const { worker, hanging } = await workerOfLane(2)
  const url = `${receiver.url}/gone`
  await pushInto(worker, 1, [url, url, url, url, url])
  const [other = ''] = await harness.pushDirectly(worker, { url, subjectId: 'payment-2' })
  receiver.answer(status(200))
  hanging[0]?.writeHead(410).end()
  await eventually(async () => expect(await harness.count("state = 'gone'")).toBe(5))
  await eventually(async () => expect(await harness.state(other)).toBe('delivered'))
  expect(receiver.requests).toHaveLength(2)
  expect(await harness.count("state = 'gone' and attempts = 0")).toBe(4)
  await eventually(() => expect(worker.inFlight()).toBe(0))
})

it('the time to the first POST includes the wait in memory, and none of a moved clock', async () => {
  const metrics = new Registry()
  const { worker, hanging } = await workerOfLane(2, { metrics })
  const observed = async (of: string) =>
    Number(new RegExp(`first_post_seconds_${of} (\\S+)`).exec(await metrics.metrics())?.[1])
  const before = await observed('sum')
  const occurredAt = new Date(Date.now() + 86_400_000)
  const event = () => ({ eventId: newId(), occurredAt, url: receiver.url })
  await harness.pushDirectly(worker, event(), event())
  await eventually(() => expect(hanging).toHaveLength(1))
  // An hour passes while the second one waits.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  receiver.answer(status(200))
  hanging[0]?.end()
  await eventually(async () => expect(await observed('count')).toBe(3))
  const waitedS = (await observed('sum')) - before
  expect(waitedS).toBeGreaterThan(3_600)
  expect(waitedS).toBeLessThan(3_700)
})

it.each([
  ['whose lease expires', () => expireLeases(harness.db, 9)],
  ['that is put back', ([lease]: Lease[]) => releaseUnsentLeases(harness.db, lease ? [lease] : [])],
])('a push to a URL that is gone by now %s is not due again', async (_what, release) => {
  receiver = await startReceiver()
  const url = `${receiver.url}/gone`
  const pushed = await harness.push({ url }, { url })
  await harness.asOwner('update delivery.endpoint set limit_now = 16')
  const limits = { endpoints: 9, deliveries: 9, leaseS: 60 }
  const [first, second] = await claimDeliveries(harness.db, randomUUID(), limits)
  if (first === undefined || second === undefined) throw new Error('not claimed')
  const end = { outcome: 'refused', status: 410, totalMs: 1 } as const
  await complete(harness.db, [{ claimed: first, end, verdict: { state: 'gone' } }])
  harness.clock.advance(61_000)
  await release([second])
  expect(await Promise.all(pushed.map(harness.state))).toEqual(['gone', 'gone'])
  // A replay sends it all the same.
  await replayDelivery(harness.db, harness.projectId, second.deliveryId, randomUUID())
  const again = await claimDeliveries(harness.db, randomUUID(), limits)
  expect(again).toMatchObject([{ deliveryId: second.deliveryId, round: 2 }])
  harness.clock.advance(61_000)
  await release(again)
  expect(await harness.state(second.deliveryId)).toBe('pending')
})
