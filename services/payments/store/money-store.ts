// Records how refunds end, and finds the payments that are due.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { TransferOutcome } from '../domain/payout.ts'
import type { Refund } from '../domain/transition.ts'

const findRefundStatement = sql(
  'refund_find',
  `select refund_id, project_id, payment_id, payer_id, amount_minor from refund
   where refund_id = $1`,
)

type RefundRow = DueRow & { refund_id: string; payer_id: string; amount_minor: bigint }

/** Finds a refund with its payment; undefined when it is unknown. Locks nothing. */
export async function findRefund(
  db: Queryable,
  refundId: string,
): Promise<(Refund & DuePayment) | undefined> {
  const row = await db.row<RefundRow>(findRefundStatement, [refundId])
  if (row === undefined) return undefined
  const { payer_id: payerId, amount_minor: amountMinor } = row
  return { refundId, payerId, amountMinor, ...duePayment(row) }
}

const endRefundStatement = sql(
  'refund_end',
  `update refund set state = $2::refund_state where refund_id = $1 and state = 'sent'`,
)

/** Ends a refund; false when it has ended before. Locks its row. */
export async function endRefund(
  db: Queryable,
  refundId: string,
  outcome: TransferOutcome,
): Promise<boolean> {
  return (await db.run(endRefundStatement, [refundId, outcome])) === 1
}

/** A payment that a worker has to look at. */
export type DuePayment = { projectId: string; paymentId: string }

type DueRow = { project_id: string; payment_id: string }

const dueToExpire = sql(
  'payment_due_to_expire',
  `select project_id, payment_id from payment
   where expiry_check_time <= clock_now() order by expiry_check_time limit $1`,
)

/** Open payments with a pending payer whose time ran out. Locks nothing. */
export async function findDueToExpire(db: Queryable, limit: number): Promise<DuePayment[]> {
  return (await db.rows<DueRow>(dueToExpire, [limit])).map(duePayment)
}

const dueToRelease = sql(
  'payment_due_to_release',
  `select distinct project_id, payment_id from (
     select project_id, payment_id from payee
     where payout_state = 'scheduled' and release_time <= clock_now()
     order by release_time limit $1
   ) due`,
)

/** Paid payments with a payee whose money leaves hold. Locks nothing. */
export async function findDueToRelease(db: Queryable, limit: number): Promise<DuePayment[]> {
  return (await db.rows<DueRow>(dueToRelease, [limit])).map(duePayment)
}

function duePayment(row: DueRow): DuePayment {
  return { projectId: row.project_id, paymentId: row.payment_id }
}
