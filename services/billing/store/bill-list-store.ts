// Lists the bill payments of a project. Locks nothing.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import { idsOfTimes, type TimeWindow, windowValues } from '#platform/db/id-times.ts'
import type { Bill } from '../domain/bill.ts'
import { type BillRow, billColumns, billOf } from './bill-store.ts'

/** States of payments that a client knows: a claim may still be given up, and then there never was a payment. */
type ListedState = Exclude<Bill['state'], 'claimed'>

const inWindow = `create_time >= $4::timestamptz and create_time < $5::timestamptz
      and ${idsOfTimes('bill_payment_id', '$4::timestamptz', '$5::timestamptz')}`

const inState = (state: ListedState) =>
  `(select ${billColumns} from bill_payment
    where project_id = $1 and state = '${state}' and ($2::uuid is null or bill_payment_id < $2)
      and ${inWindow}
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

/** A page of a list, behind the payment `afterId`. */
type Page = TimeWindow & { projectId: string; afterId: string | undefined; limit: number }

/** Payments of a project, newest first. */
export async function listBills(db: Queryable, list: BillList, page: Page): Promise<Bill[]> {
  const { projectId, afterId, limit } = page
  const values = [projectId, afterId ?? null, limit, ...windowValues(page)]
  const rows = await db.rows<BillRow>(listStatements[list], values)
  return rows.map(billOf)
}
