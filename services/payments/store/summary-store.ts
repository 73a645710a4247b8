// Counts a merchant's payments of a day. A trigger of the table payment writes a row for each that ends (0012-payment-hours.sql).
import type { PaymentState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** Number of payments that reached a state, and the sum of their amounts. */
export type PaymentCount = {
  state: PaymentState
  currency: string
  count: bigint
  amountMinor: bigint
}

/** Payments that reached a state within the hour that begins at a time. */
export type HourCount = PaymentCount & { startTime: Date }

// In the order of the key, so that two replicas never wait for each other's sums.
const rollUpStatement = sql(
  'payment_end_roll_up',
  `with gone as (
     delete from payment_end where ctid = any (array(
       select ctid from payment_end order by project_id, merchant_id, payment_id, state
       limit $1 for update skip locked))
     returning project_id, merchant_id, hour, state, currency, amount_minor
   ), added as (
     insert into payment_hour as h
       (project_id, merchant_id, hour, state, currency, payments, amount_minor)
     select project_id, merchant_id, hour, state, currency, count(*), sum(amount_minor) from gone
     group by project_id, merchant_id, hour, state, currency
     order by project_id, merchant_id, hour, state, currency
     on conflict (project_id, merchant_id, hour, state, currency) do update
       set payments = h.payments + excluded.payments,
         amount_minor = h.amount_minor + excluded.amount_minor
   )
   select count(*)::integer as rows from gone`,
)

/** Adds up to `limit` ended payments to the counts of their hours; returns how many. Locks them and those counts. */
export async function rollUpEnds(db: Queryable, limit: number): Promise<number> {
  return (await db.row<{ rows: number }>(rollUpStatement, [limit]))?.rows ?? 0
}

const deleteStatement = sql(
  'payment_hour_delete_old',
  `delete from payment_hour where ctid = any (array(
     select ctid from payment_hour where hour < business_now() - interval '7 days'
     order by hour limit $1 for update skip locked))`,
)

/** Deletes up to `limit` counts of hours that nobody reads any more; returns how many. Skips rows that others hold. */
export function deleteOldHours(db: Queryable, limit: number): Promise<number> {
  return db.run(deleteStatement, [limit])
}

/** The sum of amounts that a response can contain at most. */
const maxMinor = '9223372036854775807'
const ofTheDay = `project_id = $1 and merchant_id = $2
     and hour >= date_trunc('hour', business_now(), 'UTC') - interval '23 hours'`

const hoursStatement = sql(
  'payment_hours',
  `select hour as "startTime", state, currency, sum(payments)::bigint as count,
     least(sum(amount_minor), ${maxMinor})::bigint as "amountMinor"
   from (
     select hour, state, currency, payments, amount_minor from payment_hour where ${ofTheDay}
     union all
     select hour, state, currency, 1, amount_minor from payment_end where ${ofTheDay}
   ) ended
   group by hour, state, currency order by hour, state, currency`,
)

const openStatement = sql(
  'payment_open_counts',
  `select p.state, p.currency, count(*)::bigint as count,
     least(sum(p.amount_minor), ${maxMinor})::bigint as "amountMinor"
   from unnest(array['Pending', 'Partially_paid']::payment_state[]) as wanted (state)
   cross join lateral (
     select one.state, one.currency, one.amount_minor from payment one
     where one.merchant_id = $2 and one.state = wanted.state and one.project_id = $1
     order by one.create_time desc, one.payment_id desc limit $3
   ) p
   group by p.state, p.currency order by p.state, p.currency`,
)

const timeStatement = sql(
  'payment_summary_time',
  `select date_trunc('milliseconds', business_now()) as now`,
)

/** What ended in the last 24 hours, this one included; what is open; and when that was read. */
export type PaymentCounts = { hours: HourCount[]; open: PaymentCount[]; now: Date }

/**
 * Reads the counts of a merchant. What ended is exact, before a roll-up too; of each open state the newest `maxOpen` are
 * counted. Locks nothing.
 */
export async function readCounts(
  db: Queryable,
  { projectId, merchantId }: { projectId: string; merchantId: string },
  maxOpen: number,
): Promise<PaymentCounts> {
  const [hours, open, time] = await Promise.all([
    db.rows<HourCount>(hoursStatement, [projectId, merchantId]),
    db.rows<PaymentCount>(openStatement, [projectId, merchantId, maxOpen]),
    db.row<{ now: Date }>(timeStatement, []),
  ])
  if (time === undefined) throw new Error('the clock has no row')
  return { hours, open, now: time.now }
}
