// Claims tasks for the back end, reads their contents and marks them done.
import type { PaymentChannel, PaymentState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { asyncCommit } from '#platform/events/outbox.ts'
import type { Backlog } from '#platform/telemetry/metrics.ts'
import type { Task } from '../domain/transition.ts'

// Longer than a call may take. Two workers on one task do no harm, since each call is idempotent; a task that a
// killed worker had claimed waits this long.
const leaseMs = 15_000

/** How long the process that inserts a task has its lease. */
export const taskLeasedUntil = `clock_now() + interval '${leaseMs} ms'`

/** A claimed task. */
export type ClaimedTask = {
  subject_id: string
  kind: Task['kind']
  reason: PaymentState | null
  attempts: number
}

/** Some tasks of one kind. */
export type TasksOfKind = { kind: Task['kind']; subjectIds: string[] }

// An open task, in a statement that has the ids of its tasks: as the condition of `task_open` it would have the server go
// through all open tasks and compare each with every id.
const isOpen = "coalesce(done_time, 'infinity') = 'infinity'"

const claimStatement = sql(
  'task_claim',
  `with due as (
     select subject_id, kind from task
     where done_time is null and next_time <= clock_now() and kind = any($3::task_kind[])
     order by next_time limit $1 for update skip locked
   )
   update task set attempts = task.attempts + 1,
     next_time = clock_now() + $2 * interval '1 millisecond'
   from due where task.subject_id = due.subject_id and task.kind = due.kind
   returning task.subject_id, task.kind, task.reason, task.attempts`,
)

/** Claims due tasks of these kinds. Locks them for this one statement; locked ones are skipped. */
export function claimTasks(
  db: Queryable,
  kinds: readonly Task['kind'][],
  limit: number,
): Promise<ClaimedTask[]> {
  return db.rows(claimStatement, [limit, leaseMs, kinds])
}

// Every charge is announced, so nothing is kept of it: a row that is deleted writes to no index, one that is changed to each.
// If the database crashes and forgets this, the charge is announced again, which changes nothing.
const announcedStatement = sql(
  'task_end_announced',
  `with ${asyncCommit}
   delete from task using async_commit
   where subject_id = any($1::uuid[]) and kind = 'announce' and async_commit.commits = 'off'`,
)

const doneStatement = sql(
  'task_mark_done',
  `update task set done_time = clock_now()
   where subject_id = any($1::uuid[]) and kind = $2::task_kind and ${isOpen}`,
)

/** Marks tasks as done; announcements are deleted. */
export async function markDone(db: Queryable, tasks: TasksOfKind): Promise<void> {
  if (tasks.kind === 'announce') {
    await db.run(announcedStatement, [tasks.subjectIds])
    return
  }
  await db.run(doneStatement, [tasks.subjectIds, tasks.kind])
}

const laterStatement = sql(
  'task_mark_later',
  `update task set next_time = clock_now()
     + least(interval '60 s', interval '250 ms' * power(2, least(attempts, 10)))
   where subject_id = any($1::uuid[]) and kind = $2::task_kind and ${isOpen}`,
)

/** Puts tasks off after a failure: 0.5 s doubling to a minute, for ever. */
export async function markLater(db: Queryable, tasks: TasksOfKind): Promise<void> {
  await db.run(laterStatement, [tasks.subjectIds, tasks.kind])
}

/** What is said of a charge. */
export type ChargeRow = {
  payer_id: string
  amount_minor: bigint
  currency: string
  mobile_number_e164: string
  payment_channel: PaymentChannel
  business_name: string
  expire_time: Date
  /** The key of its cash code; null for one from before key ids. */
  link_key_id: string | null
}

const chargesStatement = sql(
  'task_charges',
  `select r.payer_id, r.amount_minor + r.fee_minor + r.tip_minor + r.tax_minor
       + r.convenience_fee_minor as amount_minor,
     p.currency, r.mobile_number_e164, r.payment_channel, p.business_name, r.expire_time,
     r.link_key_id
   from payer r join payment p on p.project_id = r.project_id and p.payment_id = r.payment_id
   where r.payer_id = any($1::uuid[])`,
)

/** Reads the charges of payers. Locks nothing. */
export function readCharges(db: Queryable, payerIds: string[]): Promise<ChargeRow[]> {
  return db.rows(chargesStatement, [payerIds])
}

/** What is said of a payout. */
export type PayoutRow = {
  payee_id: string
  net_minor: bigint
  currency: string
  mobile_number_e164: string
}

const payoutsStatement = sql(
  'task_payouts',
  `select e.payee_id, e.net_minor, p.currency, e.mobile_number_e164
   from payee e join payment p on p.project_id = e.project_id and p.payment_id = e.payment_id
   where e.payee_id = any($1::uuid[])`,
)

/** Reads the payouts of payees. Locks nothing. */
export function readPayouts(db: Queryable, payeeIds: string[]): Promise<PayoutRow[]> {
  return db.rows(payoutsStatement, [payeeIds])
}

/** What is said of a refund. */
export type RefundRow = {
  refund_id: string
  payer_id: string
  amount_minor: bigint
  currency: string
}

const refundsStatement = sql(
  'task_refunds',
  `select refund_id, payer_id, amount_minor, currency from refund
   where refund_id = any($1::uuid[])`,
)

/** Reads refunds. Locks nothing. */
export function readRefunds(db: Queryable, refundIds: string[]): Promise<RefundRow[]> {
  return db.rows(refundsStatement, [refundIds])
}

const backlogStatement = sql(
  'task_backlog',
  `select kinds.kind, count(task.subject_id)::integer as open,
     coalesce(extract(epoch from clock_now() - min(task.create_time)), 0)::float8 as "oldestS"
   from unnest(enum_range(null::task_kind)) as kinds(kind)
     left join task on task.kind = kinds.kind and task.done_time is null
   group by kinds.kind`,
)

/** How much is open of each kind, and for how long the oldest. */
export function taskBacklog(db: Queryable): Promise<Backlog[]> {
  return db.rows(backlogStatement, [])
}
