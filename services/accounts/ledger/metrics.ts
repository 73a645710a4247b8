// Metrics of the ledger. No label comes from a request.
import { Gauge, type Registry } from 'prom-client'

/** What the ledger shows. */
export type LedgerMetrics = {
  /** Findings of the last check for a rule. */
  found(rule: string, count: number): void
  /** What fx_rounding had in a currency at the last check. */
  rounded(currency: string, minor: number): void
  /** When the last check was made. */
  checked(time: Date): void
}

/** Gauges of the last check, and of the lines that wait to be rolled up, counted at each scrape. */
export function ledgerMetrics(
  registry: Registry,
  countPendingRollUp: () => Promise<number>,
): LedgerMetrics {
  const findings = new Gauge({
    name: 'payweave_ledger_findings',
    help: 'Violations of the ledger’s invariants at the last check, by rule. An operator must act on any value but zero.',
    labelNames: ['rule'] as const,
    registers: [registry],
  })
  const rounding = new Gauge({
    name: 'payweave_ledger_fx_rounding_minor_units',
    help: 'Balance of the account fx_rounding over all projects at the last check, by currency in its minor units. It must never decrease.',
    labelNames: ['currency'] as const,
    registers: [registry],
  })
  const checkTime = new Gauge({
    name: 'payweave_ledger_check_time_seconds',
    help: 'Unix time of the last whole check of the ledger.',
    registers: [registry],
  })
  void new Gauge({
    name: 'payweave_ledger_pending_rollup_lines',
    help: 'Lines of internal accounts that are not yet rolled up into a balance.',
    registers: [registry],
    async collect() {
      this.set(await countPendingRollUp())
    },
  })
  return {
    found: (rule, count) => findings.set({ rule }, count),
    rounded: (currency, minor) => rounding.set({ currency }, minor),
    checked: (time) => checkTime.set(time.getTime() / 1_000),
  }
}
