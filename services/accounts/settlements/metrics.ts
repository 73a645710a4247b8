// What operators see of settlements on their way to the ledger. It must not decide anything.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import { backfillAgeS, countRefusals } from './backfill-store.ts'

/** Registers the metrics; the counter is for whoever posts. */
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
          // A database that is down must not take the other metrics with it.
          log.warn({ err: error }, 'metric not read')
        }
      },
    })
  gauge(
    'payweave_ledger_settlements_refused',
    'Settlements that the ledger lacks or has otherwise, and that wait for people.',
    () => countRefusals(db),
  )
  gauge(
    'payweave_ledger_settlements_compared_age_seconds',
    'Time since settlements and ledger were last compared to the end.',
    () => backfillAgeS(db),
  )
  return new Counter({
    name: 'payweave_ledger_settlements_posted_total',
    help: 'Settlements posted to the ledger, by what brought them: event or backfill.',
    labelNames: ['by'] as const,
    registers,
  })
}
