// Reads what was executed: the log of bills and transfers, whose rows are written by the statements that move money, and the rows of charges, payouts and refunds.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'

/** The kinds of what moves money. */
export const executionKinds = ['bill', 'transfer', 'charge', 'payout', 'refund'] as const

export type ExecutionKind = (typeof executionKinds)[number]

/** Something that moved money. */
export type Execution = {
  kind: ExecutionKind
  /** The caller's id; of a charge each payment has one. */
  subjectId: string
  currency: string
  amountMinor: bigint
  executedAt: Date
}

const logged = sql(
  'list_executions',
  `select kind, subject_id as "subjectId", currency, amount_minor as "amountMinor",
     executed_at as "executedAt"
   from execution where kind = $1 and subject_id = any($2::uuid[]) order by executed_at, subject_id`,
)
const charges = sql(
  'list_charge_executions',
  `select $1 as kind, a.charge_id as "subjectId", c.currency, c.amount_minor as "amountMinor",
     a.made_at as "executedAt"
   from attempt a join charge c on c.charge_id = a.charge_id
   where a.charge_id = any($2::uuid[]) and a.outcome = 'paid' order by a.made_at, a.attempt_id`,
)
const credits = (table: 'payout' | 'refund') =>
  sql(
    `list_${table}_executions`,
    `select $1 as kind, ${table}_id as "subjectId", currency, amount_minor as "amountMinor",
       made_at as "executedAt"
     from ${table} where ${table}_id = any($2::uuid[]) order by made_at, ${table}_id`,
  )
const statements: Readonly<Record<ExecutionKind, Sql>> = {
  bill: logged,
  transfer: logged,
  charge: charges,
  payout: credits('payout'),
  refund: credits('refund'),
}

/** The executions of some ids, oldest first. */
export function listExecutions(
  db: Queryable,
  kind: ExecutionKind,
  subjectIds: string[],
): Promise<Execution[]> {
  return db.rows(statements[kind], [kind, subjectIds])
}
