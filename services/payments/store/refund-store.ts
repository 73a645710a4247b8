// Watches refunds that wait for the report of the back end.
import { type Queryable, sql } from '#platform/db/db.ts'

const unreportedStatement = sql(
  'refund_unreported_oldest',
  `select extract(epoch from business_now() - min(create_time))::float8 as age_s from refund
   where state = 'sent'`,
)

/** Age in seconds of the oldest refund without an outcome; 0 when there is none. Locks nothing. */
export async function oldestUnreportedRefundS(db: Queryable): Promise<number> {
  return (await db.row<{ age_s: number | null }>(unreportedStatement, []))?.age_s ?? 0
}
