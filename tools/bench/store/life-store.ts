// Watches whole payments in the tables of a mesh, and reads what its statements cost.
import { setTimeout as sleep } from 'node:timers/promises'
import { onDatabase } from './on-database.ts'

const pollMs = 50
const patienceMs = 60_000

/** What is left to do of some payments. */
type Left = { unpaid: number; unposted: number; unconfirmed: number }

/** Waits until every payment is paid and paid out, and every movement of money is in the ledger. */
export async function waitForPosted(databaseUrl: string): Promise<void> {
  await waitFor(databaseUrl, ({ unpaid, unposted }) => unpaid + unposted === 0)
}

/** Waits until every event is confirmed. */
export async function waitForConfirmed(databaseUrl: string): Promise<void> {
  await waitFor(databaseUrl, ({ unconfirmed }) => unconfirmed === 0)
}

async function waitFor(databaseUrl: string, isDone: (left: Left) => boolean): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    const untilMs = performance.now() + patienceMs
    for (;;) {
      const { rows } = await client.query<Left>(
        `select (select count(*)::integer from payments.payee where payout_state <> 'completed')
           as unpaid,
           (select count(*)::integer from payments.settlement s
            where not exists (select from accounts.transfer t
              where t.project_id = s.project_id and t.transfer_id = s.settlement_id)) as unposted,
           (select count(*)::integer from payments.outbox where confirmed_at is null) as unconfirmed`,
      )
      const [left] = rows
      if (left !== undefined && isDone(left)) return
      if (performance.now() > untilMs) throw new Error(`left to do: ${JSON.stringify(left)}`)
      await sleep(pollMs)
    }
  })
}

/** A statement's share of the cost of some payments. */
export type StatementCost = { statement: string; calls: number; micros: number; rows: number }

/** What all statements cost since `forgetStatements`, and how many transactions committed. */
export type StatementCosts = { all: StatementCost[]; commits: number }

/** Has the server count statements from its next start on. */
export async function countStatements(databaseUrl: string): Promise<void> {
  await onDatabase(databaseUrl, async (client) => {
    await client.query('create extension if not exists pg_stat_statements')
    await client.query("alter system set shared_preload_libraries = 'pg_stat_statements'")
  })
}

/** Begins to count. */
export async function forgetStatements(databaseUrl: string): Promise<number> {
  return await onDatabase(databaseUrl, async (client) => {
    await client.query('select pg_stat_statements_reset()')
    return readCommits(client)
  })
}

/** What was counted; `commitsBefore` as `forgetStatements` returned it. */
export async function readStatements(
  databaseUrl: string,
  commitsBefore: number,
): Promise<StatementCosts> {
  return await onDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<StatementCost>(
      `select regexp_replace(query, '\\s+', ' ', 'g') as statement, sum(calls)::integer as calls,
         sum(total_exec_time + total_plan_time) * 1000 as micros, sum(rows)::integer as rows
       from pg_stat_statements where query not like '%pg_stat_statements%'
       group by 1 order by 3 desc`,
    )
    return { all: rows, commits: (await readCommits(client)) - commitsBefore }
  })
}

async function readCommits(client: {
  query: (text: string) => Promise<{ rows: unknown[] }>
}): Promise<number> {
  const { rows } = await client.query(
    'select xact_commit::integer as commits from pg_stat_database where datname = current_database()',
  )
  return (rows[0] as { commits: number } | undefined)?.commits ?? 0
}
