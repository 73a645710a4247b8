// Claims, reads and changes transactions, each change under the lease of the row.
import { type Queryable, sql } from '#platform/db/db.ts'
import {
  type OutboxEvent,
  outboxColumns,
  outboxParameters,
  outboxValues,
} from '#platform/events/outbox.ts'
import type { Draft, Leased, Outcome, Reservation, Transaction } from '../domain/transaction.ts'
import { columns, readRow, type TransactionRow } from './transaction-row.ts'

/** Names a transaction as its client does. */
export type TransactionKey = { projectId: string; institutionId: string; transactionId: string }

const claimStatement = sql(
  'transaction_claim',
  `insert into transaction (movement_id, project_id, institution_id, institution_name,
     transaction_id, receipt_id, request_fingerprint, type, amount_minor, currency,
     sender_amount_minor, sender_currency, fee_total_minor, fee_convenience_minor,
     fee_sender_pays_minor, fee_recipient_pays_minor, quote_id, description, debit_account_id,
     credit_account_id, debit_mobile_number, credit_mobile_number, described,
     session_token_hash, limit_account_id, limit_minor, limit_currency, hold_expire_time,
     lease_token, next_time, claim_time, counts_limit)
   select $1, $2, $3, $4, $5, $6, $7, $8::transaction_type, $9, $10, $11, $12, $13, $14, $15, $16,
     $17, $18, $19, $20, $21, $22, $23::jsonb, $24, $25, $26, $27,
     date_trunc('milliseconds', business_now()) + $28::integer * interval '1 second',
     $29, clock_now() + $30::integer * interval '1 millisecond', business_now(), $31
   on conflict (project_id, transaction_id, institution_id) do nothing
   returning hold_expire_time`,
)

/** Who holds a row, and for how long. */
export type Lease = { token: string; ms: number }

/** Claims the client's id for a request; undefined when it is taken. The row is leased to the caller. */
export async function insertClaim(
  db: Queryable,
  draft: Draft,
  lease: Lease,
  holdS: number,
): Promise<Leased | undefined> {
  const { fees, limit, described } = draft
  const row = await db.row<{ hold_expire_time: Date }>(claimStatement, [
    draft.movementId,
    draft.projectId,
    draft.institutionId,
    draft.institutionName,
    draft.transactionId,
    draft.receiptId,
    draft.fingerprint,
    draft.type,
    draft.amountMinor,
    draft.currency,
    draft.senderAmountMinor,
    draft.senderCurrency,
    fees.totalMinor,
    fees.convenienceMinor,
    fees.senderPaysMinor,
    fees.recipientPaysMinor,
    draft.quoteId ?? null,
    draft.description,
    draft.debitAccountId ?? null,
    draft.creditAccountId ?? null,
    described.debitParty.mobileNumber,
    described.creditParty.mobileNumber,
    JSON.stringify(described),
    draft.tokenHash,
    limit.accountId,
    limit.minor,
    limit.currency,
    holdS,
    lease.token,
    lease.ms,
    limit.isCounted,
  ])
  if (row === undefined) return undefined
  return { ...draft, ...untouched, holdExpireTime: row.hold_expire_time, leaseToken: lease.token }
}

const untouched = {
  state: 'claimed',
  reservation: undefined,
  createTime: undefined,
  endTime: undefined,
  isLate: false,
  isSubmitted: false,
  outcome: undefined,
  enquiries: 0,
  isRefused: false,
  quoteNotified: undefined,
  attempts: 0,
  unexecutedAttempts: 0,
} as const

const findStatement = sql(
  'transaction_find',
  `select ${columns} from transaction
   where project_id = $1 and transaction_id = $2 and institution_id = $3`,
)

/** Reads a transaction or a claim. Locks nothing. */
export async function findByKey(
  db: Queryable,
  key: TransactionKey,
): Promise<Transaction | undefined> {
  const { projectId, transactionId, institutionId } = key
  const row = await db.row<TransactionRow>(findStatement, [projectId, transactionId, institutionId])
  return row === undefined ? undefined : readRow(row)
}

const findNamedStatement = sql(
  'transaction_find_named',
  `select ${columns} from transaction
   where project_id = $1 and transaction_id = $2 and institution_name = $3`,
)

/** The same by the name of the institution. Locks nothing. */
export async function findByName(
  db: Queryable,
  key: { projectId: string; transactionId: string; institutionName: string },
): Promise<Transaction | undefined> {
  const { projectId, transactionId, institutionName } = key
  const row = await db.row<TransactionRow>(findNamedStatement, [
    projectId,
    transactionId,
    institutionName,
  ])
  return row === undefined ? undefined : readRow(row)
}

const findByIdStatement = sql(
  'transaction_find_by_id',
  `select ${columns} from transaction where movement_id = $1 and project_id = $2`,
)

/** The same by its UUID. Locks nothing. */
export async function findById(
  db: Queryable,
  { projectId, movementId }: { projectId: string; movementId: string },
): Promise<Transaction | undefined> {
  const row = await db.row<TransactionRow>(findByIdStatement, [movementId, projectId])
  return row === undefined ? undefined : readRow(row)
}

const reserveStatement = sql(
  'transaction_reserve',
  `update transaction set quote_expire_time = $3, rounding_minor = $4, rounding_currency = $5
   where movement_id = $1 and lease_token = $2 and state = 'claimed'`,
)

/** Records what the reservation of the quote said; false when the lease was lost. */
export async function recordReservation(
  db: Queryable,
  { movementId, leaseToken }: Leased,
  { expireTime, rounding }: Reservation,
): Promise<boolean> {
  const values = [movementId, leaseToken, expireTime, rounding.minor, rounding.currency ?? null]
  return (await db.run(reserveStatement, values)) === 1
}

const dropStatement = sql(
  'transaction_drop',
  "delete from transaction where movement_id = $1 and lease_token = $2 and state = 'claimed'",
)

/** Deletes a refused claim; false when the lease was lost. */
export async function dropClaim(
  db: Queryable,
  { movementId, leaseToken }: Leased,
): Promise<boolean> {
  return (await db.run(dropStatement, [movementId, leaseToken])) === 1
}

const refuseStatement = sql(
  'transaction_refuse',
  `update transaction set is_refused = $3
   where movement_id = $1 and lease_token = $2 and state = 'claimed'`,
)

/** Records that a claim is refused, before its movement and quote are undone; false when the lease was lost. */
export async function recordRefusal(
  db: Queryable,
  { movementId, leaseToken }: Leased,
): Promise<boolean> {
  return (await db.run(refuseStatement, [movementId, leaseToken, true])) === 1
}

/** Forgets it: the movement has begun all the same. Changes nothing when the lease was lost. */
export async function forgetRefusal(
  db: Queryable,
  { movementId, leaseToken }: Leased,
): Promise<void> {
  await db.run(refuseStatement, [movementId, leaseToken, false])
}

const acceptStatement = sql(
  'transaction_accept',
  `with accepted as (
     update transaction set state = $3::transaction_state, create_time = $4::timestamptz,
       end_time = case when $3::transaction_state = 'completed' then $4::timestamptz end,
       deadline = case when $3::transaction_state = 'pending'
         then $4::timestamptz + $5::integer * interval '1 second' end,
       lease_token = null, attempts = 0,
       next_time = case when $3::transaction_state = 'pending' then clock_now()
         when quote_id is not null then clock_now() + interval '2 seconds' end
     where movement_id = $1 and lease_token = $2 and state = 'claimed'
     returning movement_id
   ), event as (
     insert into outbox (${outboxColumns}) select ${outboxParameters(6)} from accepted
   )
   select 1 from accepted`,
)

/** Makes a claim a transaction, with its event; false when the lease was lost. */
export async function acceptClaim(
  db: Queryable,
  { movementId, leaseToken }: Leased,
  { state, createTime, ttlS }: { state: 'pending' | 'completed'; createTime: Date; ttlS: number },
  event: OutboxEvent,
): Promise<boolean> {
  const values = [movementId, leaseToken, state, createTime, ttlS, ...outboxValues(event)]
  return (await db.row(acceptStatement, values)) !== undefined
}

const endStatement = sql(
  'transaction_end',
  `with ended as (
     update transaction set state = $3::transaction_state, end_time = $4::timestamptz,
       lease_token = null, attempts = 0,
       next_time = case when quote_id is not null then clock_now() end
     where movement_id = $1 and lease_token = $2 and state = 'pending'
     returning movement_id
   ), event as (
     insert into outbox (${outboxColumns}) select ${outboxParameters(5)} from ended
   )
   select 1 from ended`,
)

/** Ends a pending transaction, with its event; false when the lease was lost. */
export async function endTransaction(
  db: Queryable,
  { movementId, leaseToken }: Leased,
  { state, endTime }: { state: Outcome; endTime: Date },
  event: OutboxEvent,
): Promise<boolean> {
  const values = [movementId, leaseToken, state, endTime, ...outboxValues(event)]
  return (await db.row(endStatement, values)) !== undefined
}
