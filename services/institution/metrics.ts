// Metrics of the institution service. The only label from requests is the ISO 4217 code.
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Reason } from '#core/errors/errors.ts'
import { sharedRead } from '#platform/telemetry/metrics.ts'
import type { TransactionEvent, TransactionType } from './domain/transaction.ts'

/** What the service counts. */
export type TransactionMetrics = {
  accepted(type: TransactionType): void
  /** What the credit side of a transaction gets in another currency than the debit side pays in. */
  exchanged(currency: string, minor: bigint): void
  refused(reason: Reason): void
  ended(event: TransactionEvent): void
  stuck(): void
}

/** Counters of a registry, and gauges of the work that waits, read at each scrape. */
export function transactionMetrics(
  registry: Registry,
  backlog: () => Promise<{ state: string; open: number; oldestS: number }[]>,
): TransactionMetrics {
  const accepted = new Counter({
    name: 'payweave_institution_transactions_accepted_total',
    help: 'Transactions accepted, by type.',
    labelNames: ['type'] as const,
    registers: [registry],
  })
  const exchanged = new Counter({
    name: 'payweave_institution_exchanged_minor_units_total',
    help: 'Amount that accepted transactions exchanged into a currency, in its minor units. The alert on rounding compares with it.',
    labelNames: ['currency'] as const,
    registers: [registry],
  })
  const refused = new Counter({
    name: 'payweave_institution_transactions_refused_total',
    help: 'Requests for transactions that were rejected, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  })
  const ended = new Counter({
    name: 'payweave_institution_transfers_ended_total',
    help: 'Pending transactions that ended, by transition.',
    labelNames: ['transition'] as const,
    registers: [registry],
  })
  const stuck = new Counter({
    name: 'payweave_institution_transfers_stuck_total',
    help: 'Attempts to end a transfer that the ledger rejected permanently: an operator must act.',
    registers: [registry],
  })
  addBacklog(registry, backlog)
  return {
    accepted: (type) => accepted.inc({ type }),
    exchanged: (currency, minor) => exchanged.inc({ currency }, Number(minor)),
    refused: (reason) => refused.inc({ reason }),
    ended: (transition) => ended.inc({ transition }),
    stuck: () => stuck.inc(),
  }
}

function addBacklog(
  registry: Registry,
  backlog: () => Promise<{ state: string; open: number; oldestS: number }[]>,
): void {
  const read = sharedRead(backlog)
  void new Gauge({
    name: 'payweave_institution_open_oldest_seconds',
    help: 'Age of the oldest claim and of the oldest pending transfer.',
    labelNames: ['state'] as const,
    registers: [registry],
    async collect() {
      for (const { state, oldestS } of await read()) this.set({ state }, oldestS)
    },
  })
  void new Gauge({
    name: 'payweave_institution_open',
    help: 'Claims in progress and transfers that wait for their outcome.',
    labelNames: ['state'] as const,
    registers: [registry],
    async collect() {
      for (const { state, open } of await read()) this.set({ state }, open)
    },
  })
}
