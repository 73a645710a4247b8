// Statements on which keys the running processes of a service have loaded.
import { type Queryable, sql } from '#platform/db/db.ts'

/** A running process and the keys of a file that it has read, the current one first. */
export type KeyReader = { instance: string; file: string; keyIds: string[]; seenTime: Date }

const recordStatement = sql(
  'key_reader_note',
  `with ended as (
     delete from key_reader where seen_at < clock_now() - interval '10 min' and instance <> $1
   )
   insert into key_reader (instance, file, key_ids)
   select $1, file, string_to_array(key_ids, ' ')
   from unnest($2::text[], $3::text[]) as read(file, key_ids)
   on conflict (instance, file) do update
     set key_ids = excluded.key_ids, seen_at = excluded.seen_at`,
)

/**
 * Records the ids of the keys that a process has read, by file, and deletes processes without a heartbeat for ten
 * minutes. Rejects as a Queryable does.
 */
export async function recordReader(
  db: Queryable,
  instance: string,
  read: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const keyIds = [...read.values()].map((ids) => ids.join(' '))
  await db.run(recordStatement, [instance, [...read.keys()], keyIds])
}

const forgetStatement = sql('key_reader_forget', 'delete from key_reader where instance = $1')

/** Deletes a process that ends. Rejects as a Queryable does. */
export async function forgetReader(db: Queryable, instance: string): Promise<void> {
  await db.run(forgetStatement, [instance])
}

const listStatement = sql(
  'key_reader_list',
  `select instance, file, key_ids as "keyIds", seen_at as "seenTime" from key_reader
   where seen_at > clock_now() - $1 * interval '1 s' order by instance, file`,
)

/** Lists the processes with a heartbeat in the last `withinS` seconds. Locks nothing. Rejects as a Queryable does. */
export function listReaders(db: Queryable, withinS: number): Promise<KeyReader[]> {
  return db.rows(listStatement, [withinS])
}
