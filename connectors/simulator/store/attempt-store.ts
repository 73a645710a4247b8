// Statements on attempts to pay and what they change.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { AttemptOutcome, Refusal } from '../domain/charge.ts'

/** An attempt as it is stored. */
export type Attempt = {
  attemptId: string
  /** Null when the attempt was asked about before anybody made it. */
  chargeId: string | null
  outcome: AttemptOutcome
  refusal: Refusal | null
}

/** An attempt to store. */
export type NewAttempt = Attempt & {
  chargeId: string
  outcome: 'paid' | 'refused'
  source: 'plan' | 'wallet' | 'card' | 'agent'
}

const insertAttemptsStatement = sql(
  'insert_attempts',
  `insert into attempt (attempt_id, charge_id, source, outcome, refusal)
   select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[])
   on conflict (attempt_id) do nothing`,
)
/** Stores attempts on charges that the caller has locked; returns how many were new. */
export function insertAttempts(tx: Queryable, attempts: NewAttempt[]): Promise<number> {
  return tx.run(insertAttemptsStatement, [
    attempts.map((attempt) => attempt.attemptId),
    attempts.map((attempt) => attempt.chargeId),
    attempts.map((attempt) => attempt.source),
    attempts.map((attempt) => attempt.outcome),
    attempts.map((attempt) => attempt.refusal),
  ])
}

const insertUnknownAttemptStatement = sql(
  'insert_unknown_attempt',
  `insert into attempt (attempt_id, source, outcome) values ($1, 'enquiry', 'unknown')
   on conflict (attempt_id) do nothing`,
)
/** Records that an attempt was reported as unknown, unless it exists by now. */
export async function insertUnknownAttempt(db: Queryable, attemptId: string): Promise<void> {
  await db.run(insertUnknownAttemptStatement, [attemptId])
}

const findAttemptStatement = sql(
  'find_attempt',
  `select attempt_id as "attemptId", charge_id as "chargeId", outcome, refusal
   from attempt where attempt_id = $1`,
)
/** Finds an attempt. Locks nothing. */
export function findAttempt(db: Queryable, attemptId: string): Promise<Attempt | undefined> {
  return db.row(findAttemptStatement, [attemptId])
}

/** What an attempt changes on its charge. */
export type ChargeAdvance = {
  chargeId: string
  attemptId: string
  outcome: 'paid' | 'refused'
  paymentMethod?: 'card'
  /** Outcomes to report, in this order. */
  reports: ('processing' | 'paid' | 'refused')[]
}

const advanceChargesStatement = sql(
  'advance_charges',
  `with given as (
     select charge_id, attempt_id, outcome, payment_method, string_to_array(reports, ',') as reports
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[])
       as g (charge_id, attempt_id, outcome, payment_method, reports)
   ), advanced as (
     update charge c set
       state = case when g.outcome = 'refused' then c.state
         when c.state = 'withdrawn' then 'paid_late' else 'paid' end,
       act_at = case when g.outcome = 'refused' then c.act_at end,
       report_count = c.report_count + cardinality(g.reports)
     from given g where c.charge_id = g.charge_id
     returning c.charge_id, c.report_count, g.attempt_id, g.payment_method, g.reports
   )
   insert into report (subject_id, position, kind, attempt_id, outcome, payment_method)
   select s.charge_id, s.report_count - cardinality(s.reports) + r.n, 'charge', s.attempt_id,
     r.outcome, s.payment_method
   from advanced s cross join lateral unnest(s.reports) with ordinality as r (outcome, n)`,
)
/** Advances charges by one attempt each and inserts the reports to payments. The caller has locked the charges. */
export async function advanceCharges(tx: Queryable, advances: ChargeAdvance[]): Promise<void> {
  await tx.run(advanceChargesStatement, [
    advances.map(({ chargeId }) => chargeId),
    advances.map(({ attemptId }) => attemptId),
    advances.map(({ outcome }) => outcome),
    advances.map(({ paymentMethod }) => paymentMethod),
    advances.map(({ reports }) => reports.join(',')),
  ])
}
