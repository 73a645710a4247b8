// The simulator's own numbers; it must not count anything that the runtime counts.
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import { countOpenReports } from './report-store.ts'

/** Shows how many reports payments has not accepted yet, read at each scrape. */
export function reportMetrics(registry: Registry, db: Database): void {
  void new Gauge({
    name: 'payweave_simulator_reports_waiting',
    help: 'Reports that payments has not accepted yet.',
    registers: [registry],
    async collect() {
      this.set(await countOpenReports(db))
    },
  })
}
