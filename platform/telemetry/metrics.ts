// The metrics that every process exposes to Prometheus; takes no label from a request.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Database } from '../db/db.ts'
import { hedgeCounts } from '../rpc/client/hedging.ts'
import type { Logger } from './log.ts'
import { spanCounts } from './spans.ts'

// Node.js measures the delay of its loop by a timer of its own, which wakes an idle process. At the usual 10 ms that
// costs 7 ms of CPU a second, at 50 ms about 1.5. The delays that are shown have this in them.
const loopLookMs = 250

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

/** How `databaseGauge` reads its value. */
export type GaugeReading = { registers: Registry[]; log: Logger; read: () => Promise<number> }

/**
 * Registers a gauge that is read from a database at each scrape. When the read fails, it keeps its last value, so that the
 * other metrics are still served. Throws an Error when a registry has the metric.
 */
export function databaseGauge(
  name: string,
  help: string,
  { registers, log, read }: GaugeReading,
): void {
  void new Gauge({
    name,
    help,
    registers,
    async collect() {
      try {
        this.set(await read())
      } catch (error) {
        log.warn({ err: error }, 'metric not read')
      }
    },
  })
}

/** Work of one kind that waits: how much, and for how long the oldest. */
export type Backlog = { kind: string; open: number; oldestS: number }

/**
 * Exposes the backlog of calls that a service still owes the back end, read at each scrape. A `backlog` that rejects
 * fails the scrape. Throws an Error when the registry has the metrics.
 */
export function backlogMetrics(
  registry: Registry,
  service: 'payments' | 'accounts',
  backlog: () => Promise<Backlog[]>,
): void {
  const oldest = new Gauge({
    name: `payweave_${service}_task_oldest_seconds`,
    help: 'Age of the oldest task for the payment back end, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  void new Gauge({
    name: `payweave_${service}_tasks_open`,
    help: 'Open tasks for the payment back end, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
    async collect() {
      for (const { kind, open, oldestS } of await backlog()) {
        this.set({ kind }, open)
        oldest.set({ kind }, oldestS)
      }
    },
  })
}

/**
 * Exposes how the connections of a database's pool are used, read at each scrape. Throws an Error when the registry has
 * the metric.
 */
export function databaseMetrics(registry: Registry, db: Pick<Database, 'stats'>): void {
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
