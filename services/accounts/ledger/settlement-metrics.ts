// Metrics of settlements on their way to the ledger.
import { Counter, type Registry } from 'prom-client'
import type { Database } from '#platform/db/db.ts'
import { databaseGauge } from '#platform/telemetry/metrics.ts'
import { backfillAgeS, countRefusals } from './store/backfill-store.ts'

/** Registers the metrics; the counter is incremented by the code that posts. */
export function settlementMetrics(options: { metrics: Registry; db: Database }): Counter<'by'> {
  const { metrics, db } = options
  const registers = [metrics]
  databaseGauge(
    'payweave_ledger_settlements_refused',
    'Settlements that the ledger lacks or has with other values; an operator must act.',
    { registers, read: () => countRefusals(db) },
  )
  databaseGauge(
    'payweave_ledger_settlements_compared_age_seconds',
    'Time since settlements and ledger were last compared to the end.',
    { registers, read: () => backfillAgeS(db) },
  )
  return new Counter({
    name: 'payweave_ledger_settlements_posted_total',
    help: 'Settlements posted to the ledger, by source: event, backfill or retry.',
    labelNames: ['by'] as const,
    registers,
  })
}
