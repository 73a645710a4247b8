// Statements on attempts to pay: our attempts without an outcome, and why a payer's last attempt was refused.
import type { RefusalReason } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { PayerKey } from './payment-store.ts'

/** An attempt of ours, and the connector at which it was tried; null for the default connector. */
export type Attempt = PayerKey & { attemptId: string; connector: string | null }

const enquireStatement = sql(
  'attempt_enquire_after',
  `update attempt set next_enquiry_time = clock_now() + $2 * interval '1 millisecond'
   where attempt_id = $1 and next_enquiry_time is not null`,
)

/** Schedules the enquiry about an attempt without an outcome. */
export async function enquireAfter(
  db: Queryable,
  attemptId: string,
  delayMs: number,
): Promise<void> {
  await db.run(enquireStatement, [attemptId, delayMs])
}

type AttemptRow = {
  attempt_id: string
  project_id: string
  payment_id: string
  payer_id: string
  connector: string | null
}

const claimStatement = sql(
  'attempt_claim',
  `with due as (
     select attempt_id from attempt where next_enquiry_time <= clock_now()
       and (connector = any($3::text[])) is true <> $2::boolean
     order by next_enquiry_time limit $1 for update skip locked
   )
   update attempt set enquiries = attempt.enquiries + 1, next_enquiry_time = clock_now()
     + least(interval '5 min', interval '2 s' * power(2, least(attempt.enquiries, 10)))
   from due where attempt.attempt_id = due.attempt_id
   returning attempt.attempt_id, attempt.project_id, attempt.payment_id, attempt.payer_id,
     attempt.connector`,
)

/** Selects attempts at these connectors only, or at all other connectors, including rows that name none. */
export type AtConnectors = { only: readonly string[] } | { except: readonly string[] }

/**
 * Claims attempts that are due for an enquiry, and schedules the next one: after 2 s, doubling to five minutes. Locks them for
 * this one statement.
 */
export async function claimAttempts(
  db: Queryable,
  limit: number,
  at: AtConnectors,
): Promise<Attempt[]> {
  const names = 'except' in at ? at.except : at.only
  const rows = await db.rows<AttemptRow>(claimStatement, [limit, 'except' in at, names])
  return rows.map((row) => ({
    attemptId: row.attempt_id,
    projectId: row.project_id,
    paymentId: row.payment_id,
    payerId: row.payer_id,
    connector: row.connector,
  }))
}

const refusalStatement = sql(
  'attempt_refusal',
  `select refusal_reason as "refusalReason" from charge_report
   where payer_id = $1 and outcome = 'refused' order by report_time desc limit 1`,
)

/** Reads why the last refused attempt of a payer was refused; undefined when nobody said. Locks nothing. */
export async function readRefusal(
  db: Queryable,
  payerId: string,
): Promise<RefusalReason | undefined> {
  const row = await db.row<{ refusalReason: RefusalReason | null }>(refusalStatement, [payerId])
  return row?.refusalReason ?? undefined
}
