// Statements on what the receivers were sent. Quotas are decided in receiver-quota.ts.
import { type Queryable, sql } from '#platform/db/db.ts'

/** A request as a receiver got it. */
export type Received = {
  path: string
  headers: Record<string, string | string[]>
  body: Buffer
  receivedAt: Date
}

/** How many requests are kept and how many bytes they take. */
export type Quota = { requests: number; bytes: number }

/** Key of a request in the log of its tag; `at` has microseconds. */
export type LogKey = { at: string; receivedId: string }

/** A request with its key in the log. */
export type LogRow = Received & LogKey

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

/** A log within a quota: its oldest request and its size. */
export type FoundLog = { oldest: LogKey; size: Quota }

const findLogStatement = sql(
  'find_log',
  `select position as requests, total_bytes as bytes, received_at::text as "at", received_id as "receivedId" from (
     select received_id, received_at, row_number() over newest_first as position,
       sum(bytes) over newest_first as total_bytes
     from received where tag = $1
     window newest_first as (order by received_at desc, received_id desc)
   ) newest where position <= $2 and total_bytes <= $3 order by position desc limit 1`,
)
/** Finds the newest requests of a tag within a quota; undefined when there is none. */
export async function findLog(
  db: Queryable,
  tag: string,
  quota: Quota,
): Promise<FoundLog | undefined> {
  const values = [tag, quota.requests, quota.bytes]
  const found = await db.row<LogKey & Record<keyof Quota, bigint>>(findLogStatement, values)
  if (found === undefined) return undefined
  const { at, receivedId, requests, bytes } = found
  return { oldest: { at, receivedId }, size: { requests: Number(requests), bytes: Number(bytes) } }
}

/** Rows of one tag from a key on, oldest first: the first, and more while those before them have fewer bytes than $4. */
const logRowsFrom = (comparison: '>=' | '>') =>
  `select path, headers, body, received_at as "receivedAt", received_at::text as "at",
     received_id as "receivedId" from (
     select page.*, sum(bytes) over (order by received_at, received_id) as total_bytes from (
       select * from received
       where tag = $1 and (received_at, received_id) ${comparison} ($2::text::timestamptz, $3::uuid)
       order by received_at, received_id limit $5
     ) page
   ) summed where total_bytes - bytes < $4 order by received_at, received_id`
const startLogPageStatement = sql('start_log_page', logRowsFrom('>='))
const nextLogPageStatement = sql('next_log_page', logRowsFrom('>'))

/** How much of a log one statement reads: the last request may go beyond the bytes. */
export type LogPage = { from: LogKey; includesFrom: boolean; limit: Quota }

/** Requests of a tag, oldest first; none when the log ends there. */
export function listLogPage(
  db: Queryable,
  tag: string,
  { from, includesFrom, limit }: LogPage,
): Promise<LogRow[]> {
  const values = [tag, from.at, from.receivedId, limit.bytes, limit.requests]
  return db.rows(includesFrom ? startLogPageStatement : nextLogPageStatement, values)
}

const trimTagStatement = sql(
  'trim_tag',
  `delete from received where received_id in (
     select received_id from (
       select received_id, row_number() over newest_first as position,
         sum(bytes) over newest_first as total_bytes
       from received where tag = $1
       window newest_first as (order by received_at desc, received_id desc)
     ) newest where position > $2 or total_bytes > $3 limit $4)`,
)
/** Deletes up to `limit` requests of a tag beyond its newest ones within a quota; returns how many. */
export function trimTag(db: Queryable, tag: string, quota: Quota, limit: number): Promise<number> {
  return db.run(trimTagStatement, [tag, quota.requests, quota.bytes, limit])
}

const deleteOldReceivedStatement = sql(
  'delete_old_received',
  `delete from received where received_id in (
     select received_id from (
       select received_id, received_at, row_number() over newest_first as position,
         sum(bytes) over newest_first as total_bytes
       from received
       window newest_first as (order by received_at desc, received_id desc)
     ) newest
     where received_at <= clock_now() - interval '24 hours' or position > $2 or total_bytes > $3
     limit $1)`,
)
/** Deletes up to `limit` requests that are older than a day or beyond the newest ones within a quota; returns how many. */
export function deleteOldReceived(db: Queryable, limit: number, quota: Quota): Promise<number> {
  return db.run(deleteOldReceivedStatement, [limit, quota.requests, quota.bytes])
}

const deleteOldFlakyStatement = sql(
  'delete_old_flaky',
  `delete from flaky_count where (tag, body_hash) in (
     select tag, body_hash from flaky_count
     where seen_at <= greatest(
       clock_now() - interval '24 hours',
       (select seen_at from flaky_count order by seen_at desc offset $2 limit 1))
     limit $1)`,
)
/** Deletes counts of bodies that were last seen a day ago or are beyond the newest `keep`; returns how many. */
export function deleteOldFlaky(db: Queryable, limit: number, keep: number): Promise<number> {
  return db.run(deleteOldFlakyStatement, [limit, keep])
}
