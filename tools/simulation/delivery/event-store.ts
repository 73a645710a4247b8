// The statement by which the producers of the simulation write an event under their own lease, as payments does.
import { type Queryable, sql } from '#platform/db/db.ts'
import {
  leasedUntil,
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
} from '#platform/events/outbox.ts'

const insertStatement = sql(
  'simulation_insert_leased',
  `insert into outbox (${outboxColumns}, next_at) values (${outboxParameters(1)}, ${leasedUntil})
   returning occurred_at as "occurredAt"`,
)

/** Inserts an event that its writer will publish; returns its time. Rejects as a Queryable does. */
export async function insertLeased(tx: Queryable, event: OutboxEvent): Promise<Date> {
  const row = await tx.row<{ occurredAt: Date }>(insertStatement, outboxValues(event))
  if (row === undefined) throw new Error('the event was not inserted')
  return row.occurredAt
}
