// Metrics of deliveries.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import { databaseGauge } from '#platform/telemetry/metrics.ts'
import { endedStates } from './domain/delivery.ts'
import {
  countGivenUp,
  countLanesThat,
  readOldestDueS,
  readOldestReadyS,
} from './store/backlog-store.ts'

/** What the worker counts. */
export interface DeliveryMetrics {
  attempts: Counter<'outcome'>
  ended: Counter<'state'>
  attemptTimes: Histogram<'outcome'>
  firstPost: Histogram
  egressBlocks: Counter<'cause'>
  /** Exports from now on what a worker has in flight. */
  observeInFlight(worker: InFlight): void
}

/** What a worker has in flight, and its limit. */
export interface InFlight {
  inFlight: () => number
  maxInFlight: number
  hostLimit: number
  /** Number of hostnames with `hostLimit` POSTs in flight. */
  fullHosts: () => number
}

/** Where the numbers go and come from. */
export interface MetricsSource {
  metrics: Registry
  db: Database
}

/** Makes the metrics; the gauges are read from the tables at each scrape. */
export function deliveryMetrics(source: MetricsSource): DeliveryMetrics {
  const registers = [source.metrics]
  backlogGauges(source)
  const ended = new Counter({
    name: 'payweave_delivery_ended_total',
    help: 'Deliveries that ended, by state.',
    labelNames: ['state'],
    registers,
  })
  // A series that begins with the first deliveries given up would hide them from what looks at its growth.
  for (const state of endedStates) ended.inc({ state }, 0)
  return {
    attempts: new Counter({
      name: 'payweave_delivery_attempts_total',
      help: 'Attempts that ended, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    ended,
    attemptTimes: new Histogram({
      name: 'payweave_delivery_attempt_seconds',
      help: 'Time from the start of an attempt to the receiver’s response or to its failure, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    firstPost: new Histogram({
      name: 'payweave_delivery_first_post_seconds',
      help: 'Time from the commit of an event to the first POST of its delivery.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800],
      registers,
    }),
    egressBlocks: new Counter({
      name: 'payweave_delivery_egress_blocks_total',
      help: 'Attempts that the egress guard blocked, by the address that it checked: url, literal, resolved or peer.',
      labelNames: ['cause'],
      registers,
    }),
    observeInFlight: (worker) => inFlightGauges(registers, worker),
  }
}

function inFlightGauges(registers: Registry[], worker: InFlight): void {
  void new Gauge({
    name: 'payweave_delivery_in_flight',
    help: `Deliveries that this process has claimed and not yet recorded; ${worker.maxInFlight} at most.`,
    registers,
    collect() {
      this.set(worker.inFlight())
    },
  })
  void new Gauge({
    name: 'payweave_delivery_full_hostnames',
    help: `Hostnames to which this process has ${worker.hostLimit} POSTs in flight, which is the maximum.`,
    registers,
    collect() {
      this.set(worker.fullHosts())
    },
  })
}

/** Maximum lanes in which the oldest due push is looked for; they take about 150 ms. */
const maxLanes = 10_000
/** Maximum rows that a gauge counts; they take about as long. */
const maxCounted = 100_000

/** Each is read by a statement of its own: when one fails, the others are exported. */
function backlogGauges({ metrics, db }: MetricsSource): void {
  const registers = [metrics]
  databaseGauge(
    'payweave_delivery_oldest_due_seconds',
    `Age of the oldest delivery that is due, including those that a limit or a circuit breaker delays, excluding paused lanes; 0 when none is due. Looks at ${maxLanes} lanes with waiting deliveries at most.`,
    { registers, read: () => readOldestDueS(db, maxLanes) },
  )
  databaseGauge(
    'payweave_delivery_oldest_ready_seconds',
    'Longest time that a ready lane has waited for a claim, excluding paused lanes and those with an open circuit breaker; 0 when none is ready.',
    { registers, read: () => readOldestReadyS(db) },
  )
  void new Gauge({
    name: 'payweave_delivery_dead_letters',
    help: `Deliveries that were given up and that an operator may replay, by state; ${maxCounted} at most.`,
    labelNames: ['state'],
    registers,
    async collect() {
      const { exhausted, blocked } = await countGivenUp(db, maxCounted)
      this.set({ state: 'exhausted' }, exhausted)
      this.set({ state: 'blocked' }, blocked)
    },
  })
  databaseGauge(
    'payweave_delivery_open_breakers',
    `Receivers whose circuit breaker is not closed; ${maxCounted} at most.`,
    { registers, read: () => countLanesThat(db, 'open', maxCounted) },
  )
  databaseGauge(
    'payweave_delivery_paused_receivers',
    `Receivers whose pushes somebody has paused; ${maxCounted} at most.`,
    { registers, read: () => countLanesThat(db, 'paused', maxCounted) },
  )
}
