// The numbers of customers for Prometheus. It must not take a label from a request.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { TaskBacklog } from './task-store.ts'

/** What customers counts. */
export type CustomerMetrics = {
  sessionOpened(): void
  reviewEnded(state: 'completed' | 'rejected'): void
}

/** Counters of a registry, and gauges of the work that waits, read at each scrape. */
export function customerMetrics(
  registry: Registry,
  backlog: () => Promise<TaskBacklog[]>,
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
  const oldest = new Gauge({
    name: 'payweave_accounts_task_oldest_seconds',
    help: 'Age of the oldest thing that the back end must still be told, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
  })
  void new Gauge({
    name: 'payweave_accounts_tasks_open',
    help: 'Things that the back end must still be told, by kind.',
    labelNames: ['kind'] as const,
    registers: [registry],
    async collect() {
      for (const { kind, open, oldestS } of await backlog()) {
        this.set({ kind }, open)
        oldest.set({ kind }, oldestS)
      }
    },
  })
  return {
    sessionOpened: () => sessions.inc(),
    reviewEnded: (state) => reviews.inc({ state }),
  }
}
