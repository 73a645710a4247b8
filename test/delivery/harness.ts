// A database with deliveries in it, and workers to send them, for tests. It must not go through the broker.
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { type Database, type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestClock } from '#platform/testing/clock.ts'
import type { Claimed } from '../../services/delivery/domain/delivery.ts'
import { endpointId } from '../../services/delivery/domain/delivery.ts'
import { deliveryMetrics } from '../../services/delivery/metrics.ts'
import type { Sign } from '../../services/delivery/operations/signing.ts'
import type { EgressRule } from '../../services/delivery/ports/egress.ts'
import { createPoster } from '../../services/delivery/ports/post.ts'
import { type ClaimLimits, claimDue } from '../../services/delivery/store/claim-store.ts'
import type { BreakerTerms } from '../../services/delivery/store/complete-store.ts'
import { insertDeliveries, type NewDelivery } from '../../services/delivery/store/intake-store.ts'
import {
  type AttemptRow,
  findDelivery,
  listAttempts,
} from '../../services/delivery/store/read-store.ts'
import type { LeaseOwner } from '../../services/delivery/workers/instance.ts'
import { type DeliveryWorker, startWorker } from '../../services/delivery/workers/worker.ts'
import { createTestDatabase, silentLog } from '../support/database.ts'

/** The folders that make the delivery schema. */
export const migrations = migrationFolders('delivery')

/** How a test's worker differs from the usual one. */
export interface WorkerChanges extends Partial<EgressRule> {
  scheduleS?: number[]
  timeoutMs?: number
  breaker?: BreakerTerms
  maxInFlight?: number
  hostLimit?: number
  sign?: Sign
  /** In place of the harness's own. */
  db?: Database
  /** In place of leases that nobody releases before they run out. */
  leases?: LeaseOwner
  /** Where its metrics go; nowhere when unset. */
  metrics?: Registry
}

/** One delivery to lay down. */
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
]
const emptyTables = `truncate ${tables.map((table) => `delivery.${table}`).join(', ')}`

const cannotSign: Sign = async () => ({
  end: { outcome: 'unsigned', unsignable: true, error: 'signing_unknown', totalMs: 0 },
})

/** Leases of an instance that is not registered. */
export const unownedLeases: LeaseOwner = {
  settled: () => Promise.resolve(),
  issueToken: () => randomUUID(),
  abandonToken: () => undefined,
}

/** Makes the database and what works on it. */
export async function startHarness() {
  const database = await createTestDatabase('delivery', migrations)
  const clock = createTestClock()
  const db: Database = database.open({ testClock: clock })
  const owner = database.open({ service: undefined })
  const projectId = randomUUID()
  const closers: (() => Promise<unknown>)[] = []

  function worker(changes: WorkerChanges = {}): DeliveryWorker {
    const {
      scheduleS = [1, 2, 5],
      breaker = { openS: 30, maxS: 900 },
      maxInFlight,
      hostLimit,
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
      metrics: deliveryMetrics({ metrics: changes.metrics ?? new Registry(), db, log: silentLog }),
      scheduleS,
      breaker,
      timeoutMs,
      random: () => 0.5,
      ...(maxInFlight === undefined ? {} : { maxInFlight }),
      ...(hostLimit === undefined ? {} : { hostLimit }),
    })
    closers.push(() => started.close(), poster.close)
    return started
  }

  const push = (...pushes: PushChanges[]) => pushThrough(db, ...pushes)

  async function pushThrough(through: Database, ...pushes: PushChanges[]): Promise<string[]> {
    const deliveries = pushes.map((change): NewDelivery => {
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
    await through.transaction((tx) => insertDeliveries(tx, deliveries))
    return deliveries.map(({ deliveryId }) => deliveryId)
  }

  let statements = 0
  /** Runs a statement with the rights of the tables' owner. */
  async function asOwner<T>(text: string): Promise<T[]> {
    statements += 1
    return owner.rows<T>(sql(`as_owner_${statements}`, text), [])
  }

  /** What a statement did, as PostgreSQL explains it. */
  async function explained(work: (db: Queryable) => Promise<unknown>): Promise<string> {
    let plan: { 'QUERY PLAN': string }[] = []
    const explain = async ({ name, text }: Sql, values: unknown[]) => {
      const statement = sql(`explain_${name}`, `explain (analyze, timing off) ${text}`)
      plan = await db.rows(statement, values)
      return []
    }
    const run = async (statement: Sql, values: unknown[]) =>
      (await explain(statement, values)).length
    await work({ rows: explain, row: async () => undefined, run })
    return plan.map((line) => line['QUERY PLAN']).join('\n')
  }

  return {
    db,
    clock,
    asOwner,
    explained,
    projectId,
    worker,
    push,
    /** The same through another pool. */
    pushThrough,
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
      await Promise.all(closers.splice(0).map((close) => close()))
      await asOwner(emptyTables)
    },
    drop: () => database.drop(),
  }
}

/** What a claim takes. */
export async function claimDeliveries(
  db: Queryable,
  leaseToken: string,
  limits: ClaimLimits,
): Promise<Claimed[]> {
  return (await claimDue(db, leaseToken, limits)).deliveries
}
