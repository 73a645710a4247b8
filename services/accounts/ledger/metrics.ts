// Metrics of the ledger. No label comes from a request.
import { Gauge, type Registry } from 'prom-client'
import { databaseGauge, sharedRead } from '#platform/telemetry/metrics.ts'
import type { CheckRecord } from './store/check-result-store.ts'
import { maxFindings, ruleChecks, rules } from './store/check-store.ts'

/** What the ledger shows. */
export type LedgerMetrics = {
  /** What fx_rounding has in a currency. */
  rounded(currency: string, minor: number): void
}

/** What is read at each scrape. */
export type LedgerReads = {
  countPendingRollUp: () => Promise<number>
  readCheckRecords: () => Promise<CheckRecord[]>
}

/** Gauges of what the last check found in any replica, and of the lines that wait to be rolled up. */
export function ledgerMetrics(registry: Registry, reads: LedgerReads): LedgerMetrics {
  const registers = [registry]
  const rounding = new Gauge({
    name: 'payweave_ledger_fx_rounding_minor_units',
    help: 'Balance of the account fx_rounding over all projects, read every five minutes, by currency in its minor units. It must never decrease.',
    labelNames: ['currency'] as const,
    registers,
  })
  databaseGauge(
    'payweave_ledger_pending_rollup_lines',
    'Lines of internal accounts that are not yet rolled up into a balance.',
    { registers, read: reads.countPendingRollUp },
  )
  checkMetrics(registry, reads.readCheckRecords)
  return { rounded: (currency, minor) => rounding.set({ currency }, minor) }
}

function checkMetrics(registry: Registry, readCheckRecords: LedgerReads['readCheckRecords']): void {
  const read = sharedRead(readCheckRecords)
  const byRule = async () => {
    const all = await read()
    return rules.map((rule) => ({ rule, records: all.filter((record) => record.rule === rule) }))
  }
  void new Gauge({
    name: 'payweave_ledger_findings',
    help: 'Violations of the ledger’s invariants at the last check, by rule. Alert on any value above zero.',
    labelNames: ['rule'] as const,
    registers: [registry],
    async collect() {
      for (const { rule, records } of await byRule()) {
        if (records.length === 0) continue
        const count = records.reduce((sum, { findings }) => sum + findings.length, 0)
        this.set({ rule }, Math.min(count, maxFindings))
      }
    },
  })
  void new Gauge({
    name: 'payweave_ledger_check_time_seconds',
    help: 'Unix time of the last check of a rule that ended whole; 0 while there was none.',
    labelNames: ['rule'] as const,
    registers: [registry],
    async collect() {
      for (const { rule, records } of await byRule()) {
        const isWhole = records.length === ruleChecks.filter((one) => one.rule === rule).length
        const timesMs = records.map(({ checkTime }) => checkTime?.getTime() ?? 0)
        this.set({ rule }, isWhole ? Math.min(...timesMs) / 1_000 : 0)
      }
    },
  })
}
