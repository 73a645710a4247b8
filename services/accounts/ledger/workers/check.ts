// Checks the whole ledger against its rules without locks. Reports only; repairs nothing.
import type { Queryable } from '#platform/db/db.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { LedgerMetrics } from '../metrics.ts'
import {
  findBroken,
  maxFindings,
  type Rule,
  readExtent,
  readRounding,
  ruleChecks,
  rules,
} from '../store/check-store.ts'

/** What breaks a rule. */
export type Finding = { rule: Rule; description: string }

/** What a check found, and how many transfers it read. */
export type CheckResult = { findings: Finding[]; transfersChecked: bigint; checkTime: Date }

/** Pause between the periodic checks. */
const checkEveryMs = 300_000

/**
 * Checks the rules L1 to L6 (README of the ledger), with at most 100 findings for each. Calls `onProgress` after each statement with
 * the number of statements that have run, and of all.
 */
export async function checkLedger(
  db: Queryable,
  onProgress?: (done: number, all: number) => void,
): Promise<CheckResult> {
  const { transfers, checkTime } = await readExtent(db)
  const findings: Finding[] = []
  for (const [index, check] of ruleChecks.entries()) {
    const known = findings.filter(({ rule }) => rule === check.rule).length
    const broken = await findBroken(db, check)
    const listed = broken.slice(0, maxFindings - known)
    findings.push(...listed.map((description) => ({ rule: check.rule, description })))
    onProgress?.(index + 1, ruleChecks.length)
  }
  return { findings, transfersChecked: transfers, checkTime }
}

/** The job that checks the ledger. */
export type Checks = Loop & {
  /** What the last check found; undefined before the first has ended. */
  last(): CheckResult | undefined
}

/** Starts the job that checks the ledger now and every five minutes, and shows and logs what it finds. */
export function startChecks(db: Queryable, log: Logger, metrics: LedgerMetrics): Checks {
  let last: CheckResult | undefined
  const loop = startLoop({
    kind: 'ledger check',
    log,
    pauseMs: checkEveryMs,
    async round() {
      const checked = await checkLedger(db)
      const { findings, checkTime } = checked
      for (const rule of rules) {
        const count = findings.filter((finding) => finding.rule === rule).length
        metrics.found(rule, count)
        if (count > 0) log.error({ kind: rule, count }, 'ledger rule violated')
      }
      for (const { currency, minor } of await readRounding(db)) metrics.rounded(currency, minor)
      metrics.checked(checkTime)
      last = checked
      return false
    },
  })
  return { ...loop, last: () => last }
}
