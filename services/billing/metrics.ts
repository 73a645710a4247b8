// Metrics of billing. No label comes from a request.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { sharedRead } from '#platform/telemetry/metrics.ts'
import type { BillEnd } from './domain/bill.ts'
import type { Backlog } from './store/outcome-posting-store.ts'

/** What billing counts. */
export type BillingMetrics = {
  ended(end: BillEnd): void
  answered(seconds: number): void
}

/** Counters of a registry, and gauges of what waits, read at each scrape. */
export function billingMetrics(
  registry: Registry,
  backlog: () => Promise<Backlog>,
): BillingMetrics {
  const ended = new Counter({
    name: 'payweave_billing_payments_total',
    help: 'Bill payments that ended, by outcome.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  const answered = new Histogram({
    name: 'payweave_billing_biller_seconds',
    help: 'Time until the back end responded to a payment or the call failed.',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 50],
    registers: [registry],
  })
  addBacklog(registry, backlog)
  return {
    ended: ({ state }) => ended.inc({ outcome: state }),
    answered: (seconds) => answered.observe(seconds),
  }
}

function addBacklog(registry: Registry, backlog: () => Promise<Backlog>): void {
  const read = sharedRead(backlog)
  void new Gauge({
    name: 'payweave_billing_review_oldest_seconds',
    help: 'Age of the oldest bill payment that waits for an operator’s review.',
    registers: [registry],
    async collect() {
      this.set((await read()).oldestReviewS)
    },
  })
  void new Gauge({
    name: 'payweave_billing_waiting',
    help: 'Bill payments that wait: for a biller, for the ledger, for an operator’s review.',
    labelNames: ['for'] as const,
    registers: [registry],
    async collect() {
      const { open, unposted, review } = await read()
      this.set({ for: 'biller' }, open)
      this.set({ for: 'ledger' }, unposted)
      this.set({ for: 'person' }, review)
    },
  })
}
