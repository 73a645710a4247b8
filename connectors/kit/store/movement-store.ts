// Reads what a connector has recorded as moved, for the reconciliation of a day. Not indexed by time: a command of an operator.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { CreditState } from '../domain/payment.ts'
import type { Movement } from '../domain/reconcile.ts'

const listOwnMovementsStatement = sql(
  'list_own_movements',
  `select a.attempt_id as reference, c.currency, c.amount_minor as "amountMinor",
     coalesce(a.ended_at, a.started_at) as time
   from attempt a join charge c on c.charge_id = a.charge_id
   where a.outcome = 'paid' and coalesce(a.ended_at, a.started_at) >= $1
     and coalesce(a.ended_at, a.started_at) < $2
   union all
   select reference, currency, amount_minor, coalesce(ended_at, accepted_at) from credit
   where state = 'completed' and coalesce(ended_at, accepted_at) >= $1
     and coalesce(ended_at, accepted_at) < $2`,
)
/** Attempts that were paid, and payouts and refunds that were completed, in the time from `from` to before `to`. */
export function listOwnMovements(db: Queryable, from: Date, to: Date): Promise<Movement[]> {
  return db.rows(listOwnMovementsStatement, [from, to])
}

/** A payout or refund, as far as it has ended. */
export type CreditEnd = { reference: string; state: CreditState; endTime: Date | null }

const listCreditEndsStatement = sql(
  'list_credit_ends',
  `select reference, state, ended_at as "endTime" from credit where reference = any($1::uuid[])`,
)
/** The payouts and refunds among the references, which must be UUIDs. */
export function listCreditEnds(db: Queryable, references: readonly string[]): Promise<CreditEnd[]> {
  return db.rows(listCreditEndsStatement, [references])
}
