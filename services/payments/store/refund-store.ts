// Finds refunds and records how they end.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { TransferOutcome } from '../domain/payout.ts'
import type { Refund } from '../domain/transition.ts'
import type { ReadKey } from './payment-store.ts'

const findRefundStatement = sql(
  'refund_find',
  `select refund_id, project_id, payment_id, payer_id, amount_minor from refund
   where refund_id = $1`,
)

type RefundRow = {
  refund_id: string
  project_id: string
  payment_id: string
  payer_id: string
  amount_minor: bigint
}

/** Finds a refund with its payment; undefined when it is unknown. Locks nothing. */
export async function findRefund(
  db: Queryable,
  refundId: string,
): Promise<(Refund & ReadKey) | undefined> {
  const row = await db.row<RefundRow>(findRefundStatement, [refundId])
  if (row === undefined) return undefined
  const { project_id: projectId, payment_id: paymentId } = row
  const { payer_id: payerId, amount_minor: amountMinor } = row
  return { refundId, projectId, paymentId, payerId, amountMinor }
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
