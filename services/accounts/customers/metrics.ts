// Metrics of customers. No label comes from a request.
import { Counter, type Registry } from 'prom-client'
import { type Backlog, backlogMetrics } from '#platform/telemetry/metrics.ts'

/** What customers counts. */
export type CustomerMetrics = {
  sessionOpened(): void
  reviewEnded(state: 'completed' | 'rejected'): void
}

/** Counters of a registry, and gauges of the work that waits, read at each scrape. */
export function customerMetrics(
  registry: Registry,
  backlog: () => Promise<Backlog[]>,
): CustomerMetrics {
  const sessions = new Counter({
    name: 'payweave_accounts_sessions_opened_total',
    help: 'Sessions opened; repeats of a request id are not counted.',
    registers: [registry],
  })
  const reviews = new Counter({
    name: 'payweave_accounts_reviews_ended_total',
    help: 'Reviews of profiles that ended, by outcome.',
    labelNames: ['state'] as const,
    registers: [registry],
  })
  backlogMetrics(registry, 'accounts', backlog)
  return {
    sessionOpened: () => sessions.inc(),
    reviewEnded: (state) => reviews.inc({ state }),
  }
}
