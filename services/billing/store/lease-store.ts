// Statements on the leases that an instance of billing has on payments.
import { type Queryable, sql } from '#platform/db/db.ts'
import { leaseTokensOf } from '#platform/instances/lease-token.ts'

const existStatement = sql(
  'bill_has_leases',
  `select exists (
     select from bill_payment where next_time is not null and lease_token between $1 and $2
   ) as "hasLeases"`,
)

/** Whether the instance has leases. Locks nothing. */
export async function hasLeases(db: Queryable, instanceId: string): Promise<boolean> {
  const { first, last } = leaseTokensOf(instanceId)
  const found = await db.row<{ hasLeases: boolean }>(existStatement, [first, last])
  return found?.hasLeases === true
}

const releaseStatement = sql(
  'bill_release_leases',
  `with lost as (
     select bill_payment_id from bill_payment
     where next_time > clock_now() and lease_token between $2 and $3
     order by next_time limit $1
     for update skip locked
   )
   update bill_payment set next_time = clock_now()
   from lost where bill_payment.bill_payment_id = lost.bill_payment_id`,
)

/**
 * Makes up to `limit` payments due for an enquiry that are under leases of an instance that has ended; resolves to how many. Skips
 * locked ones.
 */
export function releaseLeases(tx: Queryable, instanceId: string, limit: number): Promise<number> {
  const { first, last } = leaseTokensOf(instanceId)
  return tx.run(releaseStatement, [limit, first, last])
}
