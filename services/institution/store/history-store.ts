// Lists a project's transactions.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Transaction } from '../domain/transaction.ts'
import { columnNames, columns, readRow, type TransactionRow } from './transaction-row.ts'

const institutionsStatement = sql(
  'transaction_institutions',
  `select distinct institution_name from transaction
   where project_id = $1 and create_time is not null
     and (debit_mobile_number = $2 or credit_mobile_number = $2)`,
)

/** Names of the institutions at which a project has transactions with a number. Locks nothing. */
export async function institutionsOf(
  db: Queryable,
  projectId: string,
  mobileNumber: string,
): Promise<string[]> {
  const rows = await db.rows<{ institution_name: string }>(institutionsStatement, [
    projectId,
    mobileNumber,
  ])
  return rows.map((row) => row.institution_name)
}

/** The place of a transaction in the list; the next page begins after it. */
export type Place = { createTime: Date; movementId: string }

/** What to list: from `startUs`, before `endUs`, in microseconds since 1970. Without an end there is no upper bound. */
export type Window = {
  projectId: string
  mobileNumber: string
  institutionNames: string[]
  startUs: bigint
  endUs: bigint | undefined
  after: Place | undefined
  limit: number
}

const instant = (value: string): string =>
  `timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`

const side = (condition: string) =>
  `(select ${columns} from transaction
    where project_id = $1 and ${condition} and create_time >= ${instant('$4')}
      and create_time < coalesce(${instant('$5')}, 'infinity')
      and institution_name = any($3::text[])
      and ($6::timestamptz is null or (create_time, movement_id) < ($6, $7::uuid))
    order by create_time desc, movement_id desc limit $8)`

const listStatement = sql(
  'transaction_list',
  `select ${columnNames} from (
     ${side('debit_mobile_number = $2')}
     union all ${side('credit_mobile_number = $2 and debit_mobile_number <> $2')}
   ) as listed
   order by create_time desc, movement_id desc limit $8`,
)

/** Transactions with the number on either side, newest first. Locks nothing. */
export async function listTransactions(db: Queryable, window: Window): Promise<Transaction[]> {
  const { projectId, mobileNumber, institutionNames, startUs, endUs, after, limit } = window
  const rows = await db.rows<TransactionRow>(listStatement, [
    projectId,
    mobileNumber,
    institutionNames,
    startUs,
    endUs ?? null,
    after?.createTime ?? null,
    after?.movementId ?? null,
    limit,
  ])
  return rows.map(readRow)
}

const nowStatement = sql('transaction_now', 'select business_now() as now')

/** The time of the database clock. */
export async function readClock(db: Queryable): Promise<Date> {
  const row = await db.row<{ now: Date }>(nowStatement, [])
  if (row === undefined) throw new Error('the database has no clock')
  return row.now
}
