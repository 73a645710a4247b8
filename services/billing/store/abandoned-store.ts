// Drops claims that are given up, and keeps their holds until those are released.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { BillMoney } from '../domain/bill.ts'

/** A hold of a payment that was given up; `createTime` is the payment's. */
export type AbandonedHold = BillMoney & { createTime: Date }

/** One that is due. `isLate`: no request for it can be under way any more. */
export type DueHold = AbandonedHold & { attempts: number; isLate: boolean }

const abandonStatement = sql(
  'bill_abandon',
  `with dropped as (
     delete from bill_payment where bill_payment_id = $1 and lease_token = $2 and state = 'claimed'
     returning bill_payment_id
   )
   insert into abandoned_hold (bill_payment_id, project_id, transaction_id, amount_minor, currency, create_time,
     next_time)
   select $1, $3::uuid, $4::text, $5::bigint, $6::text, $7::timestamptz, clock_now()
   where exists (select from dropped) or not exists (select from bill_payment where bill_payment_id = $1)
   on conflict do nothing`,
)

/**
 * Drops a claim, so that its key is free, and notes its hold for release, in one statement. When the claim was dropped before, only the
 * hold is recorded; a payment whose lease is no longer the caller's stays as it is.
 */
export async function abandonClaim(
  db: Queryable,
  hold: AbandonedHold,
  leaseToken: string,
): Promise<void> {
  const { billPaymentId, projectId, transactionId, amountMinor, currency, createTime } = hold
  const money = [projectId, transactionId, amountMinor, currency, createTime]
  await db.run(abandonStatement, [billPaymentId, leaseToken, ...money])
}

const abandonEndedStatement = sql(
  'bill_abandon_ended',
  `with ended as (
     update bill_payment set settle_time = null
     where bill_payment_id = $1 and state = 'failed' and settle_time is not null
     returning bill_payment_id, project_id, transaction_id, amount_minor, currency, create_time
   )
   insert into abandoned_hold (bill_payment_id, project_id, transaction_id, amount_minor, currency, create_time,
     next_time)
   select bill_payment_id, project_id, transaction_id, amount_minor, currency, create_time, clock_now() from ended
   on conflict do nothing`,
)

/** Records the hold of a payment that failed without one: a request for it may still be under way. */
export async function abandonEnded(db: Queryable, billPaymentId: string): Promise<void> {
  await db.run(abandonEndedStatement, [billPaymentId])
}

const claimStatement = sql(
  'abandoned_take',
  `with due as (
     select bill_payment_id from abandoned_hold
     where next_time <= clock_now() order by next_time limit $1 for update skip locked
   )
   update abandoned_hold h set attempts = least(h.attempts + 1, 1000),
     next_time = clock_now() + $2 * interval '1 millisecond'
   from due where h.bill_payment_id = due.bill_payment_id
   returning h.bill_payment_id as "billPaymentId", h.project_id as "projectId",
     h.transaction_id as "transactionId", h.amount_minor as "amountMinor", h.currency,
     h.create_time as "createTime", h.attempts::integer as attempts,
     h.abandon_time < clock_now() - $3 * interval '1 millisecond' as "isLate"`,
)

/** Claims holds for `leaseMs`; those abandoned `lateMs` ago are late. */
export function claimAbandonedHolds(
  db: Queryable,
  limit: number,
  { leaseMs, lateMs }: { leaseMs: number; lateMs: number },
): Promise<DueHold[]> {
  return db.rows(claimStatement, [limit, leaseMs, lateMs])
}

const forgetStatement = sql(
  'abandoned_forget',
  'delete from abandoned_hold where bill_payment_id = $1',
)

/** Records that a hold was released. */
export async function forgetHold(db: Queryable, billPaymentId: string): Promise<void> {
  await db.run(forgetStatement, [billPaymentId])
}

const postponeStatement = sql(
  'abandoned_later',
  `update abandoned_hold set next_time = clock_now()
     + least(interval '60 s', interval '250 ms' * power(2, least(attempts, 10)))
   where bill_payment_id = $1`,
)

/** Postpones its release: 0.5 s doubling to a minute. */
export async function postponeRelease(db: Queryable, billPaymentId: string): Promise<void> {
  await db.run(postponeStatement, [billPaymentId])
}
