// The metrics that every process exposes to Prometheus; takes no label from a request.
import { setTimeout as delay } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Database } from '../db/db.ts'
import { hedgeCounts } from '../rpc/client/hedging.ts'
import type { Logger } from './log.ts'
import { spanCounts } from './spans.ts'

// Node.js measures the delay of its loop by a timer of its own, which wakes an idle process. At the usual 10 ms that
// costs 7 ms of CPU a second, at 50 ms about 1.5. The delays that are shown have this in them.
const loopLookMs = 250

/** Below the limit of a scrape, 10 s; above that of a statement with its wait for a connection, 8 s. */
const scrapeWithinMs = 8_500

/** Makes a registry with the process's own metrics, each labelled with the name of the process. */
export function createMetrics(part: string): Registry {
  const registry = new Registry()
  registry.setDefaultLabels({ part })
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: loopLookMs })
  spanMetrics(registry)
  hedgeMetrics(registry)
  return registry
}

/** Counts the outcomes of spans; all zero while traces are off. */
function spanMetrics(registry: Registry): void {
  void new Counter({
    name: 'payweave_trace_spans_total',
    help: 'Spans that ended, by outcome: exported, or dropped because the queue was full or the export failed.',
    labelNames: ['outcome'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(spanCounts)) this.inc({ outcome }, count)
    },
  })
}

function hedgeMetrics(registry: Registry): void {
  void new Counter({
    name: 'payweave_rpc_hedges_total',
    help: 'Hedges of read-only RPCs, by outcome: won, lost to the first replica, failed at both, or over_budget and not sent.',
    labelNames: ['outcome'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(hedgeCounts)) this.inc({ outcome }, count)
    },
  })
}

/**
 * The metrics of a registry in the Prometheus exposition format. A metric that cannot be read, or not within `withinMs`
 * milliseconds, is left out: a database that is down must not hide the others. Logs one line when some are left out. Never
 * rejects.
 */
export async function readMetrics(
  registry: Registry,
  log: Logger,
  withinMs: number = scrapeWithinMs,
): Promise<string> {
  const late = delay(withinMs, undefined, { ref: false })
  const errors: unknown[] = []
  const texts = await Promise.all(
    registry.getMetricsAsArray().map(async ({ name }) => {
      try {
        const text = await Promise.race([registry.getSingleMetricAsString(name), late])
        if (text === undefined) throw new Error('the metric was not read in time')
        return [text]
      } catch (error) {
        errors.push(error)
        return []
      }
    }),
  )
  if (errors.length > 0) log.warn({ err: errors[0], failed: errors.length }, 'metrics not read')
  return `${texts.flat().join('\n\n')}\n`
}

/** Lets the gauges of one scrape share a read: a call during a read gets its result, or its error. */
export function sharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () =>
    (reading ??= read().finally(() => {
      reading = undefined
    }))
}

/** Registers a gauge that is read from a database at each scrape. Throws an Error when a registry has the metric. */
export function databaseGauge(
  name: string,
  help: string,
  { registers, read }: { registers: Registry[]; read: () => Promise<number> },
): void {
  void new Gauge({
    name,
    help,
    registers,
    async collect() {
      this.set(await read())
    },
  })
}

/** Work of one kind that waits: how much, and for how long the oldest. */
export type Backlog = { kind: string; open: number; oldestS: number }

/**
 * Exposes the backlog of calls that a service still owes the back end, read at each scrape. Throws an Error when the
 * registry has the metrics.
 */
export function backlogMetrics(
  registry: Registry,
  service: 'payments' | 'accounts',
  backlog: () => Promise<Backlog[]>,
): void {
  const read = sharedRead(backlog)
  void new Gauge({
    name: `payweave_${service}_task_oldest_seconds`,
    help: 'Age of the oldest task for the back end, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
    async collect() {
      for (const { kind, oldestS } of await read()) this.set({ kind }, oldestS)
    },
  })
  void new Gauge({
    name: `payweave_${service}_tasks_open`,
    help: 'Open tasks for the back end, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
    async collect() {
      for (const { kind, open } of await read()) this.set({ kind }, open)
    },
  })
}

/**
 * Exposes whether the database answers and how the connections of its pool are used, read at each scrape. Throws an Error
 * when the registry has the metrics.
 */
export function databaseMetrics(registry: Registry, db: Pick<Database, 'stats' | 'ready'>): void {
  void new Gauge({
    name: 'payweave_db_up',
    help: '1 when PostgreSQL answers as a primary within 1.5 s; while all connections are in use, answers to other statements count. 0 when it does not answer or cannot be reached.',
    registers: [registry],
    async collect() {
      this.set((await db.ready()) ? 1 : 0)
    },
  })
  void new Gauge({
    name: 'payweave_db_connections',
    help: 'Database connections of the pool by state; `waiting` counts the calls that wait for one.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      const { total, idle, waiting, max } = db.stats()
      this.set({ state: 'used' }, total - idle)
      this.set({ state: 'idle' }, idle)
      this.set({ state: 'waiting' }, waiting)
      this.set({ state: 'max' }, max)
    },
  })
}
