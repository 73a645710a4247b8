// Statements on due reports, and on the payouts and refunds behind some.
import { arrayParameter } from '#platform/db/arrays.ts'
import { asyncCommit } from '#platform/db/async-commit.ts'
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Report } from '../domain/report.ts'

const insertPayoutsStatement = sql(
  'insert_payouts',
  `with asked as (
     select payout_id, currency, amount_minor, mobile_number
     from unnest($1::uuid[], $2::text[], $3::bigint[], $4::text[])
       as p (payout_id, currency, amount_minor, mobile_number)
   ), made as (
     insert into payout (payout_id, currency, amount_minor, mobile_number)
     select payout_id, currency, amount_minor, mobile_number from asked order by payout_id
     on conflict (payout_id) do nothing returning payout_id
   ), owed as (
     insert into report (subject_id, position, kind, outcome)
     select payout_id, 1, 'payout', 'completed' from made
   )
   select a.payout_id as "payoutId" from asked a join payout k on ${byKey('k.payout_id', 'a.payout_id')}
   where (k.currency, k.amount_minor, k.mobile_number)
     is distinct from (a.currency, a.amount_minor, a.mobile_number)`,
)
/** A payout that payments asked for. */
export type NewPayout = {
  payoutId: string
  currency: string
  amountMinor: bigint
  mobileNumber: string
}

/**
 * Stores payouts, completed, with their reports, in the order of their ids; leaves out those that are known, and returns the
 * ids of those that are known with other content.
 */
export async function insertPayouts(
  db: Queryable,
  payouts: NewPayout[],
): Promise<ReadonlySet<string>> {
  const other = await db.rows<{ payoutId: string }>(insertPayoutsStatement, [
    arrayParameter(
      'uuid',
      payouts.map(({ payoutId }) => payoutId),
    ),
    arrayParameter(
      'text',
      payouts.map(({ currency }) => currency),
    ),
    arrayParameter(
      'bigint',
      payouts.map(({ amountMinor }) => amountMinor),
    ),
    arrayParameter(
      'text',
      payouts.map(({ mobileNumber }) => mobileNumber),
    ),
  ])
  return new Set(other.map(({ payoutId }) => payoutId))
}

const insertRefundStatement = sql(
  'insert_refund',
  `with made as (
     insert into refund (refund_id, charge_id, currency, amount_minor) values ($1, $2, $3, $4)
     on conflict (refund_id) do nothing returning refund_id
   ), owed as (
     insert into report (subject_id, position, kind, outcome)
     select refund_id, 1, 'refund', 'completed' from made
   )
   select refund_id as "refundId" from refund where refund_id = $1
     and (charge_id, currency, amount_minor) is distinct from ($2::uuid, $3::text, $4::bigint)`,
)
/** Stores a refund, completed, with its report; does nothing when it is known. False when it is known with other content. */
export async function insertRefund(
  db: Queryable,
  refund: { refundId: string; chargeId: string; currency: string; amountMinor: bigint },
): Promise<boolean> {
  const { refundId, chargeId, currency, amountMinor } = refund
  const values = [refundId, chargeId, currency, amountMinor]
  return (await db.row(insertRefundStatement, values)) === undefined
}

// Open reports of a subject are found by its key: two `is null` would match `report_due`, and the server would compare every open
// report with every other.
const isOpen = (report: string) => `coalesce(${report}.delivered_at, ${report}.parked_at) is null`

// If the database crashes and loses a claim or its outcome, a report is sent once more.
const claimReportsStatement = sql(
  'claim_reports',
  `with ${asyncCommit}, first as (
     select r.subject_id, r.kind, r.position, r.attempt_id from report r
     where r.delivered_at is null and r.parked_at is null and r.next_at <= clock_now()
       and r.kind = any($3::text[])
       and not exists (
         select from report e where ${byKey('e.subject_id', 'r.subject_id')} and e.kind = r.kind
           and e.position < r.position and ${isOpen('e')})
     order by r.next_at limit $1 for update of r skip locked
   ), next as (
     select r.subject_id, r.kind, r.position
     from first f join report r on ${byKey('r.subject_id', 'f.subject_id')} and r.kind = f.kind
       and r.position = f.position + 1 and r.attempt_id = f.attempt_id
     where ${isOpen('r')} and r.next_at <= clock_now()
     for update of r skip locked
   ), due as (
     select subject_id, kind, position from first
     union all select subject_id, kind, position from next
   )
   update report r set attempts = r.attempts + 1,
     next_at = clock_now() + $2 * interval '1 millisecond'
   from due d, async_commit
   where ${byKey('r.subject_id', 'd.subject_id')} and r.kind = d.kind and r.position = d.position
     and async_commit.commits = 'off'
   returning r.subject_id as "subjectId", r.position, r.kind, r.attempt_id as "attemptId", r.outcome,
     r.payment_method as "paymentMethod", r.account_level as "accountLevel", r.reason, r.attempts,
     case r.outcome when 'refused' then (
       select a.refusal from attempt a where a.attempt_id = r.attempt_id
     ) end as refusal,
     exists (
       select from report l where ${byKey('l.subject_id', 'r.subject_id')} and l.kind = r.kind
         and l.position > r.position and ${isOpen('l')}) as "isFollowed"`,
)
/** A claimed report, and whether later reports about its subject were open when it was claimed. */
export type ClaimedReport = Report & { isFollowed: boolean }

/**
 * Takes the first open report of up to `limit` subjects that have one of these kinds due, with the one that follows about the same
 * attempt, and keeps others from them for a while.
 */
export function claimReports(
  db: Queryable,
  kinds: readonly Report['kind'][],
  limit: number,
  leaseMs: number,
): Promise<ClaimedReport[]> {
  return db.rows(claimReportsStatement, [limit, leaseMs, kinds])
}

/** Result of sending a report. */
export type Sent = Pick<Report, 'subjectId' | 'kind' | 'position' | 'attempts'> & {
  outcome: 'delivered' | 'dead_letter' | 'again'
  reason?: string | undefined
  delayMs?: number | undefined
}

// The number of attempts names a claim. That a report was accepted stays true after another process has claimed it.
const recordReportsStatement = sql(
  'note_reports',
  `with ${asyncCommit}
   update report r set
     delivered_at = case when g.outcome = 'delivered' then clock_now() end,
     parked_at = case when g.outcome = 'dead_letter' then clock_now() end,
     next_at = case when g.outcome = 'again'
       then clock_now() + g.delay_ms * interval '1 millisecond' else r.next_at end,
     last_reason = g.reason
   from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::integer[], $6::text[],
       $7::integer[]) as g (subject_id, position, outcome, reason, delay_ms, kind, attempts),
     async_commit
   where async_commit.commits = 'off' and ${byKey('r.subject_id', 'g.subject_id')}
     and r.kind = g.kind and r.position = g.position
     and r.delivered_at is null and (g.outcome = 'delivered' or r.attempts = g.attempts)`,
)
/** Records the outcome of claimed reports. One that another process has claimed since is left to it, unless it was delivered. */
export async function recordReports(db: Queryable, sent: Sent[]): Promise<void> {
  await db.run(recordReportsStatement, [
    sent.map(({ subjectId }) => subjectId),
    sent.map(({ position }) => position),
    sent.map(({ outcome }) => outcome),
    sent.map(({ reason }) => reason),
    sent.map(({ delayMs }) => delayMs),
    sent.map(({ kind }) => kind),
    sent.map(({ attempts }) => attempts),
  ])
}

const countOpenReportsStatement = sql(
  'count_open_reports',
  `select kind, count(*)::int as open from report
   where delivered_at is null and parked_at is null group by kind`,
)
/** Counts the reports that have not been accepted yet, by kind; a kind without any is left out. */
export function countOpenReports(db: Queryable): Promise<{ kind: Report['kind']; open: number }[]> {
  return db.rows(countOpenReportsStatement, [])
}
