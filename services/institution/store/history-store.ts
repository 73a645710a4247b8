// Lists a project's transactions.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Transaction } from '../domain/transaction.ts'
import { columnNames, columns, readRow, type TransactionRow } from './transaction-row.ts'

/** The cursor of the list: the next page begins after this transaction. */
export type HistoryCursor = { createTime: Date; movementId: string }

/** Which transactions of a number: from `startUs`, before `endUs`, in microseconds since 1970. Without an end there is no upper bound. */
export type NumberWindow = {
  projectId: string
  mobileNumber: string
  startUs: bigint
  endUs: bigint | undefined
}

/** What to list. */
export type Window = NumberWindow & {
  institutionNames: string[]
  after: HistoryCursor | undefined
  limit: number
}

const instant = (value: string): string =>
  `timestamptz 'epoch' + ${value}::bigint * interval '1 microsecond'`

const side = (condition: string) =>
  `project_id = $1 and ${condition} and create_time >= ${instant('$3')}
      and create_time < coalesce(${instant('$4')}, 'infinity')`

const debited = side('debit_mobile_number = $2')
const credited = side('credit_mobile_number = $2 and debit_mobile_number <> $2')

const institutionsStatement = sql(
  'transaction_institutions',
  `select institution_name from transaction where ${debited}
   union select institution_name from transaction where ${credited}`,
)

/** Names of the institutions at which a project has transactions with a number in a window. Locks nothing. */
export async function institutionsOf(db: Queryable, window: NumberWindow): Promise<string[]> {
  const { projectId, mobileNumber, startUs, endUs } = window
  const rows = await db.rows<{ institution_name: string }>(institutionsStatement, [
    projectId,
    mobileNumber,
    startUs,
    endUs ?? null,
  ])
  return rows.map((row) => row.institution_name)
}

const page = (condition: string) =>
  `(select ${columns} from transaction
    where ${condition}
      and institution_name = any($5::text[])
      and ($6::timestamptz is null or (create_time, movement_id) < ($6, $7::uuid))
    order by create_time desc, movement_id desc limit $8)`

const listStatement = sql(
  'transaction_list',
  `select ${columnNames} from (
     ${page(debited)}
     union all ${page(credited)}
   ) as listed
   order by create_time desc, movement_id desc limit $8`,
)

/** Transactions with the number on either side, newest first. Locks nothing. */
export async function listTransactions(db: Queryable, window: Window): Promise<Transaction[]> {
  const { projectId, mobileNumber, institutionNames, startUs, endUs, after, limit } = window
  const rows = await db.rows<TransactionRow>(listStatement, [
    projectId,
    mobileNumber,
    startUs,
    endUs ?? null,
    institutionNames,
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
