// Shows that one URL gets half of a lane at most, and that what waits for it does not hold up other URLs, however much it is.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Claimed } from '../../../services/delivery/domain/delivery.ts'
import { readOldestDueS } from '../../../services/delivery/store/backlog-store.ts'
import { claimDue } from '../../../services/delivery/store/claim-store.ts'
import { complete } from '../../../services/delivery/store/complete-store.ts'
import { listEndpoints } from '../../../services/delivery/store/endpoint-store.ts'
import { scheduleForgottenLanes } from '../../../services/delivery/store/lease-store.ts'
import { cancelDelivery } from '../../../services/delivery/store/operate-store.ts'
import { openUrlQueues } from '../../../services/delivery/store/url-queue-store.ts'
import { eventually } from '../../support/eventually.ts'
import { startHarness } from '../harness.ts'
import { type Receiver, startReceiver, status } from '../receiver.ts'

const token = '00000000-0000-4000-8000-000000000001'
const limits = { endpoints: 10, deliveries: 50, leaseS: 60 }
const origin = 'https://receiver.example'

let harness: Awaited<ReturnType<typeof startHarness>>
const receivers: Receiver[] = []
beforeAll(async () => {
  harness = await startHarness()
})
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((one) => one.close()))
  await harness.reset()
})
afterAll(() => harness.drop())

const pathOf = ({ url }: { url: string }) => url.slice(origin.length)

/** Pushes to these paths, in this order: each is due a moment after the one before. */
async function pushTo(...paths: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const path of paths) {
    ids.push(...(await harness.push({ url: `${origin}${path}` })))
    harness.clock.advance(2)
  }
  return ids
}

const many = (count: number, path: string) => Array.from({ length: count }, () => path)

const setLimit = (limit: number) =>
  harness.asOwner(`update delivery.endpoint set limit_now = ${limit}`)

const known = async () => ({ ...limits, known: await harness.knownLanes() })

async function claimOnce() {
  const { deliveries, lanes } = await claimDue(harness.db, token, await known())
  const blocked = lanes.filter(({ isBlocked }) => isBlocked)
  return { deliveries, blockedLanes: blocked.map(({ endpointId }) => endpointId) }
}

/** Claims until no lane is blocked, as a worker does. */
async function claimAll(): Promise<Claimed[]> {
  const claimed: Claimed[] = []
  for (;;) {
    const { deliveries, blockedLanes } = await claimOnce()
    claimed.push(...deliveries)
    if (blockedLanes.length === 0 || (await openUrlQueues(harness.db, blockedLanes)) === 0) {
      return claimed
    }
  }
}

/** Ends attempts with a 2xx. */
async function deliver(claimed: Claimed[]): Promise<void> {
  const end = { outcome: 'delivered', status: 200, totalMs: 1 } as const
  const batch = claimed.map((one) => ({
    claimed: one,
    end,
    verdict: { state: 'delivered' } as const,
  }))
  await complete(harness.db, batch)
}

/** Copies what waits for the origin, as due before it. */
async function copyPending(count: number, url = 'url', attempts = 0): Promise<void> {
  const [one] = await harness.asOwner<{ id: string }>(
    "select delivery_id as id from delivery.delivery where state = 'pending' limit 1",
  )
  // In parts: one statement for all takes long on a busy machine.
  for (let first = 1; first <= count; first += 2_000) {
    await harness.asOwner(
      `insert into delivery.delivery (
         delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state, attempts,
         failures, next_attempt_at, occurred_at, created_at
       )
       select gen_random_uuid(), project_id, endpoint_id, event_id, kind, subject_id, ${url}, body,
         'pending', ${attempts}, ${attempts}, next_attempt_at - n * interval '1 millisecond', occurred_at,
         created_at
       from delivery.delivery cross join generate_series(${first}, ${Math.min(count, first + 1_999)}) as n
       where delivery_id = '${one?.id}'`,
    )
  }
  await harness.asOwner('update delivery.endpoint set only_url = null')
  await harness.asOwner('analyze delivery.delivery')
}

describe('one URL', () => {
  it.each([
    [2, 1],
    [3, 1],
    [4, 2],
    [9, 4],
    [16, 8],
  ])(
    'one URL of a lane with %i slots gets %i of them, though nothing else waits',
    async (slots, share) => {
      await pushTo(...many(20, '/notify'))
      await setLimit(slots)
      expect(await claimAll()).toHaveLength(share)
      expect(await claimAll()).toHaveLength(0)
    },
  )

  it('one URL that all pushes are for is served on by each answer, and moves to no queue', async () => {
    await pushTo(...many(30, '/notify'))
    await setLimit(16)
    let sent = 0
    for (let claimed = await claimAll(); claimed.length > 0; claimed = await claimAll()) {
      expect(claimed).toHaveLength(Math.min(8, 30 - sent))
      sent += claimed.length
      await deliver(claimed)
      expect(await harness.count("url_queue <> ''")).toBe(0)
    }
    expect(sent).toBe(30)
  })

  it('one URL leaves the other half to others, which go in their order', async () => {
    await pushTo(...many(10, '/busy'), '/1', '/2', '/3', '/4', '/5', '/6')
    await setLimit(8)
    const claimed = await claimAll()
    expect(claimed.map(pathOf).toSorted()).toEqual(
      [...many(4, '/busy'), '/1', '/2', '/3', '/4'].toSorted(),
    )
    await deliver(claimed.filter((one) => pathOf(one) !== '/busy'))
    expect((await claimAll()).map(pathOf).toSorted()).toEqual(['/5', '/6'])
  })

  it('one URL is served from its queue when it has slots again, oldest first', async () => {
    const ids = await pushTo(...many(6, '/busy'), '/other')
    await setLimit(4)
    const order: string[] = []
    for (let claimed = await claimAll(); claimed.length > 0; claimed = await claimAll()) {
      order.push(...claimed.filter((one) => pathOf(one) === '/busy').map((one) => one.deliveryId))
      expect(claimed.filter((one) => pathOf(one) === '/busy').length).toBeLessThanOrEqual(2)
      await deliver(claimed)
    }
    expect(order).toHaveLength(6)
    for (const [index, id] of ids.slice(0, 6).entries()) {
      expect(order.slice(index - (index % 2), index - (index % 2) + 2)).toContain(id)
    }
    expect(await harness.count("state = 'delivered'")).toBe(7)
  })

  it('one URL has four fresh pushes sent to a retry in its queue too', async () => {
    await pushTo('/busy')
    await copyPending(40, 'url', 1)
    await pushTo(...many(40, '/busy'), '/other')
    await setLimit(4)
    const retries: boolean[] = []
    for (let n = 0; n < 10; n += 1) {
      const claimed = await claimAll()
      const busy = claimed.filter((one) => pathOf(one) === '/busy')
      retries.push(...busy.map(({ number }) => number > 1))
      await deliver(claimed)
    }
    expect(retries).toHaveLength(20)
    expect(retries.filter(Boolean).length).toBeGreaterThanOrEqual(3)
    expect(retries.filter(Boolean).length).toBeLessThanOrEqual(5)
  })
})

describe('a URL that hangs', () => {
  it('a URL that hangs holds up nobody else of its lane, with a backlog at the head of both queues', async () => {
    const to = await startReceiver((request, response) => {
      if (request.path !== '/hangs') status(200)(request, response)
    })
    receivers.push(to)
    const hangs = { url: `${to.url}/hangs` }
    await harness.push(...Array.from({ length: 700 }, () => hangs))
    await harness.asOwner(
      'update delivery.delivery set attempts = 1, failures = 1 where random() < 0.5',
    )
    // No attempt is given up before the others have to be there.
    harness.worker({ timeoutMs: 60_000 })
    await eventually(() => expect(to.requests.length).toBeGreaterThan(0))
    const others = Array.from({ length: 60 }, (_, n) => ({ url: `${to.url}/order-${n}` }))
    const ids = await harness.push(...others)
    for (const id of ids)
      await eventually(async () => expect(await harness.state(id)).toBe('delivered'))
    expect(to.requests.filter(({ path }) => path === '/hangs').length).toBeLessThanOrEqual(4)
  })
})

describe('a claim of a lane with 20,000 rows', () => {
  // What a claim reads of them is bounded: by the head of the queue, or by one statement's part of the backlog.
  const readRows = (plan: string) =>
    [
      ...plan.matchAll(/Index Scan using delivery_queue_\w+ on .*?rows=([\d.]+) loops=(\d+)/g),
    ].reduce((sum, [, rows = '0', loops = '0']) => sum + Number(rows) * Number(loops), 0)

  it('a claim of a lane with 20,000 rows of one URL that has its share reads a few, and passes them by moving each once', async () => {
    await pushTo('/hangs')
    await copyPending(19_999)
    await pushTo('/hangs', '/works')
    await setLimit(4)
    let claim = await claimOnce()
    expect(claim.deliveries.map(pathOf)).toEqual(['/hangs', '/hangs'])
    const lanes = claim.blockedLanes
    const move = await harness.explained((db) => openUrlQueues(db, lanes))
    expect(readRows(move)).toBeLessThanOrEqual(512)
    expect(move).not.toMatch(/Seq Scan on delivery/)
    const blocked = await harness.explained(async (db) => claimDue(db, token, await known()))
    expect(readRows(blocked)).toBeLessThan(50)
    expect(blocked).not.toMatch(/Seq Scan on delivery/)
    let moves = 1
    for (; claim.blockedLanes.length > 0; moves += 1) {
      await openUrlQueues(harness.db, lanes)
      claim = await claimOnce()
    }
    expect(claim.deliveries.map(pathOf)).toEqual(['/works'])
    expect(moves).toBeLessThan(20_000 / 200)
    // What comes later finds nothing in its way.
    await pushTo('/works')
    await harness.asOwner('analyze delivery.delivery')
    const plan = await harness.explained(async (db) => claimDue(db, token, await known()))
    expect(readRows(plan)).toBeLessThan(50)
  })

  it('a claim of a lane with 20,000 rows of as many URLs reads a few, and moves none', async () => {
    await pushTo('/first')
    await copyPending(19_999, `url || n`)
    await setLimit(16)
    const { deliveries, blockedLanes } = await claimOnce()
    expect(deliveries).toHaveLength(16)
    expect(blockedLanes).toEqual([])
    await deliver(deliveries)
    const claim = await harness.explained(async (db) => claimDue(db, token, await known()))
    expect(readRows(claim)).toBeLessThan(50)
    expect(await harness.count("url_queue <> ''")).toBe(0)
  })
})

describe('what waits in the queue of a URL', () => {
  async function queued(): Promise<string[]> {
    const ids = await pushTo(...many(5, '/busy'), '/other')
    await setLimit(2)
    await claimAll()
    expect(await harness.count("url_queue <> ''")).toBe(4)
    return ids
  }

  it('what waits in the queue of a URL is counted and shown with its age', async () => {
    await queued()
    harness.clock.advance(10_000)
    const [lane] = await listEndpoints(harness.db, harness.projectId, undefined, 10)
    expect(lane).toMatchObject({ pending: 4, sending: 2 })
    const ageMs = harness.clock.now().getTime() - (lane?.oldestDueAt?.getTime() ?? 0)
    expect(ageMs).toBeGreaterThan(10_000)
    expect(await readOldestDueS(harness.db, 10)).toBeGreaterThan(10)
  })

  it('what waits in the queue of a URL can be cancelled, and leaves no queue behind', async () => {
    const ids = await queued()
    for (const id of ids.slice(1, 5)) await cancelDelivery(harness.db, harness.projectId, id)
    await harness.asOwner(
      `update delivery.delivery set state = 'delivered', ended_at = now(), lease_token = null,
         lease_until = null where state = 'sending'`,
    )
    await harness.asOwner("update delivery.endpoint set ready_at = '-infinity'")
    expect(await claimAll()).toEqual([])
    const [row] = await harness.asOwner<{ queues: number; atRest: boolean }>(
      `select cardinality(url_queues) as queues, ready_at = 'infinity' as "atRest"
       from delivery.endpoint`,
    )
    expect(row?.queues).toBe(0)
  })

  it('what waits in the queue of a URL is found again when no lane names its queue, as an instance of the previous release may leave it', async () => {
    await queued()
    await harness.asOwner("update delivery.endpoint set url_queues = '{}', ready_at = 'infinity'")
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(1)
    expect(await scheduleForgottenLanes(harness.db, 100)).toBe(0)
    await setLimit(16)
    expect((await claimAll()).map(pathOf)).toEqual(many(4, '/busy'))
  })
})
