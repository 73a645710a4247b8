// Claims tasks for the back end, reads their contents and marks them done.
import type { PaymentState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import { asyncCommit } from '#platform/events/outbox.ts'
import type { Backlog } from '#platform/telemetry/metrics.ts'
import type { BackendCall, CallOf, Charge } from '../domain/backend-call.ts'
import type { Task } from '../domain/transition.ts'

/**
 * How long a task is leased: longer than a call may take. Two workers on one task do no harm, since each call is idempotent;
 * a task that a killed worker had claimed waits this long.
 */
export const taskLeaseMs = 15_000

/** How long the process that inserts a task has its lease. */
export const taskLeasedUntil = `clock_now() + interval '${taskLeaseMs} ms'`

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
  return db.rows(claimStatement, [limit, taskLeaseMs, kinds])
}

// Almost every payment has a charge and a payout, so nothing is kept of them: a row that is deleted writes to no index, one
// that is changed to each. If the database crashes and forgets this, the call is made again, which changes nothing.
const deleteStatement = sql(
  'task_delete_done',
  `with ${asyncCommit}
   delete from task using async_commit
   where subject_id = any($1::uuid[]) and kind = $2::task_kind and async_commit.commits = 'off'`,
)

const doneStatement = sql(
  'task_mark_done',
  `update task set done_time = clock_now()
   where subject_id = any($1::uuid[]) and kind = $2::task_kind and ${isOpen}`,
)

/** Ends tasks: those of announcements and payouts are deleted, those of withdrawals and refunds marked as done. */
export async function markDone(db: Queryable, { kind, subjectIds }: TasksOfKind): Promise<void> {
  const isDeleted = kind === 'announce' || kind === 'payout'
  await db.run(isDeleted ? deleteStatement : doneStatement, [subjectIds, kind])
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

const chargesStatement = sql(
  'task_charges',
  `select r.payer_id, r.amount_minor + r.fee_minor + r.tip_minor + r.tax_minor
       + r.convenience_fee_minor as "amountMinor",
     p.currency, r.mobile_number_e164 as "mobileNumberE164", r.payment_channel as "paymentChannel",
     p.business_name as "businessName", r.expire_time as "expireTime", r.link_key_id as "linkKeyId"
   from payer r join payment p on p.project_id = r.project_id and p.payment_id = r.payment_id
   where r.payer_id = any($1::uuid[])`,
)

const payoutsStatement = sql(
  'task_payouts',
  `select e.payee_id as "subjectId", e.net_minor as "amountMinor", p.currency,
     e.mobile_number_e164 as "mobileNumberE164"
   from payee e join payment p on p.project_id = e.project_id and p.payment_id = e.payment_id
   where e.payee_id = any($1::uuid[])`,
)

const refundsStatement = sql(
  'task_refunds',
  `select refund_id as "subjectId", payer_id as "payerId", amount_minor as "amountMinor", currency
   from refund where refund_id = any($1::uuid[])`,
)

/** Reads the charges of payers. Locks nothing. */
export async function readCharges(
  db: Queryable,
  payerIds: string[],
): Promise<CallOf<'announce'>[]> {
  const rows = await db.rows<Charge & { payer_id: string }>(chargesStatement, [payerIds])
  return rows.map(({ payer_id: subjectId, ...charge }) => ({
    kind: 'announce',
    subjectId,
    attempts: 1,
    charge,
  }))
}

/** Reads what the calls of claimed tasks say. Locks nothing. */
export async function readCalls(db: Queryable, tasks: ClaimedTask[]): Promise<BackendCall[]> {
  const idsOf = (kind: Task['kind']) =>
    tasks.flatMap((task) => (task.kind === kind ? [task.subject_id] : []))
  const [charges, payouts, refunds] = await Promise.all([
    readSome(idsOf('announce'), (ids) => readCharges(db, ids)),
    readSome(idsOf('payout'), (ids) =>
      db.rows<Omit<CallOf<'payout'>, 'kind'>>(payoutsStatement, [ids]),
    ),
    readSome(idsOf('refund'), (ids) =>
      db.rows<Omit<CallOf<'refund'>, 'kind'>>(refundsStatement, [ids]),
    ),
  ])
  const withdrawals = tasks.flatMap(({ subject_id: subjectId, kind, reason, attempts }) =>
    kind === 'withdraw' && reason !== null ? [{ kind, subjectId, attempts, reason }] : [],
  )
  const attempts = new Map(tasks.map((task) => [`${task.kind} ${task.subject_id}`, task.attempts]))
  return [
    ...charges,
    ...payouts.map((row) => ({ ...row, kind: 'payout' as const })),
    ...refunds.map((row) => ({ ...row, kind: 'refund' as const })),
    ...withdrawals,
  ].map((call) => ({ ...call, attempts: attempts.get(`${call.kind} ${call.subjectId}`) ?? 1 }))
}

async function readSome<T>(ids: string[], read: (ids: string[]) => Promise<T[]>): Promise<T[]> {
  return ids.length === 0 ? [] : read(ids)
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
