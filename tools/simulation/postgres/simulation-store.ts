// Statements of the simulation on its own PostgreSQL: the clock, the record of changes, the tables to empty.
import type { Client } from 'pg'
import type { SchemaOwner } from '#platform/db/schemas.ts'
import { epochMs } from '../engine/globals.ts'

/** A committed change of a row, as its trigger has recorded it. */
export type Change = {
  relation: string
  /** The process whose statement changed it, and the statement's name. */
  by: string
  statement: string
  atMs: number
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Tables whose changes are recorded, by service. */
const recorded: Partial<Record<SchemaOwner, readonly string[]>> = {
  delivery: ['delivery'],
  accounts: ['hold', 'ledger_account'],
}

/** Sends the time of the statements that follow, and for whom they run. Not awaited: it travels with the next statement. */
export function setClock(client: Client, nowMs: number, by: string, statement: string): void {
  const set = {
    name: 'simulation_clock',
    text: `select set_config('payweave.simulated_now', $1, false), set_config('payweave.simulated_by', $2, false),
             set_config('payweave.simulated_statement', $3, false)`,
    values: [timeAt(nowMs), by, statement],
  }
  client.query(set).catch(() => undefined)
}

/** A time of a run as PostgreSQL reads it, with microseconds. */
function timeAt(nowMs: number): string {
  const micros = Math.round(nowMs * 1_000)
  const seconds = new Date(epochMs + Math.floor(micros / 1_000)).toISOString().slice(0, -1)
  return `${seconds}${String(micros % 1_000).padStart(3, '0')}+00`
}

/** Has the schemas take their time from the simulation, and record what the checks need. */
export async function prepareSchemas(
  owner: Client,
  services: readonly SchemaOwner[],
): Promise<void> {
  await owner.query(recordDefinition)
  for (const service of services) {
    await owner.query(clockDefinition(service))
    for (const table of recorded[service] ?? []) {
      await owner.query(
        `create trigger simulation_record after insert or update or delete on ${service}.${table}
         for each row execute function simulation.record()`,
      )
    }
  }
  if (services.includes('delivery')) {
    // The partitions of the simulated days, which maintenance would make in each run.
    await owner.query(`set payweave.simulated_now = '${timeAt(0)}'`)
    await owner.query(
      'select delivery.keep_attempt_days(3, 90), delivery.keep_api_request_days(3, 30)',
    )
  }
}

const clockDefinition = (service: SchemaOwner): string =>
  `create or replace function ${service}.clock_now() returns timestamptz
   language sql stable parallel safe
   as $$ select current_setting('payweave.simulated_now')::timestamptz $$`

const recordDefinition = `
  create schema simulation;
  create table simulation.change (
    change_id bigint generated always as identity primary key,
    relation text not null, by text not null, statement text not null, at timestamptz not null,
    before jsonb, after jsonb
  );
  create function simulation.record() returns trigger language plpgsql security definer as $$
  begin
    insert into simulation.change (relation, by, statement, at, before, after) values (
      tg_table_name, current_setting('payweave.simulated_by'), current_setting('payweave.simulated_statement'),
      current_setting('payweave.simulated_now')::timestamptz,
      case when tg_op <> 'INSERT' then to_jsonb(old) - 'body' end,
      case when tg_op <> 'DELETE' then to_jsonb(new) - 'body' end
    );
    return null;
  end $$;
  grant usage on schema simulation to public`

/** The tables that hold something, or did. */
export async function listTouchedTables(
  owner: Client,
  services: readonly SchemaOwner[],
): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>({
    name: 'simulation_touched',
    text: `select c.oid::regclass::text as name from pg_class as c
           where relkind = 'r' and relnamespace::regnamespace::text = any($1::text[])
             and relname not in ('schema_migration') and pg_relation_size(c.oid) > 0`,
    values: [[...services, 'simulation']],
  })
  return rows.map(({ name }) => name)
}

/** All committed changes, in their order. */
export const changesText = `
  select relation, by, statement, before, after,
    (extract(epoch from at) * 1000)::float8 - ${epochMs} as "atMs"
  from simulation.change order by change_id`
