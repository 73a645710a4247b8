// Statements on transfers.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { TransferEnd, TransferState, TransferType } from '../domain/transfer.ts'

/** A transfer to store. */
export type NewTransfer = {
  transferId: string
  type: TransferType
  institutionName: string
  debit: { currency: string; amountMinor: bigint }
  credit: { currency: string; amountMinor: bigint }
  creditAccountNumber: string
  /** How it ends, and after how long; undefined: it stays pending. */
  end: { state: TransferEnd; afterMs: number } | undefined
}

const insertTransferStatement = sql(
  'insert_transfer',
  `insert into transfer (transfer_id, state, type, institution_name, debit_currency, debit_minor,
     credit_currency, credit_minor, credit_account_number, end_state, end_at)
   values ($1, 'pending', $2, $3, $4, $5, $6, $7, $8, $9,
     clock_now() + $10::integer * interval '1 millisecond')
   on conflict (transfer_id) do nothing`,
)
/** Stores a transfer; false when its id is known. */
export async function insertTransfer(db: Queryable, transfer: NewTransfer): Promise<boolean> {
  const { end } = transfer
  const values = [...contentOf(transfer), end?.state, end?.afterMs]
  return (await db.run(insertTransferStatement, values)) === 1
}

/** The id and what a repeat must say again, in the order of the first parameters. */
function contentOf(transfer: NewTransfer) {
  const { transferId, type, institutionName, debit, credit, creditAccountNumber } = transfer
  const debited = [debit.currency, debit.amountMinor]
  const credited = [credit.currency, credit.amountMinor, creditAccountNumber]
  return [transferId, type, institutionName, ...debited, ...credited]
}

const isOtherTransferStatement = sql(
  'is_other_transfer',
  `select from transfer where transfer_id = $1 and type is not null
     and (type, institution_name, debit_currency, debit_minor, credit_currency, credit_minor,
       coalesce(credit_account_number, $8))
     is distinct from ($2::text, $3::text, $4::text, $5::bigint, $6::text, $7::bigint, $8::text)`,
)
/** Whether the id is known with other content. Locks nothing. */
export async function isOtherTransfer(db: Queryable, transfer: NewTransfer): Promise<boolean> {
  return (await db.row(isOtherTransferStatement, contentOf(transfer))) !== undefined
}

/** A transfer as it stands. */
export type StoredTransfer = {
  state: TransferState
  reason: string | null
  /** False: somebody cancelled it, or asked about it, before it came. */
  wasReceived: boolean
}

const transferColumns = `state, reason, type is not null as "wasReceived"`

const findTransferStatement = sql(
  'find_transfer',
  `select ${transferColumns} from transfer where transfer_id = $1`,
)
/** Finds a transfer. Locks nothing. */
export function findTransfer(
  db: Queryable,
  transferId: string,
): Promise<StoredTransfer | undefined> {
  return db.row(findTransferStatement, [transferId])
}

const insertTombstoneStatement = sql(
  'insert_transfer_tombstone',
  `insert into transfer (transfer_id, state, ended_at) values ($1, $2, clock_now())
   on conflict (transfer_id) do nothing`,
)
/** Remembers an unknown transfer as never to be executed; does nothing when it is known. */
export async function insertTombstone(
  db: Queryable,
  transferId: string,
  state: 'cancelled' | 'not_found',
): Promise<void> {
  await db.run(insertTombstoneStatement, [transferId, state])
}

const cancelTransferStatement = sql(
  'cancel_transfer',
  `with cancelled as (
     update transfer set state = 'cancelled', end_at = null, ended_at = clock_now()
     where transfer_id = $1 and state = 'pending' returning transfer_id
   )
   insert into report (subject_id, position, kind, outcome)
   select transfer_id, 1, 'transfer', 'cancelled' from cancelled`,
)
/** Cancels a pending transfer and inserts the report to the institution service; returns how many. Locks its row. */
export function cancelTransfer(db: Queryable, transferId: string): Promise<number> {
  return db.run(cancelTransferStatement, [transferId])
}

const endTransfersStatement = sql(
  'end_transfers',
  `with due as (
     select transfer_id from transfer where end_at <= clock_now()
     order by end_at limit $1 for update skip locked
   ), ended as (
     update transfer t set state = t.end_state, end_at = null, ended_at = clock_now(),
       reason = case when t.end_state = 'failed' then $2 end
     from due where t.transfer_id = due.transfer_id
     returning t.transfer_id, t.state, t.reason, t.credit_currency, t.credit_minor
   ), executed as (
     insert into execution (kind, subject_id, currency, amount_minor)
     select 'transfer', transfer_id, credit_currency, credit_minor
     from ended where state = 'completed'
   )
   insert into report (subject_id, position, kind, outcome, reason)
   select transfer_id, 1, 'transfer', state, reason from ended`,
)
/**
 * Ends transfers that are due as planned, with their executions, and inserts the reports to the institution service.
 * Locks their rows. Returns how many.
 */
export function endTransfers(db: Queryable, limit: number, failedReason: string): Promise<number> {
  return db.run(endTransfersStatement, [limit, failedReason])
}

const waitForNextTransferStatement = sql(
  'wait_for_next_transfer',
  `select greatest(0, ceil(extract(epoch from end_at - clock_now()) * 1000))::int as "waitMs"
   from transfer where end_at is not null order by end_at limit 1`,
)
/** Milliseconds until a transfer ends; undefined when none is planned. */
export async function waitForNextTransfer(db: Queryable): Promise<number | undefined> {
  return (await db.row<{ waitMs: number }>(waitForNextTransferStatement, []))?.waitMs
}
