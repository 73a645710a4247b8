// Statements on work that a connector owes.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { NewWork, Work, WorkEnd } from '../domain/work.ts'

const insertWorkStatement = sql(
  'insert_work',
  `insert into work (kind, key, subject, payload) values ($1, $2, $3, $4)
   on conflict (kind, key) do nothing`,
)
/** Stores work; false when the fact is known. Rejects as a Queryable does. */
export async function insertWork(tx: Queryable, work: NewWork): Promise<boolean> {
  const { kind, key, subject, payload } = work
  return (await tx.run(insertWorkStatement, [kind, key, subject, payload])) === 1
}

const claimWorkStatement = sql(
  'claim_work',
  `with due as (
     select w.position from work w
     where w.kind = $1 and w.done_at is null and w.dead_at is null and w.next_at <= clock_now()
       and not exists (
         select from work e where e.kind = w.kind and e.subject = w.subject
           and e.position < w.position and e.done_at is null and e.dead_at is null)
     order by w.next_at limit $2 for update of w skip locked
   )
   update work w set attempts = w.attempts + 1, next_at = clock_now() + $3 * interval '1 millisecond'
   from due d where w.position = d.position
   returning w.position, w.kind, w.key, w.subject, w.payload, w.attempts`,
)
/** Takes due work, of each subject the first that is open, and keeps others from it for the time of the lease. */
export function claimWork(
  db: Queryable,
  kind: string,
  limit: number,
  leaseMs: number,
): Promise<Work[]> {
  return db.rows(claimWorkStatement, [kind, limit, leaseMs])
}

const endWorkStatement = sql(
  'end_work',
  `update work set
     done_at = case when $2 = 'done' then clock_now() end,
     dead_at = case when $2 = 'dead' then clock_now() end,
     -- What was hastened meanwhile stays due.
     next_at = case when next_at = '-infinity' then next_at
       else clock_now() + $4 * interval '1 millisecond' end, last_reason = $3
   where position = $1 and done_at is null`,
)
/** Records what became of claimed work. */
export async function endWork(db: Queryable, end: WorkEnd): Promise<void> {
  await db.run(endWorkStatement, [end.position, end.outcome, end.reason, end.delayMs])
}

const hastenWorkStatement = sql(
  'hasten_work',
  `update work set next_at = '-infinity'
   where kind = any($1) and subject = $2 and done_at is null and dead_at is null`,
)
/** Makes open work of these kinds on a subject due at once, also when it is claimed now; false when there is none. */
export async function hastenWork(
  db: Queryable,
  kinds: readonly string[],
  subject: string,
): Promise<boolean> {
  return (await db.run(hastenWorkStatement, [kinds, subject])) > 0
}

const countWorkStatement = sql(
  'count_work',
  `select kind, count(*) filter (where dead_at is null)::integer as waiting,
     count(*) filter (where dead_at is not null)::integer as dead
   from work where done_at is null group by kind`,
)
/** Counts open and dead work by kind; a kind without any is left out. */
export function countWork(
  db: Queryable,
): Promise<{ kind: string; waiting: number; dead: number }[]> {
  return db.rows(countWorkStatement, [])
}

const deleteOldWorkStatement = sql(
  'delete_old_work',
  `delete from work where position in (
     select position from work where done_at < clock_now() - interval '30 days' limit $1)`,
)
/** Deletes work that was done 30 days ago, after which the same fact would be new; returns how many. */
export function deleteOldWork(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteOldWorkStatement, [limit])
}
