// The simulator's own numbers; it must not count anything that the runtime counts.
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import { kindsOf, receivers } from './report.ts'
import { countOpenReports } from './report-store.ts'

/** Shows how many reports have not been accepted yet, by receiver, read at each scrape. */
export function reportMetrics(registry: Registry, db: Database): void {
  void new Gauge({
    name: 'payweave_simulator_reports_waiting',
    help: 'Reports that their receiver has not accepted yet.',
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
