// Tests on a real database that a completion which cannot be recorded does not block others.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { type Claimed, judge, type Verdict } from '../../services/delivery/domain/delivery.ts'
import { deliveryMetrics } from '../../services/delivery/metrics.ts'
import { claimDue } from '../../services/delivery/store/claim-store.ts'
import { complete } from '../../services/delivery/store/complete-store.ts'
import { replayDelivery } from '../../services/delivery/store/operate-store.ts'
import { createCompleter } from '../../services/delivery/workers/completer.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { claimDeliveries, startHarness } from './harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.drop())

it('an end that the database refuses does not keep the others from being recorded', async () => {
  const { db } = harness
  const url = 'http://127.0.0.1:1'
  const [bad = '', ...good] = await harness.push({ url }, { url: `${url}/2` }, { url: `${url}/3` })
  await harness.asOwner('update delivery.endpoint set limit_now = 16')
  const claimed = await claimDeliveries(db, randomUUID(), {
    endpoints: 1,
    deliveries: 9,
    leaseS: 60,
  })
  expect(claimed).toHaveLength(3)
  const completer = createCompleter({
    db,
    log: silentLog,
    metrics: deliveryMetrics({ metrics: new Registry(), db }),
    onRecorded: () => undefined,
  })
  for (const one of claimed) {
    const totalMs = one.deliveryId === bad ? 2 ** 40 : 3
    const end = { outcome: 'delivered', status: 200, totalMs } as const
    completer.add({ claimed: one, end, verdict: { state: 'delivered' } })
  }
  await eventually(() => expect(completer.waiting()).toBe(0))
  expect(await Promise.all(good.map(harness.state))).toEqual(['delivered', 'delivered'])
  expect(await harness.state(bad)).toBe('sending')
  await completer.close(1_000)
})

it('an end that is recorded twice does not end the round that began in between', async () => {
  const { db, projectId } = harness
  const [id = ''] = await harness.push({ url: 'http://127.0.0.3:1' })
  const limits = { endpoints: 9, deliveries: 9, leaseS: 60 }
  const [claimed] = await claimDeliveries(db, randomUUID(), limits)
  if (claimed === undefined) throw new Error('nothing was claimed')
  const end = { outcome: 'delivered', status: 200, totalMs: 1 } as const
  const completion = { claimed, end, verdict: { state: 'delivered' } as const }
  expect(await complete(db, [completion])).toMatchObject([{ deliveryId: id, state: 'delivered' }])
  await replayDelivery(db, projectId, id, randomUUID())
  expect(await complete(db, [completion])).toEqual([])
  expect(await harness.count(`delivery_id = '${id}' and state = 'pending' and round = 2`)).toBe(1)
  await harness.reset()
})

it('the longest pause that a schedule may have is recorded', async () => {
  const { db, clock } = harness
  const [id = ''] = await harness.push({ url: 'http://127.0.0.7:1' })
  const limits = { endpoints: 9, deliveries: 9, leaseS: 60 }
  const [claimed] = await claimDeliveries(db, randomUUID(), limits)
  if (claimed === undefined) throw new Error('nothing was claimed')
  const end = { outcome: 'refused', status: 503, retryAfterS: 999_999_999, totalMs: 1 } as const
  const verdict = judge(end, { scheduleS: [30 * 86_400], failures: 0, random: 1 })
  await complete(db, [{ claimed, end, verdict }])
  expect(await harness.state(id)).toBe('pending')
  clock.advance(59 * 86_400_000)
  expect(await claimDeliveries(db, randomUUID(), limits)).toEqual([])
  clock.advance(2 * 86_400_000)
  expect(await claimDeliveries(db, randomUUID(), limits)).toMatchObject([{ deliveryId: id }])
  await harness.reset()
})

it('ends are recorded by a statement that is not planned anew for each batch', async () => {
  const db = harness.database.open({ poolSize: 1 })
  const end = { outcome: 'delivered', status: 200, totalMs: 1 } as const
  for (let batch = 0; batch < 8; batch += 1) {
    await harness.push({ url: 'http://127.0.0.2:1' })
    const claimed = await claimDeliveries(db, randomUUID(), {
      endpoints: 9,
      deliveries: 9,
      leaseS: 60,
    })
    const ends = claimed.map((one) => ({
      claimed: one,
      end,
      verdict: { state: 'delivered' } as const,
    }))
    await complete(db, ends)
  }
  const plans = sql(
    'plans_of_complete',
    `select generic_plans::integer as generic, custom_plans::integer as custom
     from pg_prepared_statements where name = 'delivery_complete'`,
  )
  expect(await db.row(plans, [])).toEqual({ generic: 8, custom: 0 })
})

it('a lane is looked at again when it was full or has a push to try again, and else is left alone', async () => {
  const { db } = harness
  const endOf = (claimed: Claimed, verdict: Verdict, makesReady: boolean) => ({
    claimed,
    makesReady,
    end: { outcome: verdict.state === 'delivered' ? 'delivered' : 'refused', totalMs: 1 } as const,
    verdict,
  })
  /** Claims all that a new receiver may have at once, and ends it. */
  const readyAfter = async (host: string, pushes: number, verdict: Verdict): Promise<boolean> => {
    const url = `http://${host}:1`
    await harness.push(...Array.from({ length: pushes }, (_, n) => ({ url: `${url}/${n}` })))
    const { deliveries, lanes } = await claimDue(db, randomUUID(), {
      endpoints: 9,
      deliveries: 9,
      leaseS: 60,
    })
    const isFull = lanes.some(({ hasMore }) => hasMore)
    const ends = deliveries.map((one) => endOf(one, verdict, isFull))
    await complete(db, ends)
    const isReady = sql(
      'is_ready',
      `select ready_at <= clock_now() + interval '1 minute' as ready from endpoint where origin = $1`,
    )
    return (await db.row<{ ready: boolean }>(isReady, [url]))?.ready ?? false
  }
  expect(await readyAfter('127.0.0.4', 1, { state: 'delivered' })).toBe(false)
  expect(await readyAfter('127.0.0.5', 3, { state: 'delivered' })).toBe(true)
  expect(await readyAfter('127.0.0.6', 1, { state: 'pending', delayMs: 60_000 })).toBe(true)
})
