// Tests pushes that wait in a lane whose backlog a process knows, so that it does not make the lane ready.
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { storeEvents } from '../../../services/delivery/store/intake-store.ts'
import type { DeliveryWorker } from '../../../services/delivery/workers/worker.ts'
import { eventually } from '../../support/eventually.ts'
import { startHarness } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver
/** By how much the clock of the lanes is ahead. */
let aheadMs = 0

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await receiver.close()
  await harness.reset()
})
afterAll(() => harness.drop())

/** A worker that knows the lane of its receiver, which answers nothing from then on; the responses that it owes. */
async function startHanging(limit: number): Promise<[DeliveryWorker, ServerResponse[]]> {
  receiver = await startReceiver()
  aheadMs = 0
  const [first = ''] = await harness.push({ url: `${receiver.url}/first` })
  await harness.asOwner(`update delivery.endpoint set limit_now = ${limit}`)
  const nowMs = () => performance.now() + aheadMs
  const worker = harness.worker({ timeoutMs: 60_000, nowMs })
  await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
  await eventually(() => expect(worker.inFlight()).toBe(0))
  const hanging: ServerResponse[] = []
  receiver.answer((_request, response) => void hanging.push(response))
  return [worker, hanging]
}

it('a push to another URL is posted while its lane has a backlog of a URL that hangs', async () => {
  const [worker, hanging] = await startHanging(8)
  const one = { url: `${receiver.url}/one` }
  await harness.pushDirectly(worker, one, one, one, one)
  await eventually(() => expect(hanging).toHaveLength(4))
  // No POST has ended lately: what comes waits in the table and not in memory.
  aheadMs = 1_000
  await harness.pushDirectly(worker, ...Array.from({ length: 50 }, () => one))
  // The worker has learned from a claim that more waits: it does not make the lane ready for what comes.
  await eventually(async () => {
    const pushes = harness.newDeliveries([one])
    const { direct, makesReady, abandon } = await worker.reserve(pushes)
    abandon()
    expect([direct.size, makesReady.size]).toEqual([0, 0])
  })
  receiver.answer(status(200))
  const [other = ''] = await harness.pushDirectly(worker, { url: `${receiver.url}/other` })
  await eventually(async () => expect(await harness.state(other)).toBe('delivered'))
  expect(hanging).toHaveLength(4)
})

it('a worker that stops makes the lanes ready whose backlog it alone knows', async () => {
  const [worker, hanging] = await startHanging(2)
  await harness.pushDirectly(worker, { url: `${receiver.url}/0` }, { url: `${receiver.url}/1` })
  await eventually(() => expect(hanging).toHaveLength(2))
  // No POST has ended lately: what comes waits in the table and not in memory.
  aheadMs = 1_000
  const pushes = harness.newDeliveries([{ url: `${receiver.url}/late` }])
  const reservation = await worker.reserve(pushes)
  expect(reservation.direct.size).toBe(0)
  const eventIds = pushes.map(({ eventId }) => eventId)
  const stored = { eventIds, pushes, ...reservation, makesReady: new Set<string>() }
  const { startedAt } = await storeEvents(harness.db, stored)
  const closing = worker.close()
  // Its loop has ended, and it waits for the POSTs in flight.
  await eventually(async () => expect((await worker.reserve(pushes)).direct.size).toBe(0))
  reservation.begin(startedAt)
  receiver.answer(status(200))
  for (const response of hanging) response.end()
  await closing
  const ready = 'select from delivery.endpoint where ready_at < $$infinity$$'
  expect(await harness.asOwner(ready)).toHaveLength(1)
  harness.worker()
  const id = pushes[0]?.deliveryId ?? ''
  await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
})
