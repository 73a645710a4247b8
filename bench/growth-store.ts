// Statements of the measurement with many payments: lays them down, all ended, and reads which there are.
import { Client } from 'pg'

async function onDatabase<T>(databaseUrl: string, work: (client: Client) => Promise<T>) {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const rowsAtOnce = 100_000

/**
 * Copies the rows of one payment that exists, with ids and times of the past: so many payments, each with its payer,
 * payee, event, and task, all of them done. Brings the tables to rest afterwards.
 */
export async function layDownPayments(databaseUrl: string, count: number): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query('set search_path = payments')
    await client.query('set synchronous_commit = off')
    for (let first = 1; first <= count; first += rowsAtOnce) {
      await client.query(statement(), [first, Math.min(count, first + rowsAtOnce - 1)])
    }
    for (const table of ['payment', 'payer', 'payee', 'outbox', 'confirmation', 'task']) {
      await client.query(`vacuum analyze ${table}`)
    }
    await client.query('checkpoint')
  })
}

/** A second lies between two payments, back from now. */
function statement(): string {
  const at = "now() - n * interval '1 second'"
  return `with pattern as materialized (
      select p.payment_id from payment p order by p.create_time limit 1
    ), made as materialized (
      select n, uuidv7(-n * interval '1 second') as payment_id, uuidv7(-n * interval '1 second') as payer_id,
        uuidv7(-n * interval '1 second') as payee_id, gen_random_uuid() as event_id
      from generate_series($1::integer, $2::integer) as n
    ), payments_made as (
      insert into payment
      select (jsonb_populate_record(p, jsonb_build_object('payment_id', made.payment_id,
        'transaction_id', 'past-' || n, 'state', 'Expired', 'create_time', ${at}, 'update_time', ${at},
        'expire_time', ${at}, 'expiry_check_time', null))).*
      from payment p join pattern using (payment_id), made
    ), payers_made as (
      insert into payer
      select (jsonb_populate_record(p, jsonb_build_object('payment_id', made.payment_id,
        'payer_id', made.payer_id, 'state', 'Expired', 'create_time', ${at}, 'expire_time', ${at},
        'link_token_hash', '\\x' || encode(sha256(made.payer_id::text::bytea), 'hex')))).*
      from payer p join pattern using (payment_id), made
    ), payees_made as (
      insert into payee
      select (jsonb_populate_record(p, jsonb_build_object('payment_id', made.payment_id,
        'payee_id', made.payee_id, 'payout_state', 'voided'))).*
      from payee p join pattern using (payment_id), made
    ), tasks_made as (
      insert into task (subject_id, kind, project_id, payment_id, create_time, next_time, done_time)
      select made.payer_id, 'announce', t.project_id, made.payment_id, ${at}, ${at}, ${at}
      from task t join pattern using (payment_id), made where t.kind = 'announce'
    ), events_made as (
      insert into outbox (event_id, subject, project_id, payload, occurred_at, attempts, next_at,
        published_at, confirmed_at)
      select made.event_id, o.subject, o.project_id, o.payload, ${at}, 1, ${at}, now(), now()
      from (select * from outbox order by occurred_at limit 1) o, made
    )
    insert into confirmation (event_id, consumer, state) select event_id, 'delivery', 'seen' from made`
}

/** Ids of so many payments of one merchant, spread over all there are. */
export async function spreadPaymentIds(databaseUrl: string, count: number): Promise<string[]> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ payment_id: string }>(
      `select payment_id from payments.payment
       order by hashtext(payment_id::text) limit $1`,
      [count],
    )
    return rows.map((row) => row.payment_id)
  })
}

/** How many payments there are, and the size of the service's tables and indexes in MB. */
export async function measureTables(
  databaseUrl: string,
): Promise<{ payments: number; megabytes: number }> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ payments: number; megabytes: number }>(
      `select (select count(*)::integer from payments.payment) as payments,
         (select sum(pg_total_relation_size(c.oid) / 1048576)::integer from pg_class c
            where c.relnamespace = 'payments'::regnamespace and c.relkind = 'r') as megabytes`,
    )
    const [row] = rows
    if (row === undefined) throw new Error('a count has no row')
    return row
  })
}
