// What the periodic check of the ledger found last, and the lock by which one replica checks at a time.
import { type Queryable, sql } from '#platform/db/db.ts'
import { type Rule, type RuleCheck, ruleChecks } from './check-store.ts'

/** What a statement of the check came to, the last time. */
export type CheckRecord = {
  name: string
  rule: Rule
  /** Of the last time that the statement ended. */
  findings: string[]
  /** Number of transfers when it began then. */
  transfers: bigint
  /** When it began then; null: it has never ended. */
  checkTime: Date | null
  /** Whether it failed since. */
  hasFailed: boolean
}

const names = ruleChecks.map(({ statement }) => statement.name)

const lockStatement = sql(
  'lock_ledger_check',
  `select pg_try_advisory_lock(hashtextextended('payweave.accounts.ledger_check', 0)) as "isHeld"`,
)

/** Whether the session got the lock of the check, which it then holds until `unlockCheck` or its end. */
export async function lockCheck(session: Queryable): Promise<boolean> {
  return (await session.row<{ isHeld: boolean }>(lockStatement, []))?.isHeld === true
}

const unlockStatement = sql(
  'unlock_ledger_check',
  `select pg_advisory_unlock(hashtextextended('payweave.accounts.ledger_check', 0))`,
)

/** Releases the lock of the check. */
export async function unlockCheck(session: Queryable): Promise<void> {
  await session.run(unlockStatement, [])
}

const dueStatement = sql(
  'ledger_check_due',
  `select own.name
   from unnest($1::text[]) with ordinality own (name, position) left join ledger_check c using (name)
   where not exists (select from ledger_check where name = any($1)
     and try_time >= clock_now() - $2 * interval '1 millisecond')
   order by c.try_time nulls first, own.position`,
)

/**
 * All statements of the check, unless one has ended or failed in the last `pauseMs` milliseconds: those that never have first, then
 * the longest ago. So a check that stops halfway keeps no statement from its turn.
 */
export async function readDueChecks(db: Queryable, pauseMs: number): Promise<RuleCheck[]> {
  const due = await db.rows<{ name: string }>(dueStatement, [names, pauseMs])
  return due.flatMap(({ name }) => ruleChecks.filter(({ statement }) => statement.name === name))
}

const endedStatement = sql(
  'ledger_check_ended',
  `insert into ledger_check as c (name, rule, findings, transfers, check_time)
   values ($1, $2, $3, $4, clock_now() - $5 * interval '1 millisecond')
   on conflict (name) do update set rule = excluded.rule, findings = excluded.findings,
     transfers = excluded.transfers, check_time = excluded.check_time, try_time = clock_now(),
     has_failed = false`,
)

/** Stores what a statement found, which began `tookMs` milliseconds ago. */
export async function recordEnded(
  db: Queryable,
  { rule, statement }: RuleCheck,
  ended: { findings: string[]; transfers: bigint; tookMs: number },
): Promise<void> {
  const { findings, transfers, tookMs } = ended
  await db.run(endedStatement, [statement.name, rule, findings, transfers, Math.round(tookMs)])
}

const failedStatement = sql(
  'ledger_check_failed',
  `insert into ledger_check (name, rule, has_failed) values ($1, $2, true)
   on conflict (name) do update set try_time = clock_now(), has_failed = true`,
)

/** Stores that a statement failed; what it found before is kept. */
export async function recordFailed(db: Queryable, { rule, statement }: RuleCheck): Promise<void> {
  await db.run(failedStatement, [statement.name, rule])
}

const recordsStatement = sql(
  'ledger_check_records',
  `select name, rule, findings, transfers, check_time as "checkTime", has_failed as "hasFailed"
   from ledger_check where name = any($1) order by rule, name`,
)

/** The last record of each statement that has ended or failed, by rule. */
export function readCheckRecords(db: Queryable): Promise<CheckRecord[]> {
  return db.rows(recordsStatement, [names])
}
