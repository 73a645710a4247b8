// Rolls up lines of internal accounts into their balances. A balance is its row plus the lines that are not rolled up yet, so it is
// exact at any time.
import { type Queryable, sql } from '#platform/db/db.ts'

/** An internal account as its balance is keyed. */
type InternalKey = { projectId: string; internal: string; currency: string }

const accountsStatement = sql(
  'internal_unfolded_accounts',
  `select distinct project_id as "projectId", internal, currency from internal_unfolded`,
)

/** The internal accounts with lines to roll up. Locks nothing. */
export function findPendingRollUp(q: Queryable): Promise<InternalKey[]> {
  return q.rows(accountsStatement, [])
}

// Ranges of the key and no join: a plan that was made while the table was empty must not be slow when it is full.
const rollUpStatement = sql(
  'internal_fold',
  `with deleted as (
     delete from internal_unfolded
     where project_id = $1 and internal = $2 and currency = $3 and transfer_id <= coalesce(
       (select transfer_id from internal_unfolded
        where project_id = $1 and internal = $2 and currency = $3
        order by transfer_id offset $4 limit 1),
       'ffffffff-ffff-ffff-ffff-ffffffffffff')
     returning amount_minor
   ), rolled_up as (
     insert into internal_balance as b (project_id, internal, currency, posted_minor)
     select $1, $2, $3, sum(amount_minor) from deleted having count(*) > 0
     on conflict (project_id, internal, currency)
       do update set posted_minor = b.posted_minor + excluded.posted_minor
   )
   select count(*)::integer as lines from deleted`,
)

/** Rolls up about `maxLines` lines of an account and returns how many. Locks those lines, then the balance, for this one statement. */
export async function rollUpAccount(
  q: Queryable,
  { projectId, internal, currency }: InternalKey,
  maxLines: number,
): Promise<number> {
  const values = [projectId, internal, currency, maxLines]
  return (await q.row<{ lines: number }>(rollUpStatement, values))?.lines ?? 0
}

const countStatement = sql(
  'internal_unfolded_count',
  'select count(*)::integer as lines from internal_unfolded',
)

/** The number of lines that are not rolled up. Locks nothing. */
export async function countPendingRollUp(q: Queryable): Promise<number> {
  return (await q.row<{ lines: number }>(countStatement, []))?.lines ?? 0
}
