// Statements on the payments that wait for an operator.
import { type Queryable, sql } from '#platform/db/db.ts'

/** What a list of them shows; when the review began is in microseconds since 1970, as the database keeps it. */
export type ReviewRow = {
  projectId: string
  transactionId: string
  reviewTimeUs: bigint
  id: string
}

const listStatement = sql(
  'review_list',
  `select project_id as "projectId", transaction_id as "transactionId",
     (extract(epoch from review_time) * 1000000)::bigint as "reviewTimeUs", bill_payment_id as id
   from bill_payment
   where state = 'review' and ($4::uuid is null or bill_payment_id = $4) and ($1::bigint is null or (review_time, bill_payment_id)
     > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::uuid))
   order by review_time, bill_payment_id limit $3`,
)

/** Where a page of the list begins: after this row. */
export type ReviewCursor = Pick<ReviewRow, 'reviewTimeUs' | 'id'>

/** A page, oldest first, or the one of an id. */
export function listReviews(
  db: Queryable,
  { after, id }: { after: ReviewCursor | undefined; id: string | undefined },
  limit: number,
): Promise<ReviewRow[]> {
  const cursor = [after?.reviewTimeUs ?? null, after?.id ?? null]
  return db.rows(listStatement, [...cursor, limit, id ?? null])
}

const lockStatement = sql(
  'review_take',
  `update bill_payment set lease_token = $3
   where project_id = $1 and transaction_id = $2 and state = 'review'
   returning bill_payment_id as id`,
)

/** Locks one within a transaction; undefined when it does not wait for an operator. */
export async function lockReview(
  tx: Queryable,
  projectId: string,
  transactionId: string,
  leaseToken: string,
): Promise<string | undefined> {
  const row = await tx.row<{ id: string }>(lockStatement, [projectId, transactionId, leaseToken])
  return row?.id
}

const againStatement = sql(
  'review_again',
  `update bill_payment set state = 'pending', enquiries = 0, next_time = clock_now(), review_time = null,
     lease_token = null
   where bill_payment_id = $1 and lease_token = $2 and state = 'review'`,
)

/** Makes the next enquiry due, from the beginning of the schedule. */
export async function enquireAgain(
  tx: Queryable,
  billPaymentId: string,
  leaseToken: string,
): Promise<void> {
  await tx.run(againStatement, [billPaymentId, leaseToken])
}
