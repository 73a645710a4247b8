// Statements on bill payments whose outcome is not yet posted to the ledger.
import { type Queryable, sql } from '#platform/db/db.ts'

/** An outcome to post. */
export type Unsettled = {
  billPaymentId: string
  projectId: string
  succeeded: boolean
  amountMinor: bigint
  currency: string
  transactionId: string
  attempts: number
}

const takeStatement = sql(
  'settle_take',
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
export function takeUnsettled(db: Queryable, limit: number, leaseMs: number): Promise<Unsettled[]> {
  return db.rows(takeStatement, [limit, leaseMs])
}

const settledStatement = sql(
  'settle_done',
  'update bill_payment set settle_time = null where bill_payment_id = any($1::uuid[])',
)

/** Notes that the ledger knows of them. */
export async function markSettled(db: Queryable, billPaymentIds: string[]): Promise<void> {
  await db.run(settledStatement, [billPaymentIds])
}

const laterStatement = sql(
  'settle_later',
  `update bill_payment set settle_time = clock_now()
     + least(interval '60 s', interval '250 ms' * power(2, least(settle_attempts, 10)))
   where bill_payment_id = $1 and settle_time is not null`,
)

/** Puts it off after a failure: 0.5 s doubling to a minute, for ever. */
export async function settleLater(db: Queryable, billPaymentId: string): Promise<void> {
  await db.run(laterStatement, [billPaymentId])
}

const backlogStatement = sql(
  'bill_backlog',
  `select
     (select count(*) from bill_payment where next_time is not null)::integer as open,
     ((select count(*) from bill_payment where settle_time is not null)
       + (select count(*) from abandoned_hold))::integer as unsettled,
     (select count(*) from bill_payment where state = 'review')::integer as review,
     (select coalesce(extract(epoch from business_now() - min(review_time)), 0) from bill_payment
       where state = 'review')::float8 as "oldestReviewS"`,
)

/** What waits: for a biller, for the ledger, for a person. */
export type Backlog = { open: number; unsettled: number; review: number; oldestReviewS: number }

/** How much waits. */
export async function readBacklog(db: Queryable): Promise<Backlog> {
  const row = await db.row<Backlog>(backlogStatement, [])
  return row ?? { open: 0, unsettled: 0, review: 0, oldestReviewS: 0 }
}
