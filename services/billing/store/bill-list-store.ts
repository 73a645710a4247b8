// Lists the bill payments of a project. Locks nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Bill } from '../domain/bill.ts'
import { type BillRow, billColumns, billOf } from './bill-store.ts'

/** States of payments that a client knows: a claim may still be given up, and then there never was a payment. */
type ListedState = Exclude<Bill['state'], 'claimed'>

const inState = (state: ListedState) =>
  `(select ${billColumns} from bill_payment
    where project_id = $1 and state = '${state}' and ($2::uuid is null or bill_payment_id < $2)
    order by bill_payment_id desc limit $3)`

const listStatement = (name: string, ...states: ListedState[]): Sql =>
  sql(
    `bill_list_${name}`,
    `select * from (${states.map(inState).join(' union all ')}) bill
     order by bill_payment_id desc limit $3`,
  )

const listStatements = {
  all: listStatement('all', 'pending', 'review', 'succeeded', 'failed'),
  pending: listStatement('pending', 'pending', 'review'),
  succeeded: listStatement('succeeded', 'succeeded'),
  failed: listStatement('failed', 'failed'),
}

/** Which payments a list holds. */
export type BillList = keyof typeof listStatements

/** Payments of a project, newest first; `afterId`: behind this one. */
export async function listBills(
  db: Queryable,
  list: BillList,
  { projectId, afterId, limit }: { projectId: string; afterId: string | undefined; limit: number },
): Promise<Bill[]> {
  const rows = await db.rows<BillRow>(listStatements[list], [projectId, afterId ?? null, limit])
  return rows.map(billOf)
}
