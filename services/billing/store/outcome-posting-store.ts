// Statements on bill payments whose outcome is not yet posted to the ledger.
import { type Queryable, sql } from '#platform/db/db.ts'

/** An outcome to post. */
export type UnpostedOutcome = {
  billPaymentId: string
  projectId: string
  succeeded: boolean
  amountMinor: bigint
  currency: string
  transactionId: string
  attempts: number
}

const claimStatement = sql(
  'unposted_claim',
  `with due as (
     select bill_payment_id from bill_payment
     where settle_time <= clock_now() order by settle_time limit $1 for update skip locked
   )
   update bill_payment b set settle_attempts = least(b.settle_attempts + 1, 1000),
     settle_time = clock_now() + $2 * interval '1 millisecond'
   from due where b.bill_payment_id = due.bill_payment_id
   returning b.bill_payment_id as "billPaymentId", b.project_id as "projectId",
     b.state = 'succeeded' as succeeded, b.amount_minor as "amountMinor", b.currency,
     b.transaction_id as "transactionId", b.settle_attempts::integer as attempts`,
)

/** Claims outcomes for `leaseMs`. Locked rows are skipped. */
export function claimUnpostedOutcomes(
  db: Queryable,
  limit: number,
  leaseMs: number,
): Promise<UnpostedOutcome[]> {
  return db.rows(claimStatement, [limit, leaseMs])
}

const postedStatement = sql(
  'unposted_done',
  'update bill_payment set settle_time = null where bill_payment_id = any($1::uuid[])',
)

/** Records that the ledger has them. */
export async function markPosted(db: Queryable, billPaymentIds: string[]): Promise<void> {
  await db.run(postedStatement, [billPaymentIds])
}

const postponeStatement = sql(
  'unposted_postpone',
  `update bill_payment set settle_time = clock_now()
     + least(interval '60 s', interval '250 ms' * power(2, least(settle_attempts, 10)))
   where bill_payment_id = $1 and settle_time is not null`,
)

/** Postpones a posting after a failure: 0.5 s doubling to a minute, for ever. */
export async function postponePosting(db: Queryable, billPaymentId: string): Promise<void> {
  await db.run(postponeStatement, [billPaymentId])
}

const backlogStatement = sql(
  'bill_backlog',
  `select
     (select count(*) from bill_payment where next_time is not null)::integer as open,
     ((select count(*) from bill_payment where settle_time is not null)
       + (select count(*) from abandoned_hold))::integer as unposted,
     (select count(*) from bill_payment where state = 'review')::integer as review,
     (select coalesce(extract(epoch from business_now() - min(review_time)), 0) from bill_payment
       where state = 'review')::float8 as "oldestReviewS"`,
)

/** What waits: for a biller, for the ledger, for a person. */
export type Backlog = { open: number; unposted: number; review: number; oldestReviewS: number }

/** How much waits. */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const row = await db.row<Backlog>(backlogStatement, [])
  return row ?? { open: 0, unposted: 0, review: 0, oldestReviewS: 0 }
}
