// Claims due rows and records how far the work on them got.
import { storableText } from '#core/text/text.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Leased, Outcome, ShownState, TransactionState } from '../domain/transaction.ts'
import { columns, readRow, type TransactionRow } from './transaction-row.ts'
import type { Lease } from './transaction-store.ts'

const claimStatement = sql(
  'transaction_take',
  `with due as (
     select movement_id as due_id from transaction
     where next_time <= clock_now()
     order by next_time limit $1 for update skip locked
   )
   update transaction set lease_token = $2, attempts = attempts + 1,
     next_time = clock_now() + $3::integer * interval '1 millisecond'
   from due where movement_id = due.due_id
   returning ${columns}`,
)

/** Claims due rows. Locks them for this one statement; locked ones are skipped. */
export async function claimDueTransactions(
  db: Queryable,
  limit: number,
  lease: Lease,
): Promise<Leased[]> {
  const rows = await db.rows<TransactionRow>(claimStatement, [limit, lease.token, lease.ms])
  return rows.map((row) => ({ ...readRow(row), leaseToken: lease.token }))
}

const postponeStatement = sql(
  'transaction_later',
  `update transaction set lease_token = null, unexecuted_attempts = unexecuted_attempts + $5::integer,
     next_time = clock_now()
       + least($3::integer * power(2, least(attempts, 10)), $4::integer) * interval '1 millisecond'
   where movement_id = $1 and lease_token = $2`,
)

/** How long a transaction waits after a failure: `firstMs`, doubling up to `maxMs`. */
export type RetryDelay = {
  firstMs: number
  maxMs: number
  /** The attempt certainly executed no transfer. */
  isUnexecuted?: boolean
}

/** Postpones a transaction after a failure; changes nothing when the lease was lost. */
export async function postponeTransaction(
  db: Queryable,
  { movementId, leaseToken }: Leased,
  { firstMs, maxMs, isUnexecuted = false }: RetryDelay,
): Promise<void> {
  const values = [movementId, leaseToken, firstMs, maxMs, isUnexecuted ? 1 : 0]
  await db.run(postponeStatement, values)
}

const waitStatement = sql(
  'transaction_wait',
  `update transaction set lease_token = null, attempts = 0, enquiries = $4,
     told_time = coalesce(told_time, clock_now()),
     next_time = case when outcome is not null then clock_now()
       when deadline > business_now()
       then clock_now() + least($3::integer * interval '1 second', deadline - business_now())
       else clock_now() + $3::integer * interval '1 second' end
   where movement_id = $1 and lease_token = $2 and state = 'pending'`,
)

/** Records that the back end has the transfer, and waits for its outcome until the next enquiry, or the deadline if that is sooner. */
export async function waitForOutcome(
  db: Queryable,
  { movementId, leaseToken }: Leased,
  { waitS, enquiries }: { waitS: number; enquiries: number },
): Promise<void> {
  await db.run(waitStatement, [movementId, leaseToken, waitS, enquiries])
}

const outcomeStatement = sql(
  'transaction_outcome',
  `update transaction set outcome = coalesce(outcome, $2::transaction_state),
     outcome_reason = case when outcome is null then $3 else outcome_reason end,
     next_time = case when state = 'pending' and outcome is null then clock_now()
       else next_time end
   where movement_id = $1 and state <> 'claimed' and type <> 'p2p'
   returning outcome, state`,
)

const maxReason = 1_000

/**
 * Records how a transfer ended at the back end, with as much of its reason as can be stored; the first outcome stands and is answered.
 * Undefined: no such transfer.
 */
export function recordOutcome(
  db: Queryable,
  movementId: string,
  { outcome, reason }: { outcome: Outcome; reason: string },
): Promise<{ outcome: Outcome; state: TransactionState } | undefined> {
  return db.row(outcomeStatement, [movementId, outcome, storableText(reason, maxReason)])
}

const quoteNotifiedStatement = sql(
  'transaction_quote_told',
  `update transaction set quote_told = $2::transaction_state,
     next_time = case when state in ('completed', 'failed', 'cancelled')
       and state = $2::transaction_state then null else next_time end,
     lease_token = case when state = $2::transaction_state and state <> 'pending' then null
       else lease_token end
   where movement_id = $1 and quote_id is not null`,
)

/** Records which state the quotes service knows; a transaction that has ended in it is done with. */
export async function recordQuoteNotified(
  db: Queryable,
  movementId: string,
  state: ShownState,
): Promise<void> {
  await db.run(quoteNotifiedStatement, [movementId, state])
}

const resumeStatement = sql(
  'transaction_resume',
  `update transaction set next_time = case when lease_token is null
     then least(next_time, clock_now()) else next_time end
   where movement_id = $1 and next_time is not null`,
)

/** Makes the next step of a row due, unless somebody takes it now; false when it has none. Locks the row. */
export async function resume(db: Queryable, movementId: string): Promise<boolean> {
  return (await db.run(resumeStatement, [movementId])) > 0
}

const bringForwardStatement = sql(
  'transaction_bring_forward',
  `update transaction set next_time = next_time - $1 * interval '1 millisecond'
   where next_time is not null and lease_token is null`,
)

/** Brings forward what nobody works on: enquiries and deadlines of transfers. Locks those rows until the transaction ends. */
export async function bringForward(tx: Queryable, byMs: number): Promise<void> {
  await tx.run(bringForwardStatement, [byMs])
}

const backlogStatement = sql(
  'transaction_backlog',
  `select states.state::text as state, count(transaction.movement_id)::integer as open,
     coalesce(extract(epoch from business_now() - min(transaction.claim_time)), 0)::float8
       as "oldestS"
   from unnest(array['claimed', 'pending']::transaction_state[]) as states(state)
     left join transaction on transaction.state = states.state and transaction.next_time is not null
   group by states.state`,
)

/** How many rows wait in each open state, and for how long the oldest. */
export function backlog(
  db: Queryable,
): Promise<{ state: string; open: number; oldestS: number }[]> {
  return db.rows(backlogStatement, [])
}
