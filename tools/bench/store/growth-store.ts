// Statements of the measurement with many payments: inserts them, all ended, and lists them.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { withoutIndexes } from './bulk-load-store.ts'
import { onDatabase } from './on-database.ts'

/** How much past there is. */
export type Past = {
  payments: number
  /** Events in the outbox, each confirmed by one consumer that has it in its inbox. */
  events: number
}

/**
 * Copies the rows of one payment that exists, with ids and times of the past: `payments` payments, each with its payer,
 * payee and task, and `events` events, all of them done. No service may run meanwhile: the tables have no indexes
 * until their rows are there.
 */
export async function loadHistory(databaseUrl: string, past: Past): Promise<void> {
  // Neither waits for the other, and the machine has two cores.
  await Promise.all([
    onDatabase(databaseUrl, (client) => loadPayments(client, past.payments)),
    onDatabase(databaseUrl, (client) => loadEvents(client, past.events)),
  ])
  await onDatabase(databaseUrl, (client) => client.query('checkpoint'))
}

/** A second between one payment and the next. */
async function loadPayments(client: Client, count: number): Promise<void> {
  await client.query('set search_path = payments')
  await client.query(
    `create temp table pattern as
     select payment_id, now() as laid_time from payment order by create_time limit 1`,
  )
  await client.query(
    `create temp table made as
     select laid_time - n * interval '1 second' as at, n,
       uuidv7(-n * interval '1 second') as payment_id,
       uuidv7(-n * interval '1 second') as payer_id, uuidv7(-n * interval '1 second') as payee_id
     from pattern, generate_series(${count}, 1, -1) as n`,
  )
  for (const [table, changes] of Object.entries(ofPayment)) {
    // Of the pattern's announcement no task is left.
    const copied = table === 'task' ? 'payer' : table
    const pattern = `(${copied} t join pattern using (payment_id))`
    await withoutIndexes(client, table, () => copy(client, table, pattern, changes))
  }
}

/** Spread evenly over the time that they are kept for, so that some are due to be deleted all the time. */
async function loadEvents(client: Client, count: number): Promise<void> {
  await client.query('set search_path = payments')
  await client.query(
    'create temp table pattern as select * from outbox order by occurred_at limit 1',
  )
  await client.query(
    `create temp table made as
     select now() - n * (interval '7 days' / ${count}) as at,
       now() - n * (interval '30 days' / ${count}) as taken_at,
       uuidv7(-n * (interval '7 days' / ${count})) as event_id
     from generate_series(${count}, 1, -1) as n`,
  )
  await withoutIndexes(client, 'outbox', () => copy(client, 'outbox', 'pattern t', ofOutbox))
  await withoutIndexes(client, 'confirmation', () =>
    client.query(
      `insert into confirmation (event_id, consumer, state, answered_at)
       select event_id, 'delivery', 'seen', at from made`,
    ),
  )
  await client.query('set search_path = delivery')
  await withoutIndexes(client, 'inbox', () =>
    client.query('insert into inbox (event_id, taken_at) select event_id, taken_at from made'),
  )
}

/** By table, what a copy has in place of the pattern's values; `m` is a row of what is made. */
const ofPayment: Record<string, Record<string, string>> = {
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
  // The withdrawal of the charge, since the payment has expired.
  task: {
    payment_id: 'm.payment_id',
    subject_id: 'm.payer_id',
    kind: "'withdraw'::task_kind",
    reason: "'Expired'::payment_state",
    attempts: '1',
    unsent_attempts: '0',
    create_time: 'm.at',
    next_time: 'm.at',
    done_time: 'm.at',
  },
}

const ofOutbox: Record<string, string> = {
  event_id: 'm.event_id',
  subject: "'pw.payments.event'",
  occurred_at: 'm.at',
  next_at: 'm.at',
  attempts: '1',
  published_at: 'm.at',
  confirmed_at: 'm.at',
  parked_at: 'null::timestamptz',
}

/** Copies the pattern's row of a table for all that is made. */
async function copy(
  client: Client,
  table: string,
  pattern: string,
  changes: Record<string, string>,
): Promise<void> {
  const { rows } = await client.query<{ column: string }>(
    `select attname as column from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  const columns = rows.map(({ column }) => column)
  const values = columns.map((column) => changes[column] ?? `t.${column}`)
  await client.query(
    `insert into ${table} (${columns.join(', ')})
     select ${values.join(', ')} from made m cross join ${pattern}`,
  )
}

/** Ids of `count` payments of one merchant, spread over all of its payments. */
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

/** Ids of the payments that were made last. */
export async function newestPaymentIds(databaseUrl: string, count: number): Promise<string[]> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ payment_id: string }>(
      'select payment_id from payments.payment order by payment_id desc limit $1',
      [count],
    )
    return rows.map((row) => row.payment_id)
  })
}

/** Pages that were asked for: found in the buffers of PostgreSQL, and not. */
export type Pages = { hit: number; missed: number }

/** PostgreSQL backends report their statistics at most so late. */
const notifiedAfterMs = 1_200

/** Pages of the tables of payments and their indexes since the start. */
export async function pagesFetched(databaseUrl: string): Promise<Pages> {
  await sleep(notifiedAfterMs)
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<Pages>(
      `select sum(heap_blks_hit + idx_blks_hit)::float8 as hit,
         sum(heap_blks_read + idx_blks_read)::float8 as missed
       from pg_statio_user_tables
       where schemaname = 'payments' and relname in ('payment', 'payer', 'payee')`,
    )
    const [row] = rows
    if (row === undefined) throw new Error('a sum has no row')
    return row
  })
}

/** What there is, and the size of the tables and indexes of the services in MB. */
export type Stock = { payments: number; events: number; megabytes: number }

/** Counts payments, and rows of outbox and inbox together. */
export async function measureTables(databaseUrl: string): Promise<Stock> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<Stock>(
      `select (select count(*)::integer from payments.payment) as payments,
         ((select count(*) from payments.outbox) + (select count(*) from delivery.inbox))::integer
           as events,
         (select sum(pg_total_relation_size(c.oid) / 1048576)::integer from pg_class c
            where c.relnamespace in ('payments'::regnamespace, 'delivery'::regnamespace)
              and c.relkind = 'r') as megabytes`,
    )
    const [row] = rows
    if (row === undefined) throw new Error('a count has no row')
    return row
  })
}
