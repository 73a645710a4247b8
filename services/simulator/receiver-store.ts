// Every statement about what the receivers were sent. It must not decide anything.
import { type Queryable, sql } from '#runtime/db.ts'

/** A request as a receiver got it. */
export type Received = {
  path: string
  headers: Record<string, string | string[]>
  body: Buffer
  receivedAt: Date
}

const insertReceivedStatement = sql(
  'insert_received',
  `insert into received (received_id, tag, path, headers, body) values ($1, $2, $3, $4, $5)`,
)
/** Keeps a request. */
export async function insertReceived(
  db: Queryable,
  receivedId: string,
  tag: string,
  { path, headers, body }: Omit<Received, 'receivedAt'>,
): Promise<void> {
  await db.run(insertReceivedStatement, [receivedId, tag, path, JSON.stringify(headers), body])
}

const countFlakyStatement = sql(
  'count_flaky',
  `insert into flaky_count as f (tag, body_hash, seen) values ($1, $2, 1)
   on conflict (tag, body_hash) do update set seen = f.seen + 1, seen_at = clock_now()
   returning seen`,
)
/** Counts a body that the flaky receiver of a tag was sent; returns how often it came, this time included. */
export async function countFlaky(db: Queryable, tag: string, bodyHash: Buffer): Promise<number> {
  return (await db.row<{ seen: number }>(countFlakyStatement, [tag, bodyHash]))?.seen ?? 1
}

const listReceivedStatement = sql(
  'list_received',
  `select path, headers, body, received_at as "receivedAt" from (
     select received_id, path, headers, body, received_at,
       sum(octet_length(body)) over (order by received_at desc, received_id desc) as bytes
     from received where tag = $1 order by received_at desc, received_id desc limit $2
   ) newest where bytes <= $3 order by received_at, received_id`,
)
/** The newest requests of a tag up to a number and a size in all, newest last. */
export function listReceived(
  db: Queryable,
  tag: string,
  limit: number,
  maxBytes: number,
): Promise<Received[]> {
  return db.rows(listReceivedStatement, [tag, limit, maxBytes])
}

const deleteOldReceivedStatement = sql(
  'delete_old_received',
  `delete from received where received_id in (
     select received_id from received
     where received_at <= greatest(
       clock_now() - interval '24 hours',
       (select received_at from received order by received_at desc offset $2 limit 1))
     limit $1)`,
)
/** Deletes requests older than a day or beyond the newest `keep`; returns how many. */
export function deleteOldReceived(db: Queryable, limit: number, keep: number): Promise<number> {
  return db.run(deleteOldReceivedStatement, [limit, keep])
}

const deleteOldFlakyStatement = sql(
  'delete_old_flaky',
  `delete from flaky_count where (tag, body_hash) in (
     select tag, body_hash from flaky_count
     where seen_at < clock_now() - interval '24 hours' limit $1)`,
)
/** Deletes counts of bodies that were last seen a day ago; returns how many. */
export function deleteOldFlaky(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteOldFlakyStatement, [limit])
}
