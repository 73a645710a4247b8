// Statements on charges, attempts and credits.
import { type Queryable, sql } from '#platform/db/db.ts'
import type {
  Attempt,
  AttemptEnd,
  AttemptResult,
  Charge,
  Credit,
  CreditState,
  NewCharge,
} from '../domain/payment.ts'

const insertChargesStatement = sql(
  'insert_charges',
  `insert into charge (charge_id, state, currency, amount_minor, mobile_number, business_name, expire_at)
   select charge_id, 'open', currency, amount_minor, mobile_number, business_name, expire_at
   from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[])
     as g (charge_id, currency, amount_minor, mobile_number, business_name, expire_at)
   order by charge_id on conflict (charge_id) do nothing`,
)
/** Stores charges; known ones, also those that were withdrawn before, stay as they are. */
export async function insertCharges(db: Queryable, charges: NewCharge[]): Promise<void> {
  await db.run(insertChargesStatement, [
    charges.map(({ chargeId }) => chargeId),
    charges.map(({ currency }) => currency),
    charges.map(({ amountMinor }) => amountMinor),
    charges.map(({ mobileNumber }) => mobileNumber),
    charges.map(({ businessName }) => businessName),
    charges.map(({ expireTime }) => expireTime),
  ])
}

const withdrawChargesStatement = sql(
  'withdraw_charges',
  `insert into charge as c (charge_id, state)
   select distinct charge_id, 'withdrawn' from unnest($1::uuid[]) as g (charge_id) order by charge_id
   on conflict (charge_id) do update set state = 'withdrawn' where c.state = 'open'`,
)
/** Withdraws open charges and remembers unknown ones. Locks the rows in the order of their ids. */
export async function withdrawCharges(db: Queryable, chargeIds: string[]): Promise<void> {
  await db.run(withdrawChargesStatement, [chargeIds])
}

const chargeColumns = `charge_id as "chargeId", state, coalesce(expire_at <= clock_now(), false) as "isExpired",
     currency, amount_minor as "amountMinor", mobile_number as "mobileNumber", business_name as "businessName"`
const lockChargeStatement = sql(
  'lock_charge',
  `select ${chargeColumns} from charge where charge_id = $1 for update`,
)
/** Reads a charge and locks its row, so that attempts on it come one at a time. */
export function lockCharge(tx: Queryable, chargeId: string): Promise<Charge | undefined> {
  return tx.row(lockChargeStatement, [chargeId])
}

const findChargeStatement = sql(
  'find_charge',
  `select ${chargeColumns} from charge where charge_id = $1`,
)
/** Finds a charge. Locks nothing. */
export function findCharge(db: Queryable, chargeId: string): Promise<Charge | undefined> {
  return db.row(findChargeStatement, [chargeId])
}

const insertAttemptStatement = sql(
  'insert_attempt',
  `insert into attempt (attempt_id, charge_id, outcome) values ($1, $2, $3) on conflict do nothing`,
)
/** Stores an attempt; false when its id is known, or another attempt on the charge is open or paid. */
export async function insertAttempt(
  tx: Queryable,
  attemptId: string,
  chargeId: string | null,
  outcome: AttemptResult['outcome'],
): Promise<boolean> {
  return (await tx.run(insertAttemptStatement, [attemptId, chargeId, outcome])) === 1
}

const findAttemptStatement = sql(
  'find_attempt',
  `select charge_id as "chargeId", outcome, refusal,
     (extract(epoch from clock_now() - started_at) * 1000)::float8 as "ageMs"
   from attempt where attempt_id = $1`,
)
/** Finds an attempt. Locks nothing. */
export function findAttempt(db: Queryable, attemptId: string): Promise<Attempt | undefined> {
  return db.row(findAttemptStatement, [attemptId])
}

const endAttemptStatement = sql(
  'end_attempt',
  `with locked as (
     select charge_id from charge
     where charge_id = (select charge_id from attempt where attempt_id = $1) for update
   ), ended as (
     update attempt a set outcome = $2, refusal = $3, ended_at = clock_now() from locked
     where a.attempt_id = $1 and a.charge_id = locked.charge_id and a.outcome = 'processing'
     returning a.charge_id
   ), paid as (
     update charge c set state = 'paid' from ended e where c.charge_id = e.charge_id and $2 = 'paid'
   )
   select charge_id as "chargeId" from ended`,
)
/** Ends an attempt that is in progress, and pays its charge; undefined when it had ended. Locks the charge, then the attempt, in the order of a beginning. */
export async function updateAttempt(
  tx: Queryable,
  attemptId: string,
  end: AttemptEnd,
): Promise<string | undefined> {
  const refusal = end.outcome === 'refused' ? end.refusal : null
  const values = [attemptId, end.outcome, refusal]
  return (await tx.row<{ chargeId: string }>(endAttemptStatement, values))?.chargeId
}

const insertCreditStatement = sql(
  'insert_credit',
  `insert into credit (reference, kind, charge_id, currency, amount_minor, mobile_number)
   values ($1, $2, $3, $4, $5, $6) on conflict (reference) do nothing`,
)
/** Stores a credit; false when it is known. */
export async function insertCredit(tx: Queryable, credit: Credit): Promise<boolean> {
  const { reference, kind, chargeId, currency, amountMinor, mobileNumber } = credit
  const values = [reference, kind, chargeId, currency, amountMinor, mobileNumber]
  return (await tx.run(insertCreditStatement, values)) === 1
}

const findCreditStatement = sql(
  'find_credit',
  `select reference, kind, charge_id as "chargeId", currency, amount_minor as "amountMinor",
     mobile_number as "mobileNumber", state,
     (extract(epoch from clock_now() - accepted_at) * 1000)::float8 as "ageMs"
   from credit where reference = $1`,
)
/** Finds a credit. Locks nothing. */
export function findCredit(
  db: Queryable,
  reference: string,
): Promise<(Credit & { state: CreditState; ageMs: number }) | undefined> {
  return db.row(findCreditStatement, [reference])
}

const endCreditStatement = sql(
  'end_credit',
  `update credit set state = $2, ended_at = clock_now() where reference = $1 and state = 'pending' returning kind`,
)
/** Ends a pending credit and returns its kind; undefined when it had ended. Locks the row. */
export async function updateCredit(
  tx: Queryable,
  reference: string,
  state: Exclude<CreditState, 'pending'>,
): Promise<Credit['kind'] | undefined> {
  return (await tx.row<{ kind: Credit['kind'] }>(endCreditStatement, [reference, state]))?.kind
}

const returnRefundStatement = sql(
  'return_refund',
  `update credit set state = 'failed', ended_at = clock_now()
   where reference = $1 and kind = 'refund' and state = 'completed'`,
)
/** Fails a completed refund whose money has come back; false for any other. Locks the row. */
export async function updateReturnedRefund(tx: Queryable, reference: string): Promise<boolean> {
  return (await tx.run(returnRefundStatement, [reference])) === 1
}
