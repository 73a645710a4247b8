// The statements of a base backup, in one session of a PostgreSQL server.
import type { Client } from 'pg'
import { connectClient } from '#platform/db/client.ts'
import { ConfigurationError } from '#platform/process/configuration-error.ts'

/** How to connect as the owner of the database. */
export type Access = { url: string; passwordFile?: string | undefined }

/** What a server says of itself. */
export type ServerFacts = {
  dataFolder: string
  port: string
  version: string
  systemIdentifier: string
  time: Date
  /** Names of tablespaces beside those that every server has. */
  tablespaces: string[]
}

/** A server whose files may be copied. */
export type BackupSession = {
  facts: ServerFacts
  /** Ids of keys that processes have read, by schema and file. */
  keys(): Promise<{ file: string; key_ids: string[] }[]>
  /** Ends the backup: the label that its files need, the names of the log's files from its beginning to its end, the time. */
  end(): Promise<{ label: string; logFiles: string[]; time: Date }>
  /** Ends the session; a backup that was not ended is given up. */
  close(): Promise<void>
}

const factsOf = `
  select current_setting('data_directory') as "dataFolder", current_setting('port') as port,
    current_setting('server_version') as version,
    (select system_identifier::text from pg_control_system()) as "systemIdentifier", clock_timestamp() as time,
    array(select spcname::text from pg_tablespace where spcname not in ('pg_default', 'pg_global')) as tablespaces`

const readerSchemas = `
  select n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = 'key_reader' and c.relkind = 'r' order by 1`

/** One byte into each segment, since the first byte of one counts as the end of the segment before it. */
const logFilesOf = `
  select pg_walfile_name('0/0'::pg_lsn + n * size + 1) as name
  from (select setting::numeric as size from pg_settings where name = 'wal_segment_size') segment,
    generate_series(trunc(($1::pg_lsn - '0/0'::pg_lsn) / size), trunc(($2::pg_lsn - '0/0'::pg_lsn - 1) / size)) n
  order by n`

/**
 * Connects, keeps the log that the backup needs, and begins the backup at a checkpoint. Rejects with a ConfigurationError as
 * `connectClient` does and for a database of another purpose, and with the driver's error, for a server without the rights or `wal_level` for example.
 */
export async function beginBackup(access: Access): Promise<BackupSession> {
  const client = await connectClient(access, { application_name: 'payweave backup' })
  // The statement that meets the lost connection rejects.
  client.on('error', () => undefined)
  try {
    await client.query('set statement_timeout = 0; set idle_session_timeout = 0')
    const { rows: schemas } = await client.query(readerSchemas)
    if (schemas.length === 0) {
      throw new ConfigurationError('DATABASE_URL names a database without the schemas of Payweave')
    }
    // It ends with the session.
    await client.query(
      `select pg_create_physical_replication_slot('payweave_backup_' || pg_backend_pid(), true, true)`,
    )
    const start = await one<{ lsn: string }>(
      client,
      `select pg_backup_start('payweave', fast => true)::text as lsn`,
    )
    return {
      facts: await one<ServerFacts>(client, factsOf),
      keys: () => keysOf(client),
      async end() {
        const stop = await one<{ lsn: string; label: string; time: Date }>(
          client,
          `select lsn::text, labelfile as label, clock_timestamp() as time
           from pg_backup_stop(wait_for_archive => false)`,
        )
        const { rows } = await client.query<{ name: string }>(logFilesOf, [start.lsn, stop.lsn])
        return { label: stop.label, time: stop.time, logFiles: rows.map(({ name }) => name) }
      },
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

async function keysOf(client: Client) {
  const { rows: schemas } = await client.query<{ schema: string }>(readerSchemas)
  const found = await Promise.all(
    schemas.map(({ schema }) =>
      client.query<{ file: string; key_ids: string[] }>(
        `select $1 || '/' || file as file, array_agg(distinct id order by id) as key_ids
         from ${client.escapeIdentifier(schema)}.key_reader, unnest(key_ids) id group by file order by file`,
        [schema],
      ),
    ),
  )
  return found.flatMap(({ rows }) => rows)
}

async function one<T extends object>(client: Client, statement: string): Promise<T> {
  const { rows } = await client.query<T>(statement)
  const [row] = rows
  if (row === undefined) throw new Error('the database server answered with no row')
  return row
}
