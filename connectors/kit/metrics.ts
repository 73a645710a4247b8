// Metrics of a connector, beside those of the platform.
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import { countWork } from './store/work-store.ts'

/** Shows waiting and dead work by kind, read at each scrape. Alert on dead work, and on waiting work that grows. */
export function workMetrics(registry: Registry, db: Database, kinds: readonly string[]): void {
  const gauge = (name: string, help: string, read: 'waiting' | 'dead') =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'] as const,
      registers: [registry],
      async collect() {
        const counted = new Map((await countWork(db)).map((row) => [row.kind, row[read]]))
        for (const kind of kinds) this.set({ kind }, counted.get(kind) ?? 0)
      },
    })
  gauge('payweave_connector_work_waiting', 'Work that is not done yet, by kind.', 'waiting')
  gauge('payweave_connector_work_dead', 'Work that was refused permanently, by kind.', 'dead')
}
