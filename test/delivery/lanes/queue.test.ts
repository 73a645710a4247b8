// Shows what becomes of pushes that wait in memory for a slot of their lane.
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { DeliveryWorker } from '../../../services/delivery/workers/worker.ts'
import { eventually } from '../../support/eventually.ts'
import { startHarness, type WorkerChanges } from '../harness.ts'
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
  laneMs += 2_000
  await eventually(async () => expect(await harness.count("state = 'pending'")).toBe(27))
  receiver.answer(status(200))
  for (const response of hanging) response.end()
  await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(32))
  const place = receiver.requests.findIndex(({ path }) => path === '/late')
  // A claim takes several at once.
  expect(place).toBeGreaterThan(20)
})
