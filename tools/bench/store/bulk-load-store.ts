// Fills a table fast: drops its indexes and makes them again afterwards.
import type { Client } from 'pg'

/**
 * Takes the indexes and keys off a table of the search path, but for keys that other tables refer to, has it filled, makes them
 * again, and brings the table to rest: vacuumed, so that its pages are known to be visible and full, and analyzed.
 */
export async function withoutIndexes(
  client: Client,
  table: string,
  fill: () => Promise<unknown>,
): Promise<void> {
  const { rows } = await client.query<{ drops: string; makes: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drops,
       format('alter table %s add constraint %I %s', conrelid::regclass, conname,
         pg_get_constraintdef(oid)) as makes
     from pg_constraint c where conrelid = $1::regclass and contype in ('p', 'u')
       and not exists (
         select 1 from pg_constraint f where f.contype = 'f' and f.conindid = c.conindid
       )
     union all
     select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
     from pg_index where indrelid = $1::regclass
       and not exists (select 1 from pg_constraint where conindid = indexrelid)`,
    [table],
  )
  for (const { drops } of rows) await client.query(drops)
  await fill()
  for (const { makes } of rows) await client.query(makes)
  await client.query(`vacuum (analyze, freeze) ${table}`)
}
