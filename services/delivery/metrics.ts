// Metrics of deliveries.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Backlog, readBacklog } from './store/read-store.ts'

/** What the worker counts. */
export interface DeliveryMetrics {
  attempts: Counter<'outcome'>
  ended: Counter<'state'>
  attemptTimes: Histogram<'outcome'>
  firstPost: Histogram
  egressBlocks: Counter<'cause'>
  /** Exports from now on what a worker has in flight. */
  watchInHand(hand: InHand): void
}

/** What a worker has in flight, and its limit. */
export interface InHand {
  inHand: () => number
  inHandLimit: number
  byHost: ReadonlyMap<string, number>
  hostLimit: number
}

/** Where the numbers go and come from. */
export interface MetricsSource {
  metrics: Registry
  db: Database
  log: Logger
}

/** Makes the metrics; the gauges are read from the tables at each scrape. */
export function deliveryMetrics(source: MetricsSource): DeliveryMetrics {
  const registers = [source.metrics]
  backlogGauges(source)
  return {
    attempts: new Counter({
      name: 'payweave_delivery_attempts_total',
      help: 'Attempts that ended, by outcome.',
      labelNames: ['outcome'],
      registers,
    }),
    ended: new Counter({
      name: 'payweave_delivery_ended_total',
      help: 'Deliveries that ended, by state.',
      labelNames: ['state'],
      registers,
    }),
    attemptTimes: new Histogram({
      name: 'payweave_delivery_attempt_seconds',
      help: 'Time of an attempt from its beginning to the receiver’s answer or to its failure, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
      registers,
    }),
    firstPost: new Histogram({
      name: 'payweave_delivery_first_post_seconds',
      help: 'From the commit of the fact to the first POST, unless a first attempt came to none.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800],
      registers,
    }),
    egressBlocks: new Counter({
      name: 'payweave_delivery_egress_blocks_total',
      help: 'Attempts that the egress guard stopped, by what it looked at: url, literal, resolved or peer.',
      labelNames: ['cause'],
      registers,
    }),
    watchInHand: (hand) => handGauges(registers, hand),
  }
}

function handGauges(registers: Registry[], hand: InHand): void {
  void new Gauge({
    name: 'payweave_delivery_in_hand',
    help: `Deliveries that this process has claimed and not yet recorded; ${hand.inHandLimit} at most.`,
    registers,
    collect() {
      this.set(hand.inHand())
    },
  })
  void new Gauge({
    name: 'payweave_delivery_full_hostnames',
    help: `Hostnames to which this process has ${hand.hostLimit} POSTs under way, the most it may.`,
    registers,
    collect() {
      this.set([...hand.byHost.values()].filter((count) => count >= hand.hostLimit).length)
    },
  })
}

function backlogGauges({ metrics, db, log }: MetricsSource): void {
  const registers = [metrics]
  let reading: Promise<Backlog | undefined> | undefined

  /** One read for all gauges of a scrape. When the database is down, the other metrics are still exported. */
  function backlog(): Promise<Backlog | undefined> {
    reading ??= readBacklog(db)
      .catch((error: unknown) => {
        log.warn({ err: error }, 'metric not read')
        return undefined
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  void new Gauge({
    name: 'payweave_delivery_oldest_due_seconds',
    help: 'Age of the oldest delivery that is due, whatever holds it up; 0 when none is.',
    registers,
    async collect() {
      this.set((await backlog())?.oldestDueS ?? Number.NaN)
    },
  })
  void new Gauge({
    name: 'payweave_delivery_dead',
    help: 'Deliveries that were given up and wait for people, by state.',
    labelNames: ['state'],
    registers,
    async collect() {
      const { exhausted = Number.NaN, blocked = Number.NaN } = (await backlog()) ?? {}
      this.set({ state: 'exhausted' }, exhausted)
      this.set({ state: 'blocked' }, blocked)
    },
  })
  void new Gauge({
    name: 'payweave_delivery_open_breakers',
    help: 'Receivers whose breaker is not closed.',
    registers,
    async collect() {
      this.set((await backlog())?.openBreakers ?? Number.NaN)
    },
  })
}
