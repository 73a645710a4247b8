// Checks the whole ledger against its rules without locking it. Reports only; repairs nothing.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { LedgerMetrics } from '../metrics.ts'
import {
  type CheckRecord,
  lockCheck,
  readDueChecks,
  recordEnded,
  recordFailed,
  unlockCheck,
} from '../store/check-result-store.ts'
import {
  findBroken,
  maxFindings,
  type Rule,
  type RuleCheck,
  readExtent,
  readRounding,
  ruleChecks,
  rules,
} from '../store/check-store.ts'

/** What breaks a rule. */
export type Finding = { rule: Rule; description: string }

/** What a check found, and how many transfers it read. */
export type CheckResult = { findings: Finding[]; transfersChecked: bigint; checkTime: Date }

/** A check of which statements may have failed. */
export type PartialResult = Omit<CheckResult, 'checkTime'> & {
  /** Rules of which a statement failed. */
  uncheckedRules: Rule[]
  /** Undefined: not everything was checked yet. */
  checkTime: Date | undefined
}

/** What statements found about a rule. */
type Found = { rule: Rule; findings: string[] }

/** Pause between the periodic checks. */
const checkEveryMs = 300_000
/** By how much the clocks of a process and of the database may differ over a pause. */
const clockSlackMs = 10_000

/**
 * Checks the rules L1 to L6 (README of the ledger), with at most 100 findings for each. Calls `onProgress` after each statement with
 * the number of statements that have run, and of all. Rejects as a Queryable does when one fails.
 */
export async function checkLedger(
  db: Queryable,
  onProgress?: (done: number, all: number) => void,
): Promise<CheckResult> {
  const { transfers, checkTime } = await readExtent(db)
  const found: Found[] = []
  for (const [index, check] of ruleChecks.entries()) {
    found.push({ rule: check.rule, findings: await findBroken(db, check) })
    onProgress?.(index + 1, ruleChecks.length)
  }
  return { findings: findingsOf(found), transfersChecked: transfers, checkTime }
}

/**
 * Checks as `checkLedger` does, for `withinMs` milliseconds at most: rules of which a statement does not end in time are unchecked, and
 * what the others found is returned. Rejects as a Queryable does for all other errors.
 */
export async function checkLedgerWithin(db: Queryable, withinMs: number): Promise<PartialResult> {
  const untilMs = performance.now() + withinMs
  const late = delay(Math.max(0, withinMs), undefined, { ref: false })
  const inTime = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    if (performance.now() >= untilMs) return undefined
    try {
      return await Promise.race([read(), late])
    } catch (error) {
      if (error instanceof Failure && error.reason === 'TIMEOUT') return undefined
      throw error
    }
  }
  const extent = await inTime(() => readExtent(db))
  const found: Found[] = []
  const unchecked = new Set<Rule>()
  for (const check of ruleChecks) {
    const findings = await inTime(() => findBroken(db, check))
    if (findings === undefined) unchecked.add(check.rule)
    else found.push({ rule: check.rule, findings })
  }
  return {
    findings: findingsOf(found),
    uncheckedRules: [...unchecked],
    transfersChecked: extent?.transfers ?? 0n,
    checkTime: extent?.checkTime,
  }
}

/** What the records of the periodic check say together. Its time is that of the rule that was checked longest ago. */
export function resultOf(records: readonly CheckRecord[]): PartialResult {
  const ended = records.filter(({ checkTime }) => checkTime !== null)
  const oldest = ended.toSorted((a, b) => Number(a.checkTime) - Number(b.checkTime))[0]
  const isWhole = ended.length === ruleChecks.length
  return {
    findings: findingsOf(records),
    uncheckedRules: rules.filter((rule) =>
      records.some((record) => record.rule === rule && record.hasFailed),
    ),
    transfersChecked: oldest?.transfers ?? 0n,
    checkTime: (isWhole && oldest?.checkTime) || undefined,
  }
}

function findingsOf(found: readonly Found[]): Finding[] {
  return rules.flatMap((rule) =>
    found
      .filter((one) => one.rule === rule)
      .flatMap(({ findings }) => findings)
      .slice(0, maxFindings)
      .map((description) => ({ rule, description })),
  )
}

/** The database to record in, the same with the time limits of a check, and where to report. */
export type ChecksOptions = {
  db: Database
  checkDb: Database
  log: Logger
  metrics: LedgerMetrics
}

/**
 * Starts the job that checks the ledger every five minutes, in one replica at a time. It records and logs what each statement finds as
 * soon as that ends, so that one that fails hides no other, and begins with what was tried longest ago. Every replica shows the
 * rounding.
 */
export function startChecks({ db, checkDb, log, metrics }: ChecksOptions): Loop {
  let isClosing = false

  async function checkAll(due: readonly RuleCheck[]): Promise<void> {
    const beganMs = performance.now()
    let failed = 0
    const transfers = await readTransfers()
    for (const check of due) {
      if (isClosing) return
      const statementMs = performance.now()
      try {
        const findings = await findBroken(checkDb, check)
        const tookMs = performance.now() - statementMs
        await recordEnded(db, check, { findings, transfers, tookMs })
        const count = findings.length
        if (count > 0) log.error({ kind: check.rule, count }, 'ledger rule violated')
      } catch (error) {
        failed += 1
        log.error({ err: error, kind: check.rule }, 'ledger rule not checked')
        await recordFailed(db, check)
      }
    }
    log.info({ durationMs: Math.round(performance.now() - beganMs), failed }, 'ledger checked')
  }

  /** The number of transfers; 0 if they cannot be counted, which must not keep the rules from being checked. */
  async function readTransfers(): Promise<bigint> {
    try {
      return (await readExtent(checkDb)).transfers
    } catch (error) {
      log.warn({ err: error }, 'transfers not counted')
      return 0n
    }
  }

  const loop = startLoop({
    kind: 'ledger check',
    log,
    pauseMs: checkEveryMs,
    async round() {
      for (const { currency, minor } of await readRounding(checkDb)) {
        metrics.rounded(currency, minor)
      }
      const session = await checkDb.session()
      try {
        if (!(await lockCheck(session))) return false
        const due = await readDueChecks(db, checkEveryMs - clockSlackMs)
        if (due.length > 0) await checkAll(due)
        await unlockCheck(session)
      } finally {
        session.close()
      }
      return false
    },
  })
  return {
    ...loop,
    close() {
      isClosing = true
      return loop.close()
    },
  }
}
