// A database with deliveries in it, and workers to send them, for tests. It must not go through the broker.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import type { Event } from '#gen/payweave/events/v1/events_pb.js'
import { type Database, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import type { Claimed, PostEnd, Verdict } from '../../services/delivery/domain/delivery.ts'
import { endpointId } from '../../services/delivery/domain/delivery.ts'
import type { BreakerTerms } from '../../services/delivery/domain/lane.ts'
import { deliveryMetrics } from '../../services/delivery/metrics.ts'
import type { Sign } from '../../services/delivery/operations/signing.ts'
import type { EgressRule } from '../../services/delivery/ports/egress.ts'
import { createPoster } from '../../services/delivery/ports/post.ts'
import {
  type ClaimLimits,
  claimDue,
  type KnownLane,
} from '../../services/delivery/store/claim-store.ts'
import { complete } from '../../services/delivery/store/complete-store.ts'
import { type NewDelivery, storeEvents } from '../../services/delivery/store/intake-store.ts'
import type { Lease } from '../../services/delivery/store/lease-store.ts'
import {
  type AttemptRow,
  findDelivery,
  listAttempts,
} from '../../services/delivery/store/read-store.ts'
import type { LeaseOwner } from '../../services/delivery/workers/instance.ts'
import { createIntake } from '../../services/delivery/workers/intake.ts'
import { createLanes } from '../../services/delivery/workers/lanes.ts'
import { type DeliveryWorker, startWorker } from '../../services/delivery/workers/worker.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'

/** The folders that make the delivery schema. */
export const migrations = migrationFolders('delivery')

/** How a test's worker differs from the default one. */
export interface WorkerChanges extends Partial<EgressRule> {
  scheduleS?: number[]
  timeoutMs?: number
  breaker?: BreakerTerms
  maxInFlight?: number
  hostLimit?: number
  stalledMs?: number
  /** The clock of the lanes, in milliseconds. */
  nowMs?: () => number
  sign?: Sign
  /** In place of the harness's own. */
  db?: Database
  /** In place of leases that nobody releases before they run out. */
  leases?: LeaseOwner
  /** Where its metrics go; nowhere when unset. */
  metrics?: Registry
}

/** One delivery to store. */
export interface PushChanges extends Partial<NewDelivery> {
  url: string
}

const tables = [
  'instance',
  'delivery',
  'signing',
  'endpoint',
  'attempt',
  'gone_url',
  'inbox',
  'poison',
  'api_request',
]
const emptyTables = `truncate ${tables.map((table) => `delivery.${table}`).join(', ')}`

const cannotSign: Sign = async () => ({
  end: { outcome: 'unsigned', unsignable: true, error: 'signing_unknown', totalMs: 0 },
})

/** Leases of an instance that is not registered. */
export const unownedLeases: LeaseOwner = {
  settled: () => Promise.resolve(),
  issueToken: () => randomUUID(),
  releaseUnheld: () => undefined,
  instances: () => 1,
}

/** Reserves nothing: what is stored waits in the table, as if another process had left it. */
export const noSlots: Pick<DeliveryWorker, 'reserve'> = {
  reserve: async () => ({
    direct: new Set(),
    makesReady: { has: () => true } as unknown as Set<string>,
    leaseToken: randomUUID(),
    leaseS: 60,
    begin: () => undefined,
    abandon: () => undefined,
  }),
}

/** Makes the database and what works on it. */
export async function startHarness() {
  const database = await createTestDatabase('delivery', migrations)
  const clock = createTestClock()
  const db: Database = database.open({ testClock: clock })
  const owner = database.open({ service: undefined })
  const projectId = randomUUID()
  const closers: (() => Promise<unknown>)[] = []
  const workers = new Set<DeliveryWorker>()

  function worker(changes: WorkerChanges = {}): DeliveryWorker {
    const {
      scheduleS = [1, 2, 5],
      breaker = { openS: 30, maxS: 900 },
      maxInFlight,
      hostLimit,
      stalledMs,
    } = changes
    const { timeoutMs = 15_000 } = changes
    const poster = createPoster({
      allowLoopback: true,
      timeoutMs,
      version: '0.0.0-test',
      ...changes,
    })
    const started = startWorker({
      db: changes.db ?? db,
      leases: changes.leases ?? unownedLeases,
      poster,
      sign: changes.sign ?? cannotSign,
      log: silentLog,
      metrics: deliveryMetrics({ metrics: changes.metrics ?? new Registry(), db }),
      scheduleS,
      breaker,
      timeoutMs,
      random: () => 0.5,
      ...(maxInFlight === undefined ? {} : { maxInFlight }),
      ...(hostLimit === undefined ? {} : { hostLimit }),
      ...(stalledMs === undefined ? {} : { stalledMs }),
      ...(changes.nowMs === undefined ? {} : { nowMs: changes.nowMs }),
    })
    closers.push(() => started.close(), poster.close)
    workers.add(started)
    return started
  }

  const push = (...pushes: PushChanges[]) => pushThrough(db, ...pushes)

  function newDeliveries(pushes: PushChanges[]): NewDelivery[] {
    return pushes.map((change): NewDelivery => {
      const target = new URL(change.url)
      const project = change.projectId ?? projectId
      const { kind = 'notify' } = change
      return {
        deliveryId: randomUUID(),
        projectId: project,
        endpointId: endpointId(project, target.origin, kind),
        eventId: randomUUID(),
        kind,
        subjectId: 'payment-1',
        origin: target.origin,
        hostname: target.hostname,
        body: Buffer.from('{"event_type":"payment_initiated"}'),
        occurredAt: clock.now(),
        ...change,
      }
    })
  }

  async function store(
    through: Database,
    worker: Pick<DeliveryWorker, 'reserve'>,
    changes: PushChanges[],
  ): Promise<string[]> {
    const pushes = newDeliveries(changes)
    const eventIds = pushes.map(({ eventId }) => eventId)
    const reservation = await worker.reserve(pushes)
    const stored = await storeEvents(through, { eventIds, pushes, ...reservation })
    reservation.begin(stored.startedAt)
    return pushes.map(({ deliveryId }) => deliveryId)
  }

  async function pushThrough(through: Database, ...pushes: PushChanges[]): Promise<string[]> {
    const ids = await store(through, noSlots, pushes)
    for (const worker of workers) worker.notify()
    return ids
  }

  let statements = 0
  /** All lanes with their stored limits, as a process knows them that has found more in them than it had slots. */
  async function knownLanes(): Promise<KnownLane[]> {
    return asOwner(
      `select endpoint_id as "endpointId", limit_now as slots, 1000 as room, true as "hasBacklog"
       from delivery.endpoint`,
    )
  }

  /** Runs a statement with the rights of the tables' owner. */
  async function asOwner<T>(text: string): Promise<T[]> {
    statements += 1
    return owner.rows<T>(sql(`as_owner_${statements}`, text), [])
  }

  /** What a statement did, as PostgreSQL explains it. */
  async function explained(work: (db: Queryable) => Promise<unknown>): Promise<string> {
    let plan: { 'QUERY PLAN': string }[] = []
    const explain = async ({ name, text }: Sql, values: unknown[]) => {
      const statement = sql(`explain_${name}`, `explain (analyze, buffers, timing off) ${text}`)
      plan = await db.rows(statement, values)
      return []
    }
    const row = async (statement: Sql, values: unknown[]) => (await explain(statement, values))[0]
    const run = async (statement: Sql, values: unknown[]) =>
      (await explain(statement, values)).length
    await work({ rows: explain, row, run })
    return plan.map((line) => line['QUERY PLAN']).join('\n')
  }

  return {
    db,
    clock,
    asOwner,
    knownLanes,
    explained,
    projectId,
    worker,
    push,
    /** The same through another pool. */
    pushThrough,
    /** Stores pushes as the intake of this worker does: those with a slot are posted at once. */
    pushDirectly: (worker: DeliveryWorker, ...pushes: PushChanges[]) => store(db, worker, pushes),
    newDeliveries,
    /** Takes events in while no worker has a slot. */
    takeIn: (...events: Event[]) => createIntake(db, noSlots)(events),
    database,
    state: async (id: string) => (await findDelivery(db, projectId, id))?.state,
    delivery: (id: string) => findDelivery(db, projectId, id),
    attempts: (id: string): Promise<AttemptRow[]> => listAttempts(db, id),
    /** Number of deliveries that fulfil an SQL condition. */
    async count(condition: string): Promise<number> {
      const [row] = await asOwner<{ n: number }>(
        `select count(*)::int as n from delivery.delivery where ${condition}`,
      )
      return row?.n ?? 0
    },
    /** Stops the workers and empties the tables. */
    async reset(): Promise<void> {
      workers.clear()
      await Promise.all(closers.splice(0).map((close) => close()))
      await asOwner(emptyTables)
    },
    drop: () => database.drop(),
  }
}

/** The leases of all instances. */
export function leasesOf({
  asOwner,
}: Pick<Awaited<ReturnType<typeof startHarness>>, 'asOwner'>): Promise<Lease[]> {
  return asOwner(
    `select delivery_id as "deliveryId", lease_token as "leaseToken" from delivery.delivery where state = 'sending'`,
  )
}

/** What a claim takes. */
export async function claimDeliveries(
  db: Queryable,
  leaseToken: string,
  limits: ClaimLimits,
): Promise<Claimed[]> {
  return (await claimDue(db, leaseToken, limits)).deliveries
}

/** An attempt that has ended, with what follows. */
export type Ended = { claimed: Claimed; end: PostEnd; verdict: Verdict }

/** A process whose attempts end as a test says: it claims by what is stored, and stores at once what it learns. */
export function createLearner(
  { db, clock, knownLanes }: Awaited<ReturnType<typeof startHarness>>,
  breaker: BreakerTerms,
) {
  const nowMs = () => clock.now().getTime()
  const lanes = createLanes({
    db,
    log: silentLog,
    breaker,
    instances: () => 1,
    hostLimit: 1_000,
    nowMs,
  })
  const startedMs = new Map<string, number>()
  return {
    async claim(limits: ClaimLimits): Promise<Claimed[]> {
      const beganMs = nowMs()
      const { deliveries, lanes: found } = await claimDue(db, randomUUID(), {
        ...limits,
        known: await knownLanes(),
      })
      lanes.lookedAt(found, beganMs)
      for (const one of deliveries) {
        lanes.take(one)
        lanes.enqueue(one)
        startedMs.set(one.deliveryId, nowMs())
        lanes.next(one.hostname)
      }
      return deliveries
    },
    /** Records attempts that ended after their `totalMs` at the earliest. */
    async record(batch: Ended[]): Promise<unknown> {
      const timed = batch.map((one) => {
        const began = startedMs.get(one.claimed.deliveryId) ?? Number.NaN
        return { ...one, startedMs: began, endedMs: Math.max(nowMs(), began + one.end.totalMs) }
      })
      const inOrder = timed.toSorted((a, b) => a.endedMs - b.endedMs)
      const ended = inOrder.map((one) => ({
        ...one,
        makesReady: lanes.end(one.claimed, { ...one.end, ...one }),
      }))
      const recorded = await complete(db, ended)
      await lanes.store()
      return recorded
    },
  }
}
