// Locks payments, and reads what the decisions about their changes need.
import { arrayParameter } from '#platform/db/arrays.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { AttemptOutcome } from '../domain/charge-report.ts'
import type { AttemptKey, StoredRefund } from '../domain/decision.ts'
import type { Payment } from '../domain/payment.ts'
import { type PaymentRow, type ReadKey, readingsOf, readingWhere } from './payment-store.ts'

/** Refers to a payment: by its key, or by the id of a payer, a payee or a refund of it. */
export type PaymentRef = ReadKey | { payerId: string } | { payeeId: string } | { refundId: string }

const namedPayments = `(
     select project_id, payment_id from unnest($1::uuid[], $2::uuid[]) as k (project_id, payment_id)
     union select project_id, payment_id from payer where payer_id = any($3::uuid[])
     union select project_id, payment_id from payee where payee_id = any($4::uuid[])
     union select project_id, payment_id from refund where refund_id = any($5::uuid[])
   ) as named
   join payment p on p.project_id = named.project_id and p.payment_id = named.payment_id`

/*
 * Locks. Every change of a payment holds the lock of its row, so payers, payees, refunds, reports and tasks need none of
 * their own: two changes of one payment never write at the same time.
 *   - A batch takes the rows that are free, in the order of their keys, and waits for none: it cannot be part of a
 *     deadlock. What it does not get is changed alone.
 *   - A change alone waits for the one row that it locks, and holds nothing meanwhile.
 * The statements of enquiries and tasks lock rows of `attempt` and `task` for themselves alone and wait for no payment.
 */
const lockText = `select p.project_id, p.payment_id from ${namedPayments}
   order by p.project_id, p.payment_id for no key update of p`

const lockStatements: Record<'free' | 'waiting', Sql> = {
  free: sql('payment_lock_free', `${lockText} skip locked`),
  waiting: sql('payment_lock', lockText),
}

// A statement of its own: the snapshot of the locking statement is older than its wait, so it would not see what the other
// transaction has committed.
const readStatement = readingWhere('payment_read_locked', 'true', namedPayments)

const reportedStatement = sql(
  'charge_report_read',
  `select r.payer_id, r.attempt_id, r.outcome
   from unnest($1::uuid[], $2::text[]) as a (payer_id, attempt_id)
   join charge_report r on r.payer_id = a.payer_id and r.attempt_id = a.attempt_id`,
)

const refundsStatement = sql(
  'refund_read',
  `select refund_id, payment_id, payer_id, amount_minor, state from refund
   where refund_id = any($1::uuid[])`,
)

/** The payments and attempts that the changes of one batch name. */
export type LockRequest = { targets: PaymentRef[]; attempts: AttemptKey[] }

/** A payment as it was read, and whether this transaction has its lock. */
export type LockedPayment = { payment: Payment; now: Date; isLocked: boolean }

/** What was read of a batch. */
export type Locked = {
  payments: LockedPayment[]
  reports: (AttemptKey & { outcome: AttemptOutcome })[]
  refunds: (StoredRefund & { paymentId: string })[]
}

/**
 * Locks payments until the end of the transaction, then reads them with the clock, the reports of attempts, and the
 * refunds that targets name; one round trip. `free` takes what no other transaction has locked. Payments that do not exist
 * are left out.
 */
export async function lockPayments(
  tx: Queryable,
  { targets, attempts }: LockRequest,
  lock: 'free' | 'waiting',
): Promise<Locked> {
  const parameters = targetParameters(targets)
  const refundIds = targets.flatMap((target) => ('refundId' in target ? [target.refundId] : []))
  const [locked, rows, reports, refunds] = await Promise.all([
    tx.rows<{ payment_id: string }>(lockStatements[lock], parameters),
    tx.rows<PaymentRow>(readStatement, parameters),
    attempts.length > 0 ? readReports(tx, attempts) : [],
    refundIds.length > 0 ? readRefunds(tx, refundIds) : [],
  ])
  const lockedIds = new Set(locked.map((row) => row.payment_id))
  return {
    payments: readingsOf(rows).map(({ payment, now }) => ({
      payment,
      now,
      isLocked: lockedIds.has(payment.paymentId),
    })),
    reports,
    refunds,
  }
}

function targetParameters(targets: PaymentRef[]): Buffer[] {
  const keys = targets.flatMap((target) => ('paymentId' in target ? [target] : []))
  const ids = [
    keys.map(({ projectId }) => projectId),
    keys.map(({ paymentId }) => paymentId),
    targets.flatMap((target) => ('payerId' in target ? [target.payerId] : [])),
    targets.flatMap((target) => ('payeeId' in target ? [target.payeeId] : [])),
    targets.flatMap((target) => ('refundId' in target ? [target.refundId] : [])),
  ]
  return ids.map((values) => arrayParameter('uuid', values))
}

async function readReports(tx: Queryable, attempts: AttemptKey[]): Promise<Locked['reports']> {
  const unique = [...new Map(attempts.map((one) => [attemptName(one), one])).values()]
  const rows = await tx.rows<{ payer_id: string; attempt_id: string; outcome: AttemptOutcome }>(
    reportedStatement,
    [
      arrayParameter(
        'uuid',
        unique.map(({ payerId }) => payerId),
      ),
      arrayParameter(
        'text',
        unique.map(({ attemptId }) => attemptId),
      ),
    ],
  )
  return rows.map((row) => ({
    payerId: row.payer_id,
    attemptId: row.attempt_id,
    outcome: row.outcome,
  }))
}

/** One name for one attempt, in either case of its UUID. */
export function attemptName({ payerId, attemptId }: AttemptKey): string {
  return `${payerId.toLowerCase()} ${attemptId}`
}

type RefundRow = {
  refund_id: string
  payment_id: string
  payer_id: string
  amount_minor: bigint
  state: StoredRefund['state']
}

async function readRefunds(tx: Queryable, refundIds: string[]): Promise<Locked['refunds']> {
  const rows = await tx.rows<RefundRow>(refundsStatement, [arrayParameter('uuid', refundIds)])
  return rows.map((row) => ({
    refundId: row.refund_id,
    paymentId: row.payment_id,
    payerId: row.payer_id,
    amountMinor: row.amount_minor,
    state: row.state,
  }))
}
