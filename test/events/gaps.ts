// The delays between publications of an event, as recorded in the database, since polling would be too slow.
import { type Database, sql } from '#platform/db/db.ts'

const makeNotes = [
  sql('make_gaps', 'create table gap (event_id uuid, attempts integer, ms integer)'),
  sql(
    'make_note_gap',
    `create function note_gap() returns trigger language plpgsql as $$ begin
       insert into gap
       values (new.event_id, new.attempts, extract(epoch from new.next_at - new.published_at) * 1000);
       return null;
     end $$`,
  ),
  sql(
    'note_gaps',
    `create trigger note_gap after update of attempts on outbox for each row
     when (new.attempts > old.attempts) execute function note_gap()`,
  ),
]
const gaps = sql('gaps', 'select ms from gap where event_id = $1 order by attempts')

/** Has them noted from now on. */
export async function noteGaps(db: Database): Promise<void> {
  for (const statement of makeNotes) await db.run(statement, [])
}

/** In milliseconds, one for each publication. */
export async function gapsOf(db: Database, eventId: string): Promise<number[]> {
  return (await db.rows<{ ms: number }>(gaps, [eventId])).map(({ ms }) => ms)
}
