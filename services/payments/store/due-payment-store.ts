// Finds the payments that workers have to change: expired ones, and those with a payout to release.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { ReadKey } from './payment-store.ts'

type DueRow = { project_id: string; payment_id: string }

const dueToExpire = sql(
  'payment_due_to_expire',
  `select project_id, payment_id from payment
   where expiry_check_time <= business_now() order by expiry_check_time limit $1`,
)

/** Open payments with a pending payer whose time ran out. Locks nothing. */
export async function findDueToExpire(db: Queryable, limit: number): Promise<ReadKey[]> {
  return (await db.rows<DueRow>(dueToExpire, [limit])).map(duePayment)
}

const dueToRelease = sql(
  'payment_due_to_release',
  `select distinct project_id, payment_id from (
     select project_id, payment_id from payee
     where payout_state = 'scheduled' and release_time <= business_now()
     order by release_time limit $1
   ) due`,
)

/** Paid payments with a payout whose release time has passed. Locks nothing. */
export async function findDueToRelease(db: Queryable, limit: number): Promise<ReadKey[]> {
  return (await db.rows<DueRow>(dueToRelease, [limit])).map(duePayment)
}

function duePayment(row: DueRow): ReadKey {
  return { projectId: row.project_id, paymentId: row.payment_id }
}
