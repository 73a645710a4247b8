// Reads the log of what was executed. Its rows are written by the statements that move money.
import { type Queryable, sql } from '#platform/db/db.ts'

export type ExecutionKind = 'bill' | 'transfer'

/** Something that moved money. */
export type Execution = {
  kind: ExecutionKind
  /** The caller's id. */
  subjectId: string
  currency: string
  amountMinor: bigint
  executedAt: Date
}

const listExecutionsStatement = sql(
  'list_executions',
  `select kind, subject_id as "subjectId", currency, amount_minor as "amountMinor",
     executed_at as "executedAt"
   from execution where kind = $1 and subject_id = any($2::uuid[]) order by executed_at, subject_id`,
)
/** The executions of some ids, oldest first. */
export function listExecutions(
  db: Queryable,
  kind: ExecutionKind,
  subjectIds: string[],
): Promise<Execution[]> {
  return db.rows(listExecutionsStatement, [kind, subjectIds])
}
