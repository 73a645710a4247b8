// Counts what a run has stored, to compare it with what was acknowledged.
import { onDatabase } from './on-database.ts'

/** Rows of a run, and how much of the work behind them was still waiting at that moment. */
export type Stored = {
  payments: number
  payers: number
  payees: number
  events: number
  /** Payers whose charge the back end knows, or a task will announce to it. */
  announced: number
  eventsWaiting: number
  tasksWaiting: number
}

/** Counts the rows of payments. */
export async function countStored(databaseUrl: string): Promise<Stored> {
  return await onDatabase(databaseUrl, async (client) => {
    const counted = await client.query<Stored>(
      `select (select count(*)::integer from payments.payment) as payments,
         (select count(*)::integer from payments.payer) as payers,
         (select count(*)::integer from payments.payee) as payees,
         (select count(*)::integer from payments.outbox) as events,
         (select count(*)::integer from payments.payer
          where exists (select from payments.task where subject_id = payer_id)
            or exists (select from simulator.charge where charge_id = payer_id)) as announced,
         (select count(*)::integer from payments.outbox where published_at is null)
           as "eventsWaiting",
         (select count(*)::integer from payments.task where done_time is null) as "tasksWaiting"`,
    )
    const [row] = counted.rows
    if (row === undefined) throw new Error('a count has no row')
    return row
  })
}

/** Counts the quotes. */
export async function countQuotes(databaseUrl: string): Promise<number> {
  return await onDatabase(databaseUrl, async (client) => {
    const counted = await client.query<{ quotes: number }>(
      'select count(*)::integer as quotes from quotes.quote',
    )
    return counted.rows[0]?.quotes ?? 0
  })
}

/** Some payments that exist. */
export async function readPaymentKeys(
  databaseUrl: string,
): Promise<{ projectId: string; paymentId: string }[]> {
  return await onDatabase(databaseUrl, async (client) => {
    const found = await client.query<{ projectId: string; paymentId: string }>(
      `select project_id as "projectId", payment_id as "paymentId" from payments.payment
       order by transaction_id limit 2000`,
    )
    return found.rows
  })
}
