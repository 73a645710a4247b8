// Shows what an open breaker does to the pushes of a worker that goes on, and how its state reaches the table.
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import { nextDueMs } from '../../../services/delivery/store/claim-store.ts'
import {
  releaseLeases,
  scheduleForgottenLanes,
} from '../../../services/delivery/store/lease-store.ts'
import { openUrlQueues } from '../../../services/delivery/store/url-queue-store.ts'
import type { DeliveryWorker } from '../../../services/delivery/workers/worker.ts'
import { eventually } from '../../support/eventually.ts'
import { claimDeliveries, startHarness } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
let receiver: Receiver

beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await receiver.close()
  await harness.reset()
})
afterAll(() => harness.drop())

/** A worker that knows the lane of its receiver, with 8 slots. Failed pushes are due after an hour, an open breaker after a minute. */
async function workerOfLane(db: Database = harness.db): Promise<DeliveryWorker> {
  receiver = await startReceiver()
  const [first = ''] = await harness.push({ url: `${receiver.url}/first` })
  await harness.asOwner('update delivery.endpoint set limit_now = 8')
  const worker = harness.worker({ db, scheduleS: [3_600], breaker: { openS: 60, maxS: 60 } })
  await eventually(async () => expect(await harness.state(first)).toBe('delivered'))
  await eventually(() => expect(worker.inFlight()).toBe(0))
  receiver.requests.length = 0
  return worker
}

const claimLimits = { endpoints: 10, deliveries: 10, leaseS: 60 }
const each = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ url: `${receiver.url}/${n}` }))

/** Opens the breaker of the worker's lane. After it the receiver accepts again. */
async function openBreaker(worker: DeliveryWorker, answer = status(500)): Promise<void> {
  receiver.answer(answer)
  await harness.pushDirectly(worker, ...each(12))
  await eventually(async () => {
    const [lane] = await harness.asOwner<{ breaker: string }>(
      'select breaker from delivery.endpoint',
    )
    return lane?.breaker === 'open'
  })
  await eventually(() => expect(worker.inFlight()).toBe(0))
  receiver.answer(status(200))
}

async function expectDelivered(ids: string[]): Promise<void> {
  for (const id of ids)
    await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
}

describe('an open breaker', () => {
  it('an open breaker sends nothing, and the pushes follow when a probe succeeds', async () => {
    const worker = await workerOfLane()
    await openBreaker(worker)
    const before = receiver.requests.length
    const ids = await harness.pushDirectly(worker, ...each(5))
    expect(await harness.count(`delivery_id in ('${ids.join("','")}') and state = 'pending'`)).toBe(
      5,
    )
    expect(receiver.requests).toHaveLength(before)
    harness.clock.advance(61_000)
    await expectDelivered(ids)
  })

  it('a late store of its lane leaves an open breaker as it is', async () => {
    const shifted = Promise.withResolvers<void>()
    const late: ServerResponse[] = []
    let stores = 0
    let lateStore: Promise<unknown> = Promise.resolve()
    const db: Database = {
      ...harness.db,
      async rows(statement, values) {
        if (statement.name === 'delivery_claim') await lateStore
        return harness.db.rows(statement, values)
      },
      async run(statement, values) {
        if (statement.name !== 'delivery_store_lanes') return harness.db.run(statement, values)
        stores += 1
        if (stores > 1) {
          const stored = shifted.promise.then(() => harness.db.run(statement, values))
          lateStore = stored
          return stored
        }
        await harness.db.run(statement, values)
        // The last attempts end before this process knows that the breaker is stored.
        for (const response of late.splice(0)) response.writeHead(500).end()
        await eventually(() => expect(worker.inFlight()).toBe(0))
        return 1
      },
    }
    const worker = await workerOfLane(db)
    await openBreaker(worker, (request, response) => {
      if (receiver.requests.length > 10) late.push(response)
      else status(500)(request, response)
    })
    await eventually(() => expect(stores).toBeGreaterThan(1))
    const ids = await harness.pushDirectly(worker, ...each(2))
    harness.clock.advance(61_000)
    shifted.resolve()
    await expectDelivered(ids)
  })

  it('a claim that has read its lane before the breaker was stored does not close it', async () => {
    const opening = Promise.withResolvers<void>()
    const claimed = Promise.withResolvers<void>()
    const stored = Promise.withResolvers<void>()
    let isOpening = false
    const db: Database = {
      ...harness.db,
      async rows<T>(...[statement, values]: Parameters<Database['rows']>): Promise<T[]> {
        const found = await harness.db.rows<T>(statement, values)
        if (statement.name === 'delivery_claim' && isOpening) {
          claimed.resolve()
          await stored.promise
        }
        return found
      },
      async run(statement, values) {
        const opens = statement.name === 'delivery_store_lanes' && [values].flat(2).includes('open')
        if (!opens) return harness.db.run(statement, values)
        isOpening = true
        opening.resolve()
        await claimed.promise
        const count = await harness.db.run(statement, values)
        setImmediate(stored.resolve)
        return count
      },
    }
    const worker = await workerOfLane(db)
    receiver.answer(status(500))
    await harness.pushDirectly(worker, ...each(12))
    await opening.promise
    const [id = ''] = await harness.push({ url: `${receiver.url}/late` })
    await stored.promise
    await eventually(() => expect(worker.inFlight()).toBe(0))
    await eventually(async () => expect(await harness.state(id)).toBe('pending'))
    expect(receiver.requests.map(({ path }) => path)).not.toContain('/late')
    receiver.answer(status(200))
    harness.clock.advance(61_000)
    await expectDelivered([id])
  })

  it.each(['open', 'half_open'])(
    'a lane whose breaker is %s is not looked at again until a push is due',
    async (breaker) => {
      receiver = await startReceiver()
      await harness.push({ url: receiver.url })
      await harness.asOwner(
        `update delivery.delivery set attempts = 1, failures = 1, next_attempt_at = now() + interval '1 hour'`,
      )
      await harness.asOwner(
        `update delivery.endpoint set breaker = '${breaker}', breaker_until = now(), ready_at = now()`,
      )
      expect(await claimDeliveries(harness.db, randomUUID(), claimLimits)).toEqual([])
      const lanes = await harness.asOwner(
        `select ready_at = next_attempt_at as "isReadyThen" from delivery.endpoint
           join delivery.delivery using (endpoint_id)`,
      )
      expect(lanes).toEqual([{ isReadyThen: true }])
    },
  )

  it('a lane whose breaker is open is due when its time ends, also after its leases are released or its queues are opened', async () => {
    receiver = await startReceiver()
    const { db } = harness
    await harness.push({ url: receiver.url }, { url: receiver.url })
    await harness.asOwner('update delivery.endpoint set limit_now = 2')
    const claimed = await claimDeliveries(db, randomUUID(), claimLimits)
    expect(claimed).toHaveLength(1)
    const until = new Date(harness.clock.now().getTime() + 3_600_000).toISOString()
    const open = (more = '') =>
      harness.asOwner(
        `update delivery.endpoint set breaker = 'open', breaker_until = '${until}',
           ready_at = '${until}' ${more}`,
      )
    const dueInMinutes = async () => Math.round(((await nextDueMs(db)) ?? 0) / 60_000)
    await open()
    expect(
      await openUrlQueues(
        db,
        claimed.map((one) => one.endpointId),
      ),
    ).toBe(1)
    expect(await dueInMinutes()).toBe(60)
    await open(", url_queues = '{}'")
    expect(await scheduleForgottenLanes(db, 10)).toBe(1)
    expect(await dueInMinutes()).toBe(60)
    expect(await releaseLeases(db, claimed)).toBe(1)
    expect(await dueInMinutes()).toBe(60)
  })

  it('a breaker whose store fails is stored later, and the pushes follow', async () => {
    let failures = 0
    const db: Database = {
      ...harness.db,
      async run(statement, values) {
        if (statement.name !== 'delivery_store_lanes' || failures === 1) {
          return harness.db.run(statement, values)
        }
        await eventually(() => expect(worker.inFlight()).toBe(0))
        failures += 1
        throw new Failure('SERVICE_UNAVAILABLE', 'about to fail over')
      },
    }
    const worker = await workerOfLane(db)
    await openBreaker(worker)
    const ids = await harness.pushDirectly(worker, ...each(2))
    harness.clock.advance(61_000)
    await expectDelivered(ids)
  })
})
