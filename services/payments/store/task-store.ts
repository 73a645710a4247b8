// Claims tasks for the back end, reads their contents and marks them done.
import type { PaymentState } from '#core/payment/words.ts'
import { asyncCommit } from '#platform/db/async-commit.ts'
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Backlog } from '#platform/telemetry/metrics.ts'
import type { BackendCall, CallOf, Charge } from '../domain/backend-call.ts'
import type { Task } from '../domain/transition.ts'

/**
 * How long a task is leased: longer than a call may take. If a worker is killed, its claimed tasks wait this long. Two workers
 * on one task do no harm, since each call is idempotent.
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
  unsent_attempts: number
}

/** Some tasks of one kind. */
export type TasksOfKind = { kind: Task['kind']; subjectIds: string[] }

// The condition of an open task, for statements that have the ids of their tasks. Written like the condition of the index
// `task_open`, it would make the server scan all open tasks and compare each with every id.
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
   returning task.subject_id, task.kind, task.reason, task.attempts, task.unsent_attempts`,
)

/** Claims due tasks of these kinds. Locks them for this one statement; locked ones are skipped. */
export function claimTasks(
  db: Queryable,
  kinds: readonly Task['kind'][],
  limit: number,
): Promise<ClaimedTask[]> {
  return db.rows(claimStatement, [limit, taskLeaseMs, kinds])
}

// Almost every payment has a charge and a payout, so their rows are deleted: a delete writes to no index, an update to each. If
// the database crashes and loses the delete, the call is repeated, which is idempotent.
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

const postponeStatement = sql(
  'task_mark_later',
  `update task set unsent_attempts = unsent_attempts + $3::integer, next_time = clock_now()
     + least($4::integer * interval '1 s', interval '250 ms' * power(2, least(attempts, 12)))
   where subject_id = any($1::uuid[]) and kind = $2::task_kind and ${isOpen}`,
)

/** The result of a failed attempt. `unsent`: it certainly reached no connector. `unimplemented`: its connector has no such operation. */
export type FailedAttempt = 'unsent' | 'unimplemented' | 'unclear'

const maxPauseS = { unsent: 60, unclear: 60, unimplemented: 900 } as const

/**
 * Postpones tasks after a failure: by 0.5 s, doubling up to a minute, or up to a quarter of an hour for calls that the connector
 * has no operation for, without end. Only `unclear` attempts may have moved something.
 */
export async function postponeTasks(
  db: Queryable,
  { subjectIds, kind }: TasksOfKind,
  attempt: FailedAttempt,
): Promise<void> {
  const unsent = attempt === 'unclear' ? 0 : 1
  await db.run(postponeStatement, [subjectIds, kind, unsent, maxPauseS[attempt]])
}

const moveStatement = (kind: 'announce' | 'payout', table: string, id: string, condition: string) =>
  sql(
    `task_move_${kind}`,
    `with free as (
       select t.subject_id from unnest($1::uuid[], $2::integer[]) as w (subject_id, attempts)
         join task t on ${byKey('t.subject_id', 'w.subject_id')} and t.kind = '${kind}'
         join ${table} s on ${byKey(`s.${id}`, 'w.subject_id')}
         join payment p on ${byKey('p.project_id', 's.project_id')} and ${byKey('p.payment_id', 's.payment_id')}
       where ${isOpen} and t.attempts = w.attempts and t.unsent_attempts = w.attempts - 1
         and s.connector is not distinct from $3::text and ${condition}
       for no key update of p, t, s skip locked
     ), moved as (
       update ${table} set connector = $4 from free
       where ${byKey(`${table}.${id}`, 'free.subject_id')}
       returning ${table}.${id} as subject_id
     )
     update task set attempts = attempts + 1, unsent_attempts = unsent_attempts + 1,
       next_time = ${taskLeasedUntil}
     from moved where ${byKey('task.subject_id', 'moved.subject_id')} and task.kind = '${kind}'
     returning task.subject_id as "subjectId"`,
  )
const moveStatements = {
  // A share that has ended is withdrawn at the connector that it has.
  announce: moveStatement('announce', 'payer', 'payer_id', "s.state = 'Pending'"),
  payout: moveStatement('payout', 'payee', 'payee_id', "s.payout_state = 'sent'"),
}

/**
 * Gives charges or payouts to another connector, with a new attempt that is leased to this process: only those of which every
 * attempt up to this one reached no connector, and which nobody has called since. Returns their ids. Locks rows of payments,
 * tasks, payers and payees for this one statement, and skips those that are locked: a change of the payment withdraws
 * at the connector that it has read.
 */
export async function moveCalls(
  db: Queryable,
  kind: 'announce' | 'payout',
  calls: readonly BackendCall[],
  { from, to }: { from: string | null; to: string },
): Promise<Set<string>> {
  const rows = await db.rows<{ subjectId: string }>(moveStatements[kind], [
    calls.map(({ subjectId }) => subjectId),
    calls.map(({ attempts }) => attempts),
    from,
    to,
  ])
  return new Set(rows.map(({ subjectId }) => subjectId))
}

const countStatement = sql(
  'task_count_attempt',
  `update task set attempts = attempts + 1
   where subject_id = any($1::uuid[]) and kind = 'announce' and ${isOpen}`,
)

/** Counts an announcement that the caller makes outside of the tasks. From then on no worker moves these charges to another connector. */
export async function countAttempt(db: Queryable, payerIds: string[]): Promise<void> {
  await db.run(countStatement, [payerIds])
}

const chargesStatement = sql(
  'task_charges',
  `select r.payer_id, r.connector, p.project_id as "projectId", r.amount_minor + r.fee_minor + r.tip_minor + r.tax_minor
       + r.convenience_fee_minor as "amountMinor",
     p.currency, r.mobile_number_e164 as "mobileNumberE164", r.payment_channel as "paymentChannel",
     r.payment_method as "paymentMethod", p.business_name as "businessName", r.expire_time as "expireTime", r.link_key_id as "linkKeyId"
   from payer r join payment p on p.project_id = r.project_id and p.payment_id = r.payment_id
   where r.payer_id = any($1::uuid[])`,
)

const payoutsStatement = sql(
  'task_payouts',
  `select e.payee_id as "subjectId", e.connector, p.project_id as "projectId", e.net_minor as "amountMinor", p.currency,
     e.mobile_number_e164 as "mobileNumberE164"
   from payee e join payment p on p.project_id = e.project_id and p.payment_id = e.payment_id
   where e.payee_id = any($1::uuid[])`,
)

const refundsStatement = sql(
  'task_refunds',
  `select f.refund_id as "subjectId", r.connector, f.payer_id as "payerId",
     f.amount_minor as "amountMinor", f.currency
   from refund f join payer r on r.payer_id = f.payer_id where f.refund_id = any($1::uuid[])`,
)

const withdrawalsStatement = sql(
  'task_withdrawals',
  `select payer_id as "subjectId", connector from payer where payer_id = any($1::uuid[])`,
)

/** Reads the charges of payers. Locks nothing. */
export async function readCharges(
  db: Queryable,
  payerIds: string[],
): Promise<CallOf<'announce'>[]> {
  type ChargeRow = Charge & { payer_id: string; connector: string | null }
  const rows = await db.rows<ChargeRow>(chargesStatement, [payerIds])
  return rows.map(({ payer_id: subjectId, connector, ...charge }) => ({
    kind: 'announce',
    subjectId,
    connector,
    attempts: 1,
    unsentAttempts: 0,
    charge,
  }))
}

/** Reads the content of the calls of claimed tasks. Locks nothing. */
export async function readCalls(db: Queryable, tasks: ClaimedTask[]): Promise<BackendCall[]> {
  const idsOf = (kind: Task['kind']) =>
    tasks.flatMap((task) => (task.kind === kind ? [task.subject_id] : []))
  const [charges, payouts, refunds, connectors] = await Promise.all([
    readSome(idsOf('announce'), (ids) => readCharges(db, ids)),
    readSome(idsOf('payout'), (ids) =>
      db.rows<Omit<CallOf<'payout'>, 'kind'>>(payoutsStatement, [ids]),
    ),
    readSome(idsOf('refund'), (ids) =>
      db.rows<Omit<CallOf<'refund'>, 'kind'>>(refundsStatement, [ids]),
    ),
    readSome(idsOf('withdraw'), (ids) =>
      db.rows<Pick<BackendCall, 'subjectId' | 'connector'>>(withdrawalsStatement, [ids]),
    ),
  ])
  const taskOf = new Map(tasks.map((task) => [`${task.kind} ${task.subject_id}`, task]))
  const withdrawals = connectors.flatMap((row) => {
    const reason = taskOf.get(`withdraw ${row.subjectId}`)?.reason ?? null
    return reason === null ? [] : [{ ...row, kind: 'withdraw' as const, reason }]
  })
  return [
    ...charges,
    ...payouts.map((row) => ({ ...row, kind: 'payout' as const })),
    ...refunds.map((row) => ({ ...row, kind: 'refund' as const })),
    ...withdrawals,
  ].map((call) => {
    const task = taskOf.get(`${call.kind} ${call.subjectId}`)
    return { ...call, attempts: task?.attempts ?? 1, unsentAttempts: task?.unsent_attempts ?? 0 }
  })
}

async function readSome<T>(ids: string[], read: (ids: string[]) => Promise<T[]>): Promise<T[]> {
  return ids.length === 0 ? [] : read(ids)
}

const backlogStatement = sql(
  'task_backlog',
  `select kinds.kind, count(task.subject_id)::integer as open,
     coalesce(extract(epoch from business_now() - min(task.create_time)), 0)::float8 as "oldestS"
   from unnest(enum_range(null::task_kind)) as kinds(kind)
     left join task on task.kind = kinds.kind and task.done_time is null
   group by kinds.kind`,
)

/** Number of open tasks by kind, and the age of the oldest. */
export function taskBacklog(db: Queryable): Promise<Backlog[]> {
  return db.rows(backlogStatement, [])
}
