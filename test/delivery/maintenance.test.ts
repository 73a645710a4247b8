// Shows that old rows go, each in its time, that attempts always find a partition, and that metrics read little of many rows.
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Database, Queryable } from '#platform/db/db.ts'
import { readMetrics } from '#platform/telemetry/metrics.ts'
import { deliveryMetrics } from '../../services/delivery/metrics.ts'
import {
  countGivenUp,
  countLanesThat,
  listWaitingLanes,
  readOldestDueS,
  readOldestReadyS,
} from '../../services/delivery/store/backlog-store.ts'
import { expireLeases } from '../../services/delivery/store/lease-store.ts'
import {
  deleteEnded,
  deleteGoneUrls,
  keepAttemptDays,
} from '../../services/delivery/store/maintenance-store.ts'
import { listDeliveries } from '../../services/delivery/store/read-store.ts'
import { startMaintenance } from '../../services/delivery/workers/maintenance.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startHarness } from './harness.ts'

let harness: Awaited<ReturnType<typeof startHarness>>
beforeAll(async () => {
  harness = await startHarness()
})
afterEach(() => harness.reset())
afterAll(() => harness.drop())

const dayMs = 86_400_000

async function partitions(): Promise<string[]> {
  const rows = await harness.asOwner<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent = 'delivery.attempt'::regclass order by 1`,
  )
  return rows.map(({ name }) => name.replace('delivery.', ''))
}

const nameOf = (day: Date) => `attempt_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
const inDays = (days: number) => new Date(harness.clock.now().getTime() + days * dayMs)

describe('among many rows', () => {
  it('the rows of pushes that were given up are not read again and again while they are kept', async () => {
    await harness.push({ url: 'https://a.example/' })
    await copy(5_000, 'exhausted', 40)
    await copy(5, 'delivered', 31)
    const plan = await harness.explained((db) => deleteEnded(db, 1_000))
    expect(plan).toMatch(/delivery_done/)
    expect(plan).not.toMatch(/Rows Removed|Seq Scan on delivery/)
    expect(await harness.count("state = 'delivered'")).toBe(0)
    expect(await harness.count("state = 'exhausted'")).toBe(5_000)
  })

  it.each(['exhausted', 'delivered', 'pending'] as const)(
    'a project finds its few pushes that are %s without reading the others',
    async (state) => {
      await harness.push({ url: 'https://a.example/' })
      await copy(5_000, state === 'delivered' ? 'cancelled' : 'delivered', 1)
      if (state !== 'pending') await copy(5, state, 1)
      const { projectId } = harness
      const plan = await harness.explained((db) =>
        listDeliveries(db, { projectId, state, limit: 50 }),
      )
      expect(plan).toMatch(/delivery_project_state/)
      expect(plan).not.toMatch(/Rows Removed by Filter: \d\d/)
    },
  )
})

describe('among pushes that were sent since the last vacuum', () => {
  it('the search for expired leases does not read those of earlier hours', async () => {
    await harness.push({ url: 'https://a.example/' })
    const set = (change: string) => harness.asOwner(`update delivery.delivery set ${change}`)
    await copy(5_000, 'delivered', 1)
    await set(
      `state = 'sending', next_attempt_at = null, ended_at = null, lease_token = delivery_id,
       lease_until = '${inDays(-1).toISOString()}'`,
    )
    await set("state = 'delivered', ended_at = now(), lease_token = null, lease_until = null")
    const plan = await harness.explained((db) => expireLeases(db, 500, 3_600))
    const pages = /Index Scan using delivery_lease[^]*?shared hit=(\d+)/.exec(plan)?.[1]
    expect(Number(pages)).toBeLessThan(100)
  })

  it('the table of pushes is vacuumed when a fiftieth of it is dead', async () => {
    const options = await harness.asOwner<{ option: string }>(
      "select unnest(reloptions) as option from pg_class where oid = 'delivery.delivery'::regclass",
    )
    expect(options).toContainEqual({ option: 'autovacuum_vacuum_scale_factor=0.02' })
  })
})

describe('metrics', () => {
  const readRows = (plan: string) =>
    [...plan.matchAll(/actual rows=([\d.]+) loops=(\d+)/g)].reduce(
      (read, [, rows, loops]) => read + Number(rows) * Number(loops),
      0,
    )

  it('metrics and the search for forgotten receivers read receivers in which pushes wait, not the idle ones', async () => {
    await harness.push({ url: 'https://a.example/' }, { url: 'https://b.example/' })
    await harness.asOwner(
      `insert into delivery.endpoint (
         endpoint_id, project_id, origin, hostname, ready_at, window_started_at, created_at
       )
       select gen_random_uuid(), '${harness.projectId}', 'https://idle.example', 'idle.example',
         'infinity', now(), now()
       from generate_series(1, 2000)`,
    )
    await harness.asOwner('analyze delivery.endpoint')
    harness.clock.advance(60_000)
    expect(await listWaitingLanes(harness.db, 10)).toHaveLength(2)
    expect(await readOldestDueS(harness.db, 10)).toBeGreaterThan(60)
    for (const read of [
      (db: Queryable) => listWaitingLanes(db, 10),
      (db: Queryable) => readOldestDueS(db, 10),
      readOldestReadyS,
      (db: Queryable) => countLanesThat(db, 'open', 10),
      (db: Queryable) => countLanesThat(db, 'paused', 10),
    ]) {
      const plan = await harness.explained(read)
      expect(plan).not.toMatch(/Seq Scan on endpoint/)
      expect(readRows(plan)).toBeGreaterThan(0)
      expect(readRows(plan)).toBeLessThan(100)
    }
  })

  it('metrics of pushes that were given up count each state up to a limit', async () => {
    await harness.push({ url: 'https://a.example/' })
    await copy(5, 'exhausted', 1)
    await copy(2, 'blocked', 1)
    expect(await countGivenUp(harness.db, 3)).toEqual({ exhausted: 3, blocked: 2 })
    const plan = await harness.explained((db) => countGivenUp(db, 3))
    expect(plan).toMatch(/Index Only Scan using delivery_dead/)
    expect(readRows(plan)).toBeLessThan(20)
  })

  it('metrics that can be read are exported when one cannot', async () => {
    await harness.push({ url: 'https://a.example/' })
    harness.clock.advance(60_000)
    const metrics = new Registry()
    const db: Database = {
      ...harness.db,
      row: (statement, values) =>
        statement.name === 'delivery_oldest_due'
          ? Promise.reject(new Error('statement timeout'))
          : harness.db.row(statement, values),
    }
    deliveryMetrics({ metrics, db })
    const text = await readMetrics(metrics, silentLog)
    expect(text).not.toContain('payweave_delivery_oldest_due_seconds')
    const [, readyS] = /^payweave_delivery_oldest_ready_seconds (\d+)/m.exec(text) ?? []
    expect(Number(readyS)).toBeGreaterThanOrEqual(60)
    expect(text).toMatch(/^payweave_delivery_dead_letters\{state="exhausted"\} 0$/m)
    expect(text).toMatch(/^payweave_delivery_ended_total\{state="exhausted"\} 0$/m)
  })
})

/** Copies the waiting pushes, as ended `daysAgo` days ago. */
async function copy(count: number, state: string, daysAgo: number): Promise<void> {
  const at = inDays(-daysAgo).toISOString()
  await harness.asOwner(
    `insert into delivery.delivery (
       delivery_id, project_id, endpoint_id, event_id, kind, subject_id, url, body, state,
       occurred_at, created_at, ended_at
     )
     select gen_random_uuid(), project_id, endpoint_id, event_id, kind, subject_id, url, body,
       '${state}', occurred_at, '${at}', '${at}'
     from delivery.delivery cross join generate_series(1, ${count}) where state = 'pending'`,
  )
  await harness.asOwner('analyze delivery.delivery')
}

describe('maintenance', () => {
  it('maintenance keeps partitions for the days to come and drops those that are over', async () => {
    const first = nameOf(inDays(0))
    expect(await partitions()).toContain(first)
    await keepAttemptDays(harness.db, 5, 90)
    expect(await partitions()).toContain(nameOf(inDays(5)))
    await keepAttemptDays(harness.db, 5, 90)
    harness.clock.advance(91 * dayMs)
    await keepAttemptDays(harness.db, 1, 90)
    const left = await partitions()
    expect(left).not.toContain(first)
    expect(left).toContain(nameOf(inDays(1)))
    expect(left).toContain('attempt_default')
  })

  it('late maintenance loses no attempt: the default partition takes it, and its day stays there', async () => {
    harness.clock.advance(200 * dayMs)
    harness.worker()
    const [id = ''] = await harness.push({ url: 'https://10.0.0.1/' })
    await eventually(async () => expect(await harness.state(id)).toBe('blocked'))
    expect(await harness.attempts(id)).toMatchObject([{ outcome: 'blocked', error: 'url' }])
    await keepAttemptDays(harness.db, 1, 90)
    expect(await partitions()).not.toContain(nameOf(inDays(0)))
    expect(await harness.attempts(id)).toHaveLength(1)
    harness.clock.advance(91 * dayMs)
    await keepAttemptDays(harness.db, 1, 90)
    expect(await harness.attempts(id)).toEqual([])
  })

  it('maintenance deletes delivered pushes after 30 days, and given-up ones after 90', async () => {
    const [done = '', dead = '', open = ''] = await harness.push(
      { url: 'https://a.example/' },
      { url: 'https://a.example/' },
      { url: 'https://a.example/' },
    )
    const end = (id: string, state: string) =>
      harness.asOwner(
        `update delivery.delivery set state = '${state}', next_attempt_at = null,
           ended_at = '${harness.clock.now().toISOString()}' where delivery_id = '${id}'`,
      )
    await end(done, 'delivered')
    await end(dead, 'exhausted')
    harness.clock.advance(29 * dayMs)
    expect(await deleteEnded(harness.db, 100)).toBe(0)
    harness.clock.advance(2 * dayMs)
    expect(await deleteEnded(harness.db, 100)).toBe(1)
    harness.clock.advance(60 * dayMs)
    expect(await deleteEnded(harness.db, 100)).toBe(1)
    expect(await harness.state(open)).toBe('pending')
  })

  it('maintenance deletes responses of 410 after 400 days, up to the limit at a time', async () => {
    const gone = (count: number, daysAgo: number) =>
      harness.asOwner(
        `insert into delivery.gone_url (project_id, subject_id, url_sha256, gone_at)
         select '${harness.projectId}', gen_random_uuid()::text, '\\x00', '${inDays(-daysAgo).toISOString()}'
         from generate_series(1, ${count})`,
      )
    await gone(3, 401)
    await gone(1, 399)
    expect(await deleteGoneUrls(harness.db, 2)).toBe(2)
    expect(await deleteGoneUrls(harness.db, 2)).toBe(1)
    expect(await deleteGoneUrls(harness.db, 2)).toBe(0)
    harness.clock.advance(2 * dayMs)
    expect(await deleteGoneUrls(harness.db, 2)).toBe(1)
  })

  it('maintenance that cannot keep the days of attempts keeps those of the API log, and forgets old replays', async () => {
    const ended = new Set<string>()
    const db: Database = {
      ...harness.db,
      async run(statement, values) {
        if (statement.name === 'delivery_keep_attempt_days') throw new Error('lock timeout')
        const rows = await harness.db.run(statement, values)
        ended.add(statement.name)
        return rows
      },
    }
    const maintenance = startMaintenance({ db, log: silentLog, onDue: () => undefined })
    const others = ['delivery_keep_api_request_days', 'delivery_forget_replays']
    await eventually(() => expect([...ended]).toEqual(expect.arrayContaining(others)))
    await maintenance.close()
  })
})
