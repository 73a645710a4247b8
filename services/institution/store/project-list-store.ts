// Lists the transactions of a project at all institutions, and those of all projects that wait. Locks nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { idsOfTimes, type TimeWindow, windowValues } from '#platform/db/id-times.ts'
import type { ShownState, Transaction } from '../domain/transaction.ts'
import { columnNames, columns, readRow, type TransactionRow } from './transaction-row.ts'

const inWindow = `create_time >= $4::timestamptz and create_time < $5::timestamptz
      and ${idsOfTimes('movement_id', '$4::timestamptz', '$5::timestamptz')}`

const inState = (state: ShownState) =>
  `(select ${columns} from transaction
    where project_id = $1 and state = '${state}' and create_time is not null
      and ($2::uuid is null or movement_id < $2) and ${inWindow}
    order by movement_id desc limit $3)`

const listStatement = (name: string, ...states: ShownState[]): Sql =>
  sql(
    `transaction_list_${name}`,
    `select ${columnNames} from (${states.map(inState).join(' union all ')}) as listed
     order by movement_id desc limit $3`,
  )

const listStatements = {
  all: listStatement('all', 'pending', 'completed', 'failed', 'cancelled'),
  pending: listStatement('pending', 'pending'),
  completed: listStatement('completed', 'completed'),
  failed: listStatement('failed', 'failed'),
  cancelled: listStatement('cancelled', 'cancelled'),
}

/** Which transactions a list holds. */
export type TransactionList = keyof typeof listStatements

/** A page of a list, behind the transaction `afterId`. */
type Page = TimeWindow & { projectId: string; afterId: string | undefined; limit: number }

/** Transactions of a project, newest first. */
export async function listOfProject(
  db: Queryable,
  list: TransactionList,
  page: Page,
): Promise<Transaction[]> {
  const { projectId, afterId, limit } = page
  const values = [projectId, afterId ?? null, limit, ...windowValues(page)]
  const rows = await db.rows<TransactionRow>(listStatements[list], values)
  return rows.map(readRow)
}

const waitingStatement = sql(
  'transaction_list_waiting',
  `select ${columns} from transaction
   where state = 'pending' and (create_time, movement_id) > ($1, $2)
     and create_time <= business_now() - $3::integer * interval '1 second'
   order by create_time, movement_id limit $4`,
)

/** The cursor of the list by age. */
export type WaitingCursor = { createTime: Date; movementId: string }

const firstCursor = { createTime: new Date(0), movementId: '00000000-0000-0000-0000-000000000000' }

/** Transactions of all projects that have been pending for `minAgeS` seconds, oldest first; `after`: behind this one. */
export async function listWaiting(
  db: Queryable,
  minAgeS: number,
  after: WaitingCursor | undefined,
  limit: number,
): Promise<Transaction[]> {
  const { createTime, movementId } = after ?? firstCursor
  const rows = await db.rows<TransactionRow>(waitingStatement, [
    createTime,
    movementId,
    minAgeS,
    limit,
  ])
  return rows.map(readRow)
}
