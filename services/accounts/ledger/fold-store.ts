// The statement that folds lines of internal accounts into their balances. It must not be needed for a balance to be right.
import { type Queryable, sql } from '#runtime/db.ts'

const foldStatement = sql(
  'internal_fold',
  `with picked as materialized (
     select project_id, internal, currency, transfer_id, line from internal_unfolded
     limit $1 for update skip locked
   ), gone as (
     delete from internal_unfolded u using picked p
     where u.project_id = p.project_id and u.internal = p.internal and u.currency = p.currency
       and u.transfer_id = p.transfer_id and u.line = p.line
     returning u.project_id, u.internal, u.currency, u.amount_minor
   ), folded as (
     insert into internal_balance as b (project_id, internal, currency, posted_minor)
     select project_id, internal, currency, sum(amount_minor) from gone
     group by project_id, internal, currency order by project_id, internal, currency
     on conflict (project_id, internal, currency)
       do update set posted_minor = b.posted_minor + excluded.posted_minor
   )
   select count(*)::integer as folded from gone`,
)

/** Folds some lines and answers how many. Locks those lines and the balances, in the order of their keys, for itself. */
export async function foldInternal(q: Queryable, limit: number): Promise<number> {
  return (await q.row<{ folded: number }>(foldStatement, [limit]))?.folded ?? 0
}

const countStatement = sql(
  'internal_unfolded_count',
  'select count(*)::integer as lines from internal_unfolded',
)

/** How many lines wait to be folded. Locks nothing. */
export async function countUnfolded(q: Queryable): Promise<number> {
  return (await q.row<{ lines: number }>(countStatement, []))?.lines ?? 0
}
