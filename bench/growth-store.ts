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

const rowsAtOnce = 50_000

/**
 * Copies the rows of one payment that exists, with ids and times of the past: so many payments, each with its payer,
 * payee, event, and task, all of them done. Brings the tables to rest afterwards.
 */
export async function layDownPayments(databaseUrl: string, count: number): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query('set search_path = payments')
    await client.query('set synchronous_commit = off')
    await client.query(
      `create temp table pattern as select payment_id, now() as laid_time
       from payment order by create_time limit 1`,
    )
    const copies: string[] = []
    for (const [name, changes] of Object.entries(changed)) {
      copies.push(await copyOf(client, name, changes))
    }
    for (let first = 1; first <= count; first += rowsAtOnce) {
      await client.query(
        `create temp table made on commit preserve rows as
         select laid_time - n * interval '1 second' as at, n, gen_random_uuid() as event_id,
           uuidv7(-n * interval '1 second') as payment_id,
           uuidv7(-n * interval '1 second') as payer_id, uuidv7(-n * interval '1 second') as payee_id
         from pattern, generate_series(${first}, ${Math.min(count, first + rowsAtOnce - 1)}) as n`,
      )
      for (const copy of copies) await client.query(copy)
      await client.query('drop table made')
    }
    for (const table of Object.keys(changed)) await client.query(`vacuum analyze ${table}`)
    await client.query('checkpoint')
  })
}

/** By table, what a copy has in place of the pattern's values; `m` is a row of what is made. */
const changed: Record<string, Record<string, string>> = {
  payment: {
    payment_id: 'm.payment_id',
    transaction_id: "'past-' || m.n",
    state: "'Expired'",
    create_time: 'm.at',
    update_time: 'm.at',
    expire_time: 'm.at',
    expiry_check_time: 'null::timestamptz',
  },
  payer: {
    payment_id: 'm.payment_id',
    payer_id: 'm.payer_id',
    state: "'Expired'",
    create_time: 'm.at',
    expire_time: 'm.at',
    link_token_hash: 'sha256(m.payer_id::text::bytea)',
  },
  payee: { payment_id: 'm.payment_id', payee_id: 'm.payee_id', payout_state: "'voided'" },
  task: {
    payment_id: 'm.payment_id',
    subject_id: 'm.payer_id',
    create_time: 'm.at',
    next_time: 'm.at',
    done_time: 'm.at',
  },
  outbox: {
    event_id: 'm.event_id',
    occurred_at: 'm.at',
    next_at: 'm.at',
    attempts: '1',
    published_at: 'm.at',
    // Now, or the service would begin to delete what is older than a week.
    confirmed_at: 'clock_now()',
    parked_at: 'null::timestamptz',
  },
}

/** The statement that copies the pattern's row of a table for all that is made. */
async function copyOf(
  client: Client,
  name: string,
  changes: Record<string, string>,
): Promise<string> {
  const { rows } = await client.query<{ column: string }>(
    `select attname as column from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [name],
  )
  const columns = rows.map(({ column }) => column)
  const values = columns.map((column) => changes[column] ?? `t.${column}`)
  const pattern =
    name === 'outbox'
      ? '(select * from outbox order by occurred_at limit 1) t'
      : `(${name} t join pattern using (payment_id))`
  return `insert into ${name} (${columns.join(', ')})
    select ${values.join(', ')} from made m cross join ${pattern}`
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
