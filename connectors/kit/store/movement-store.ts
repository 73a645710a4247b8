// Reads what a connector has recorded as moved, for the reconciliation of a day. Not indexed by time: a command of an operator.
import { isUuid } from '#core/identity/id.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
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

const findOpenCreditsStatement = sql(
  'find_open_credits',
  `select reference from credit where reference = any($1::uuid[]) and state = 'pending'`,
)
/** Those of the references that are payouts or refunds without an end. */
export async function findOpenCredits(
  db: Queryable,
  references: string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.rows<{ reference: string }>(findOpenCreditsStatement, [
    references.filter(isUuid),
  ])
  return new Set(rows.map(({ reference }) => reference))
}
