// Statements on refunds at Stripe.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { RefundProgress } from '../domain/refund.ts'

const age = (column: string) => `(extract(epoch from clock_now() - ${column}) * 1000)::float8`
const columns = `refund_id as "refundId", round, ${age('sent_at')} as "sentAgeMs",
     ${age('key_at')} as "keyAgeMs", key_spent as "isKeySpent", refusal`
const findRefundStatement = sql(
  'find_refund',
  `with made as (
     insert into refund (reference) values ($1) on conflict (reference) do nothing returning *
   )
   select ${columns} from made union all select ${columns} from refund where reference = $1`,
)
/** Finds what is stored of a refund, which is made when it is first looked for. */
export async function findRefund(
  db: Queryable,
  reference: string,
): Promise<RefundProgress & { round: number }> {
  const row = await db.row<RefundProgress & { round: number }>(findRefundStatement, [reference])
  // Another worker is storing it: this work is tried again.
  if (row === undefined) throw new Error('the refund is being stored')
  return row
}

const recordRefundSentStatement = sql(
  'record_refund_sent',
  `update refund set sent_at = clock_now(), key_at = coalesce(key_at, clock_now())
   where reference = $1`,
)
/** Records that the refund is about to be sent: from now on Stripe may have it. */
export async function recordRefundSent(db: Queryable, reference: string): Promise<void> {
  await db.run(recordRefundSentStatement, [reference])
}

const recordRefundStatement = sql(
  'record_refund',
  `update refund set refund_id = coalesce(refund_id, $2) where reference = $1`,
)
/** Records Stripe's id; the first one counts. */
export async function recordRefund(
  db: Queryable,
  reference: string,
  refundId: string,
): Promise<void> {
  await db.run(recordRefundStatement, [reference, refundId])
}

const recordKeySpentStatement = sql(
  'record_key_spent',
  `update refund set key_spent = true where reference = $1`,
)
/** Records that Stripe has answered this idempotency key with a failure. */
export async function recordKeySpent(db: Queryable, reference: string): Promise<void> {
  await db.run(recordKeySpentStatement, [reference])
}

const recordRefundRefusalStatement = sql(
  'record_refund_refusal',
  `update refund set refusal = $2 where reference = $1`,
)
/** Records the code with which Stripe has refused a refund, after a call that had no answer. */
export async function recordRefundRefusal(
  db: Queryable,
  reference: string,
  code: string,
): Promise<void> {
  await db.run(recordRefundRefusalStatement, [reference, code])
}

const recordRefundUnfundedStatement = sql(
  'record_refund_unfunded',
  `update refund set refund_id = null, key_spent = true where reference = $1`,
)
/** Records that the refund of this idempotency key has failed for lack of money: another one is made, with another key. */
export async function recordRefundUnfunded(db: Queryable, reference: string): Promise<void> {
  await db.run(recordRefundUnfundedStatement, [reference])
}

const renewRefundKeyStatement = sql(
  'renew_refund_key',
  `update refund set round = round + 1, key_at = null, sent_at = null, key_spent = false
   where reference = $1`,
)
/** Has the refund sent with another idempotency key. */
export async function renewRefundKey(db: Queryable, reference: string): Promise<void> {
  await db.run(renewRefundKeyStatement, [reference])
}
