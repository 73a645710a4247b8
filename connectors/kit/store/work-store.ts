// Statements on work that a connector owes.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { ClaimedWork, DeadWork, NewWork, Work, WorkCount, WorkEnd } from '../domain/work.ts'

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
     where w.kind = $1 and w.done_at is null and w.dead_at is null
       and w.next_at <= clock_now() and w.leased_until <= clock_now()
       and not exists (
         select from work e where e.kind = w.kind and e.subject = w.subject
           and e.position < w.position and e.done_at is null and e.dead_at is null)
     order by w.next_at limit $2 for update of w skip locked
   )
   update work w set attempts = w.attempts + 1, next_at = clock_now() + $3 * interval '1 millisecond',
     leased_until = clock_now() + $3 * interval '1 millisecond'
   from due d where w.position = d.position
   returning w.position, w.kind, w.key, w.subject, w.payload, w.attempts, w.failures,
     coalesce(extract(epoch from clock_now() - w.failing_since) * 1000, 0)::float8 as "failingMs"`,
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

const holdWorkStatement = sql(
  'hold_work',
  `select position from work
   where position = $1 and attempts = $2 and done_at is null and dead_at is null for update`,
)
/**
 * Keeps claimed work from all others until the transaction ends, so that what it writes is written by the last who claimed
 * it. Rejects when another worker has claimed the work since. Locks its row.
 */
export async function holdWork(tx: Queryable, { position, attempts }: ClaimedWork): Promise<void> {
  const held = await tx.row(holdWorkStatement, [position, attempts])
  if (held === undefined) throw new Error('the lease has ended: another worker has this work')
}

const endWorkStatement = sql(
  'end_work',
  `update work set
     done_at = case when $3 = 'done' then clock_now() end,
     dead_at = case when $3 = 'dead' then clock_now() end,
     -- What was hastened meanwhile is due.
     next_at = case when next_at < leased_until then next_at
       else clock_now() + $5 * interval '1 millisecond' end,
     failures = case when $4::text is null then 0 else failures + 1 end,
     failing_since = case when $4 is not null then coalesce(failing_since, clock_now()) end,
     leased_until = '-infinity', last_reason = $4
   where position = $1 and attempts = $2 and done_at is null and dead_at is null`,
)
/** Records the result of claimed work; false when another worker has claimed it since, which then records its own. */
export async function endWork(db: Queryable, end: WorkEnd): Promise<boolean> {
  const { position, attempts, outcome, reason, delayMs } = end
  return (await db.run(endWorkStatement, [position, attempts, outcome, reason, delayMs])) === 1
}

const hastenWorkStatement = sql(
  'hasten_work',
  `update work set next_at = greatest(hint_after, clock_now()),
     hint_after = greatest(hint_after, clock_now()) + interval '1 second'
   where kind = any($1) and subject = $2 and done_at is null and dead_at is null
     and next_at > greatest(hint_after, clock_now())`,
)
/**
 * Makes open work of these kinds on a subject due at once, or a second after it was last hastened; work that is claimed now is
 * due when its worker has ended. False when that changes nothing.
 */
export async function hastenWork(
  db: Queryable,
  kinds: readonly string[],
  subject: string,
): Promise<boolean> {
  return (await db.run(hastenWorkStatement, [kinds, subject])) > 0
}

/** Counts what is not done. */
export const countWorkStatement = sql(
  'count_work',
  `select kind, count(*) filter (where dead_at is null)::integer as waiting,
     count(*) filter (where dead_at is not null)::integer as dead,
     coalesce(extract(epoch from clock_now() - min(failing_since) filter (where dead_at is null)), 0)::float8 as "failingS"
   from work where done_at is null group by kind`,
)
/** Counts open and dead work by kind; a kind without any is left out. */
export function countWork(db: Queryable): Promise<WorkCount[]> {
  return db.rows(countWorkStatement, [])
}

const listDeadWorkStatement = sql(
  'list_dead_work',
  `select position, kind, key, subject, attempts, last_reason as reason, written_at as "writtenAt", dead_at as "deadAt"
   from work where done_at is null and dead_at is not null and ($1::text is null or kind = $1)
   order by position limit $2`,
)
/** Dead work, the oldest first; of all kinds where the kind is null. */
export function listDeadWork(
  db: Queryable,
  kind: string | null,
  limit: number,
): Promise<DeadWork[]> {
  return db.rows(listDeadWorkStatement, [kind, limit])
}

const retryDeadWorkStatement = sql(
  'retry_dead_work',
  `update work set dead_at = null, next_at = clock_now(), failures = 0, failing_since = null
   where position = any($1::bigint[]) and dead_at is not null returning position`,
)
/** Makes dead work due; returns which, without what is not dead. */
export async function retryDeadWork(db: Queryable, positions: bigint[]): Promise<bigint[]> {
  const rows = await db.rows<{ position: bigint }>(retryDeadWorkStatement, [positions])
  return rows.map(({ position }) => position)
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
