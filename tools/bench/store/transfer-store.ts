// Creates people with money and sessions for a load of transactions, and counts what it has stored.
import { onDatabase } from './on-database.ts'

/** The sandbox's Ama Mensah, as often as it takes. */
const people = `
  insert into accounts.account (account_id, institution_id, account_number, mobile_number, email,
    email_folded, first_name, first_name_folded, last_name, last_name_folded, country, currency,
    status, level, funds_access)
  select gen_random_uuid(), institution_id, 'BENCH' || n, '+1868350' || lpad(n::text, 4, '0'), email,
    email_folded, first_name, first_name_folded, last_name, last_name_folded, country, currency,
    status, level, funds_access
  from accounts.account cross join generate_series(0, $1::integer - 1) as n
  where mobile_number = '+12025550100'`

const balances = `
  insert into accounts.ledger_account (holder_id, holder, currency, posted_minor)
  select account_id, 'customer', currency, 100000000 from accounts.account
  where account_number like 'BENCH%'`

const sessions = `
  insert into accounts.session (session_id, project_id, institution_id, account_id, token_hash,
    ttl_s, expire_time)
  select gen_random_uuid(), p.project_id, a.institution_id, a.account_id,
    sha256(convert_to('pws_' || lpad(n::text, 43, '0'), 'UTF8')), 3600, now() + interval '1 hour'
  from generate_series(0, $1::integer - 1) as n
    join accounts.account a on a.account_number = 'BENCH' || n % $2::integer
    cross join (select project_id from accounts.project where name = 'demo') as p`

/** Makes people and one session for each transaction, of the people in turns. */
export async function preparePeople(
  databaseUrl: string,
  { accounts, transactions }: { accounts: number; transactions: number },
): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query(people, [accounts])
    await client.query(balances)
    await client.query(sessions, [transactions, accounts])
    // As autovacuum would soon have done: a plan for empty tables reads them whole.
    await client.query('analyze')
  })
}

/** The token of the nth session. */
export function tokenOf(n: number): string {
  return `pws_${String(n).padStart(43, '0')}`
}

/** Counts transactions that are completed, and movements that were posted. */
export async function countTransactions(
  databaseUrl: string,
): Promise<{ completed: number; posted: number }> {
  return onDatabase(databaseUrl, async (client) => {
    const counted = await client.query<{ completed: number; posted: number }>(
      `select (select count(*)::integer from institution.transaction where state = 'completed')
           as completed,
         (select count(*)::integer from accounts.movement where state = 'posted') as posted`,
    )
    return counted.rows[0] ?? { completed: 0, posted: 0 }
  })
}
