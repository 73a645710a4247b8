// Statements on the test clock of a service (migrations/clock/0002-business-now.sql).
import { type Queryable, sql } from '#platform/db/db.ts'

/** Business time, and how far it is ahead of real time in milliseconds. */
export type BusinessClock = { businessTime: Date; aheadMs: number }

const readStatement = sql(
  'clock_read',
  `select date_trunc('milliseconds', business_now()) as "businessTime",
     round(extract(epoch from clock_ahead()) * 1000)::float8 as "aheadMs"`,
)

/** Reads the clock. Locks nothing. Rejects as a Queryable does. */
export async function readBusinessClock(db: Queryable): Promise<BusinessClock> {
  const row = await db.row<BusinessClock>(readStatement, [])
  if (row === undefined) throw new Error('the clock has no row')
  return row
}

const advanceStatement = sql('clock_advance', 'select advance_clock($1)::float8 as "movedMs"')

/**
 * Moves business time until it is so far ahead; returns by how many milliseconds it moved, 0 when it was as far. Waits for another move, until
 * the end of its transaction. Rejects as a Queryable does.
 */
export async function moveBusinessClock(tx: Queryable, aheadMs: bigint): Promise<number> {
  return (await tx.row<{ movedMs: number }>(advanceStatement, [aheadMs]))?.movedMs ?? 0
}
