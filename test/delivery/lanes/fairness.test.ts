// Tests that the responses of a receiver affect its own pushes, and not those of others.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import type { AttemptOutcome } from '../../../services/delivery/domain/delivery.ts'
import { claimDue } from '../../../services/delivery/store/claim-store.ts'
import { eventually } from '../../support/eventually.ts'
import { claimDeliveries, createLearner, startHarness } from '../harness.ts'
import { type Receiver, startReceiver } from '../receiver.ts'

const breaker = { openS: 30, maxS: 100 }
const token = '00000000-0000-4000-8000-000000000001'
const url = 'https://receiver.example/'

type Endpoint = { limit_now: number; breaker: string; open_until: Date | null }

let harness: Awaited<ReturnType<typeof startHarness>>
let learner: ReturnType<typeof createLearner>
const receivers: Receiver[] = []

beforeAll(async () => {
  harness = await startHarness()
})
beforeEach(() => {
  learner = createLearner(harness, breaker)
})
afterEach(async () => {
  await harness.reset()
  await Promise.all(receivers.splice(0).map((one) => one.close()))
})
afterAll(() => harness.drop())

const claim = (deliveries = 50) =>
  claimDeliveries(harness.db, token, { endpoints: 10, deliveries, leaseS: 60 })

/** Claims what may be claimed and completes all of it alike; answers how many that were. */
async function round(outcome: AttemptOutcome, status?: number): Promise<number> {
  const claimed = await learner.claim({ endpoints: 10, deliveries: 50, leaseS: 60 })
  const end = { outcome, totalMs: 1, ...(status === undefined ? {} : { status }) }
  const verdict =
    outcome === 'delivered'
      ? ({ state: 'delivered' } as const)
      : ({ state: 'pending', delayMs: 0 } as const)
  const batch = claimed.map((one) => ({ claimed: one, end, verdict }))
  if (batch.length > 0) await learner.record(batch)
  return claimed.length
}

async function endpoint(): Promise<Endpoint | undefined> {
  const [row] = await harness.asOwner<Endpoint>(
    'select limit_now, breaker, breaker_until as open_until from delivery.endpoint',
  )
  return row
}

/** Each to a URL of its own: of one URL half as many may be under way. */
const pushMany = (count: number, to = url) =>
  harness.push(...Array.from({ length: count }, () => ({ url: `${to}?order=${(orders += 1)}` })))

let orders = 0

describe('the attempts under way to one receiver', () => {
  it('the attempts under way to one receiver are two at first and no more until one ends', async () => {
    await pushMany(5)
    expect(await claim()).toHaveLength(2)
    expect(await claim()).toHaveLength(0)
  })

  it('the attempts under way to one receiver grow by one for twenty successes, up to sixteen', async () => {
    await pushMany(400)
    const sizes: number[] = []
    for (let n = 0; n < 60; n += 1) sizes.push(await round('delivered', 200))
    expect(sizes.slice(0, 11)).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3])
    expect(Math.max(...sizes)).toBeLessThanOrEqual(16)
    expect((await endpoint())?.limit_now).toBeGreaterThan(5)
  })

  it.each([
    ['refused', 429],
    ['refused', 503],
  ] as const)(
    'the attempts under way to one receiver are halved by %s %s, and never fewer than two',
    async (outcome, status) => {
      await pushMany(1)
      await harness.asOwner('update delivery.endpoint set limit_now = 5')
      await round(outcome, status)
      expect((await endpoint())?.limit_now).toBe(2)
      await round(outcome, status)
      expect((await endpoint())?.limit_now).toBe(2)
    },
  )

  it.each(['timed_out', 'connection_failed'] as const)(
    'the attempts under way to one receiver are halved by %s, down to one where nothing ever answers and to two where something did',
    async (outcome) => {
      await pushMany(1)
      await harness.asOwner('update delivery.endpoint set limit_now = 5')
      await round(outcome)
      expect((await endpoint())?.limit_now).toBe(2)
      await round(outcome)
      expect((await endpoint())?.limit_now).toBe(1)
      await round('refused', 404)
      expect((await endpoint())?.limit_now).toBe(2)
      await round(outcome)
      expect((await endpoint())?.limit_now).toBe(2)
      harness.clock.advance(11 * 60_000)
      await round(outcome)
      expect((await endpoint())?.limit_now).toBe(1)
    },
  )
})

describe('fresh pushes and retries', () => {
  it('fresh pushes and retries share a receiver four to one', async () => {
    await pushMany(8)
    await harness.asOwner("update delivery.delivery set attempts = 1 where state = 'pending'")
    await pushMany(30)
    const retries: boolean[] = []
    for (let n = 0; n < 10; n += 1) {
      const claimed = await claim()
      retries.push(...claimed.map(({ number }) => number > 1))
      await harness.asOwner(
        `update delivery.delivery set state = 'delivered', ended_at = now(), lease_token = null,
           lease_until = null where state = 'sending'`,
      )
      await harness.asOwner("update delivery.endpoint set ready_at = '-infinity'")
    }
    expect(retries).toHaveLength(20)
    expect(retries.filter(Boolean)).toHaveLength(4)
  })
})

describe('a breaker', () => {
  it('a breaker opens after five failed connections and lets one probe through when its time is over', async () => {
    await pushMany(10)
    let attempts = 0
    let lastMs = 0
    while ((await endpoint())?.breaker === 'closed') {
      lastMs = harness.clock.now().getTime()
      attempts += await round('connection_failed')
    }
    const openedMs = ((await endpoint())?.open_until?.getTime() ?? 0) - 30_000
    // By the clocks of two processes.
    expect(openedMs).toBeGreaterThanOrEqual(lastMs - 1)
    expect(openedMs).toBeLessThanOrEqual(harness.clock.now().getTime() + 1)
    expect(attempts).toBeGreaterThanOrEqual(5)
    expect(attempts).toBeLessThanOrEqual(6)
    expect(await claim()).toHaveLength(0)

    harness.clock.advance(31_000)
    expect(await round('connection_failed')).toBe(1)
    expect((await endpoint())?.breaker).toBe('open')
    harness.clock.advance(31_000)
    expect(await claim()).toHaveLength(0)
    harness.clock.advance(30_000)
    expect(await round('delivered', 200)).toBe(1)
    expect((await endpoint())?.breaker).toBe('closed')
  })

  it('a closed breaker lets two and four through', async () => {
    await pushMany(30)
    while ((await endpoint())?.breaker === 'closed') await round('connection_failed')
    harness.clock.advance(31_000)
    const sizes: number[] = []
    for (let n = 0; n < 5; n += 1) sizes.push(await round('delivered', 200))
    expect(sizes).toEqual([1, 2, 4, 4, 4])
  })

  it('a breaker is probed with the newest push, which may be for a URL that works', async () => {
    await pushMany(30)
    while ((await endpoint())?.breaker === 'closed') await round('connection_failed')
    harness.clock.advance(31_000)
    const newest = await pushMany(1)
    expect((await claim()).map(({ deliveryId }) => deliveryId)).toEqual(newest)
  })

  it('a breaker opens when eight of ten pushes fail within a minute, for every kind of failure', async () => {
    await pushMany(20)
    await round('delivered', 200)
    let attempts = 2
    while ((await endpoint())?.breaker === 'closed') attempts += await round('refused', 500)
    expect(attempts).toBe(10)
  })

  it('a breaker does not use up attempts while it is open', async () => {
    const [id = ''] = await harness.push({ url })
    await harness.asOwner(
      "update delivery.endpoint set breaker = 'open', breaker_until = now() + interval '1 day'",
    )
    await pushMany(1)
    expect(await claim()).toHaveLength(0)
    expect(await harness.attempts(id)).toEqual([])
  })
})

describe('a receiver that never answers', () => {
  it('a receiver that never answers does not hold up the pushes of others', async () => {
    const dead = await startReceiver(() => undefined)
    const alive = await startReceiver()
    receivers.push(alive)
    await pushMany(300, dead.url)
    // No attempt at the dead one is given up before the others' pushes have to be there.
    harness.worker({ maxInFlight: 32, timeoutMs: 30_000 })
    await eventually(() => expect(dead.requests.length).toBe(2))
    await pushMany(100, alive.url)
    await eventually(() => expect(alive.requests.length).toBe(100), 14_000)
    expect(dead.requests.length).toBeLessThanOrEqual(4)
    await dead.close()
  })
})

describe('a claim', () => {
  it('a claim reads no retries of another receiver, however many are due', async () => {
    const dead = 'https://dead.example/'
    const [id] = await harness.push({ url: dead }, { url })
    // In parts: one statement for all takes long on a busy machine.
    for (let first = 1; first <= 20_000; first += 2_000) {
      await harness.asOwner(
        `insert into delivery.delivery (
         delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state, attempts,
         failures, next_attempt_at, occurred_at, created_at
       )
       select gen_random_uuid(), project_id, endpoint_id, event_id, kind, subject_id, url, body,
         'pending', 1, 1, now() - n * interval '1 second', occurred_at, created_at
       from delivery.delivery cross join generate_series(${first}, ${first + 1_999}) as n
         where delivery_id = '${id}'`,
      )
    }
    await harness.asOwner('analyze delivery.delivery')
    const limits = { endpoints: 10, deliveries: 10, leaseS: 60 }
    const plan = await harness.explained((db) => claimDue(db, token, limits))
    expect(plan).toMatch(/delivery_queue_retry/)
    expect(plan).not.toMatch(/Rows Removed by Filter: \d{3}|Seq Scan on delivery/)
  })

  it('a claim that skipped a receiver because it was locked comes back to it', async () => {
    await pushMany(1)
    await harness.db.transaction(async (tx) => {
      await tx.rows({ name: 'hold', text: 'select endpoint_id from endpoint for update' }, [])
      expect(await claim()).toHaveLength(0)
    })
    expect(await claim()).toHaveLength(1)
  })

  it('a claim never loses a push to the race with intake', async () => {
    const to = await startReceiver()
    receivers.push(to)
    harness.worker()
    for (let n = 0; n < 150; n += 1) await pushMany(1, to.url)
    await eventually(async () => expect(await harness.count("state = 'delivered'")).toBe(150))
    expect(to.requests).toHaveLength(150)
  })

  it('a claim that began before a push was stored and ended after it leaves the receiver ready', async () => {
    // Sessions whose clock is one millisecond ahead wait for the gate when they ask for the time, which a claim does
    // between reading and locking. Volatile, so that planning does not wait.
    await harness.asOwner(
      `create or replace function delivery.clock_now() returns timestamptz language plpgsql volatile as $$
       begin
         if current_setting('payweave.clock_offset', true) = '1 milliseconds' then
           perform pg_advisory_xact_lock_shared(4711);
         end if;
         return statement_timestamp();
       end $$`,
    )
    const slowClock = createTestClock()
    slowClock.advance(1)
    // It waits as long as the gate is closed.
    const limits = { statementMs: 60_000, lockMs: 60_000 }
    const slow = harness.database.open({ testClock: slowClock, limits })
    await slow.ready()
    const plain = harness.database.open()
    const gate = await plain.session()
    await gate.row(sql('close_gate', 'select pg_advisory_lock(4711)'), [])
    const [first] = await pushMany(1)
    const claiming = claimDeliveries(slow, token, { endpoints: 10, deliveries: 10, leaseS: 60 })
    const waiting = `select 1 as waits from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory'`
    await eventually(async () => expect((await harness.asOwner(waiting)).length).toBeGreaterThan(0))
    const lay = harness.database.open()
    await harness.pushThrough(lay, { url: `${url}?later` })
    gate.close()
    const claimed = await claiming
    expect(claimed.map(({ deliveryId }) => deliveryId)).toEqual([first])
    expect(
      await claimDeliveries(plain, token, { endpoints: 10, deliveries: 10, leaseS: 60 }),
    ).toHaveLength(1)
  })
})
