// Reads what a running system has stored, as one number for each table, to show that nothing of it has changed.
import type { Mesh } from '../../support/mesh.ts'

/** Tables that change by themselves while nobody calls. */
const moving =
  /^(delivery\.endpoint|accounts\.settlement_backfill|[a-z]+\.(loop_lease|heartbeat|key_reader))$/

type Table = { schema: string; name: string }

/** A digest of the rows of every table of the services, by schema and name. */
export async function contentOf(mesh: Pick<Mesh, 'rows'>): Promise<Record<string, string>> {
  const tables = await mesh.rows<Table>(
    `select table_schema as schema, table_name as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  )
  const content: Record<string, string> = {}
  for (const { schema, name } of tables) {
    const table = `${schema}.${name}`
    if (moving.test(table)) continue
    const [row] = await mesh.rows<{ digest: string }>(
      `select count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) as digest
       from "${schema}"."${name}" t`,
    )
    content[table] = row?.digest ?? ''
  }
  return content
}
