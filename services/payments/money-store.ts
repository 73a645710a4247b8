// Notes how refunds end, and finds the payments whose time has come. It must not decide what happens to them.
import { newId } from '#core/id.ts'
import { type Queryable, sql } from '#runtime/db.ts'
import type { TransferOutcome } from './payout.ts'

const endRefundStatement = sql(
  'refund_end',
  `with known as (
     select refund_id, state from refund where refund_id = $1 for update
   ), ended as (
     update refund set state = $2::refund_state from known
     where refund.refund_id = known.refund_id and known.state = 'sent'
     returning refund.refund_id, refund.project_id, refund.payment_id, refund.payer_id,
       refund.amount_minor, refund.currency
   ), returned as (
     insert into settlement (settlement_id, project_id, payment_id, kind, payer_id, reverses_id,
       amount_minor, currency, create_time)
     select $3, project_id, payment_id, 'refund_returned', payer_id, refund_id, amount_minor,
       currency, clock_now()
     from ended where $2::refund_state = 'failed'
   )
   select case when known.state = 'sent' then 'ended' else 'repeated' end as outcome from known`,
)

/**
 * Ends a refund, with a settlement row when its money came back. Undefined when it is unknown,
 * `repeated` when it has ended before. Locks the refund for this one statement.
 */
export async function endRefund(
  db: Queryable,
  refundId: string,
  outcome: TransferOutcome,
): Promise<'ended' | 'repeated' | undefined> {
  const row = await db.row<{ outcome: 'ended' | 'repeated' }>(endRefundStatement, [
    refundId,
    outcome,
    newId(),
  ])
  return row?.outcome
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
