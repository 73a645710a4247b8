// Metrics of the simulator, beside those of the platform.
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import { kindsOf, receivers } from './domain/report.ts'
import { countOpenReports } from './store/report-store.ts'

/** Shows how many reports have not been accepted yet, by receiver, read at each scrape. */
export function reportMetrics(registry: Registry, db: Database): void {
  void new Gauge({
    name: 'payweave_simulator_reports_waiting',
    help: 'Reports not yet accepted, by receiver.',
    labelNames: ['receiver'] as const,
    registers: [registry],
    async collect() {
      const open = new Map((await countOpenReports(db)).map((row) => [row.kind, row.open]))
      for (const receiver of receivers) {
        const counts = kindsOf[receiver].map((kind) => open.get(kind) ?? 0)
        this.set(
          { receiver },
          counts.reduce((sum, count) => sum + count, 0),
        )
      }
    },
  })
}
