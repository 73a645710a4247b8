// Statements on our own attempts to pay and the reports of the back end.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { AttemptOutcome } from '../domain/charge-report.ts'
import type { PayerPlace } from './payment-store.ts'

/** An attempt of ours. */
export type Attempt = PayerPlace & { attemptId: string }

const insertStatement = sql(
  'attempt_insert',
  `insert into attempt (attempt_id, project_id, payment_id, payer_id, create_time,
     next_enquiry_time)
   values ($1, $2, $3, $4, clock_now(), clock_now() + $5 * interval '1 millisecond')`,
)

/** Notes an attempt in the transaction that starts it; the worker of enquiries asks for its outcome after `leaseMs`. */
export async function insertAttempt(
  tx: Queryable,
  { attemptId, projectId, paymentId, payerId }: Attempt,
  leaseMs: number,
): Promise<void> {
  await tx.run(insertStatement, [attemptId, projectId, paymentId, payerId, leaseMs])
}

const enquireStatement = sql(
  'attempt_enquire_after',
  `update attempt set next_enquiry_time = clock_now() + $2 * interval '1 millisecond'
   where attempt_id = $1 and next_enquiry_time is not null`,
)

/** Has an open attempt asked for after `delayMs`. */
export async function enquireAfter(
  db: Queryable,
  attemptId: string,
  delayMs: number,
): Promise<void> {
  await db.run(enquireStatement, [attemptId, delayMs])
}

const closeStatement = sql(
  'attempt_close',
  `update attempt set next_enquiry_time = null
   where attempt_id = $1 and payer_id = $2 and next_enquiry_time is not null`,
)

/**
 * Ends the wait for the outcome of a payer's attempt, in the transaction that processes the outcome. An
 * attempt of another payer stays open, even if a report names it.
 */
export async function closeAttempt(
  tx: Queryable,
  attemptId: string,
  payerId: string,
): Promise<void> {
  await tx.run(closeStatement, [attemptId, payerId])
}

type AttemptRow = {
  attempt_id: string
  project_id: string
  payment_id: string
  payer_id: string
}

const claimStatement = sql(
  'attempt_claim',
  `with due as (
     select attempt_id from attempt where next_enquiry_time <= clock_now()
     order by next_enquiry_time limit $1 for update skip locked
   )
   update attempt set enquiries = attempt.enquiries + 1, next_enquiry_time = clock_now()
     + least(interval '5 min', interval '2 s' * power(2, least(attempt.enquiries, 10)))
   from due where attempt.attempt_id = due.attempt_id
   returning attempt.attempt_id, attempt.project_id, attempt.payment_id, attempt.payer_id`,
)

/**
 * Takes attempts whose outcome is to be asked for, and sets when they are due again: after 2 s, doubling
 * to five minutes. Locks them for this one statement.
 */
export async function claimAttempts(db: Queryable, limit: number): Promise<Attempt[]> {
  const rows = await db.rows<AttemptRow>(claimStatement, [limit])
  return rows.map((row) => ({
    attemptId: row.attempt_id,
    projectId: row.project_id,
    paymentId: row.payment_id,
    payerId: row.payer_id,
  }))
}

const reportStatement = sql(
  'charge_report_keep',
  `with kept as (
     insert into charge_report (payer_id, attempt_id, outcome, report_time)
     values ($1, $2, $3, clock_now()) on conflict do nothing
     returning outcome
   ), closed as (
     update attempt set next_enquiry_time = null
     where attempt_id = $2 and payer_id = $1 and next_enquiry_time is not null
       and $3 <> 'processing'::charge_outcome
   )
   select (select count(*) from kept)::integer as kept, array(
     select outcome::text from charge_report
     where payer_id = $1 and attempt_id = $2 and outcome <> $3
   ) as earlier`,
)

/**
 * Stores a report in the transaction that processes it; the outcome of an attempt of ours ends the wait for it.
 * Returns the other outcomes of the same attempt; undefined when this very report was there. The payment's lock
 * keeps two of one attempt apart.
 */
export async function keepReport(
  tx: Queryable,
  report: { payerId: string; attemptId: string; outcome: AttemptOutcome },
): Promise<AttemptOutcome[] | undefined> {
  const row = await tx.row<{ kept: number; earlier: AttemptOutcome[] }>(reportStatement, [
    report.payerId,
    report.attemptId,
    report.outcome,
  ])
  return row === undefined || row.kept === 0 ? undefined : row.earlier
}
