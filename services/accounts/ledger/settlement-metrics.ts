// Metrics of settlements on their way to the ledger.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { backfillAgeS, countRefusals } from './store/backfill-store.ts'

/** Registers the metrics; the counter is incremented by the code that posts. */
export function settlementMetrics(options: {
  metrics: Registry
  db: Database
  log: Logger
}): Counter<'by'> {
  const { metrics, db, log } = options
  const registers = [metrics]
  const gauge = (name: string, help: string, read: () => Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        try {
          this.set(await read())
        } catch (error) {
          // When the database is down, the other metrics are still exported.
          log.warn({ err: error }, 'metric not read')
        }
      },
    })
  gauge(
    'payweave_ledger_settlements_refused',
    'Settlements that the ledger lacks or has with other values; an operator must act.',
    () => countRefusals(db),
  )
  gauge(
    'payweave_ledger_settlements_compared_age_seconds',
    'Time since settlements and ledger were last compared to the end.',
    () => backfillAgeS(db),
  )
  return new Counter({
    name: 'payweave_ledger_settlements_posted_total',
    help: 'Settlements posted to the ledger, by source: event or backfill.',
    labelNames: ['by'] as const,
    registers,
  })
}
