// Statements on items that wait for a person: refunds that failed or have no outcome, calls that fail, and attempts without an outcome.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Task } from '../domain/transition.ts'

/** A refund that waits. */
export type WaitingRefund = {
  refundId: string
  projectId: string
  paymentId: string
  amountMinor: bigint
  currency: string
  createTime: Date
  endTime: Date | null
}

/** How a refund waits. */
export type WaitingState = 'sent' | 'failed'

const waiting = `select r.refund_id as "refundId", r.project_id as "projectId", r.payment_id as "paymentId",
     r.amount_minor as "amountMinor", r.currency, r.create_time as "createTime",
     r.end_time as "endTime"
   from refund r
   where not exists (select 1 from refund_settled s where s.refund_id = r.refund_id)`

// The state is named in the text, so that the partial index that holds the refunds in it finds them.
const list = (state: WaitingState) =>
  sql(
    `refund_list_${state}`,
    `${waiting} and r.state = '${state}' and (r.create_time, r.refund_id) > (
       coalesce((select create_time from refund where refund_id = $1), '-infinity'),
       coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid))
     order by r.create_time, r.refund_id limit $2`,
  )
const listStatements = { sent: list('sent'), failed: list('failed') }

/** Refunds that wait in a state, oldest first; `afterId`: behind this one. Locks nothing. */
export function listWaitingRefunds(
  db: Queryable,
  state: WaitingState,
  afterId: string | undefined,
  limit: number,
): Promise<WaitingRefund[]> {
  return db.rows(listStatements[state], [afterId ?? null, limit])
}

// The state is a parameter, so that PostgreSQL finds the refund by its key and not among all in the state.
const findStatement = sql(
  'refund_find_waiting',
  `${waiting} and r.refund_id = $1 and r.state = $2::refund_state`,
)

/** The refund of an id, if it waits in a state. Locks nothing. */
export function findWaitingRefund(
  db: Queryable,
  state: WaitingState,
  refundId: string,
): Promise<WaitingRefund | undefined> {
  return db.row(findStatement, [refundId, state])
}

const paidByHandStatement = sql(
  'refund_settle',
  `with failed as (select refund_id from refund where refund_id = $1 and state = 'failed'),
   made as (
     insert into refund_settled (refund_id, settled_by, note)
     select refund_id, $2, $3 from failed
     on conflict (refund_id) do nothing returning settle_time
   )
   select coalesce((select settle_time from made),
     (select settle_time from refund_settled where refund_id = $1)) as "settleTime",
     exists (select from made) as "isFirst"`,
)

/**
 * Stores that a failed refund was paid by hand; undefined for a refund that has not failed. The first note counts: `isFirst` is whether
 * this one is stored.
 */
export async function recordRefundPaidByHand(
  db: Queryable,
  refundId: string,
  settledBy: string,
  note: string,
): Promise<{ settleTime: Date; isFirst: boolean } | undefined> {
  const row = await db.row<{ settleTime: Date | null; isFirst: boolean }>(paidByHandStatement, [
    refundId,
    settledBy,
    note,
  ])
  const { settleTime = null, isFirst = false } = row ?? {}
  return settleTime === null ? undefined : { settleTime, isFirst }
}

/** A call to the back end that has failed so far. */
export type FailingCall = {
  subjectId: string
  kind: Task['kind']
  projectId: string
  paymentId: string
  attempts: number
  createTime: Date
  nextTime: Date
}

const failingStatement = sql(
  'task_list_failing',
  `select subject_id as "subjectId", kind, project_id as "projectId", payment_id as "paymentId",
     attempts, create_time as "createTime", next_time as "nextTime"
   from task where done_time is null and attempts >= $1
   order by create_time, subject_id, kind limit $2`,
)

/** Open tasks with at least `minAttempts` attempts, the oldest first. Locks nothing. */
export function listFailingCalls(
  db: Queryable,
  minAttempts: number,
  limit: number,
): Promise<FailingCall[]> {
  return db.rows(failingStatement, [minAttempts, limit])
}

const retryStatement = sql(
  'task_retry',
  `update task set next_time = clock_now()
   where subject_id = $1 and kind = $2::task_kind and done_time is null`,
)

/** Makes an open task due; false when there is none. Locks its row. */
export async function retryCall(
  db: Queryable,
  subjectId: string,
  kind: Task['kind'],
): Promise<boolean> {
  return (await db.run(retryStatement, [subjectId, kind])) > 0
}

const repeatStatement = sql(
  'task_repeat_refund',
  `insert into task (subject_id, kind, project_id, payment_id, create_time, next_time)
   select refund_id, 'refund', project_id, payment_id, business_now(), clock_now()
   from refund where refund_id = $1 and state = 'sent'
   on conflict (subject_id, kind) do update set next_time = clock_now(), done_time = null,
     create_time = case when task.done_time is null then task.create_time
       else excluded.create_time end`,
)

/** Makes the call of a refund without an outcome due, also one that was made; false when there is no such refund. Locks the task. */
export async function repeatRefund(db: Queryable, refundId: string): Promise<boolean> {
  return (await db.run(repeatStatement, [refundId])) > 0
}

const enquireStatement = sql(
  'attempt_enquire',
  `update attempt set next_enquiry_time = case when enquiries = 0 then next_enquiry_time
     else least(next_enquiry_time, clock_now()) end
   where attempt_id = $1 and next_enquiry_time is not null`,
)

/**
 * Makes the enquiry about an attempt due; the first one keeps its time, since the call of the attempt may be under way. False when
 * there is no such attempt without an outcome. Locks its row.
 */
export async function enquireAttempt(db: Queryable, attemptId: string): Promise<boolean> {
  return (await db.run(enquireStatement, [attemptId])) > 0
}

/** An attempt of a payer that has no outcome, with its time in microseconds since 1970 for the cursor. */
export type ProcessingAttempt = {
  attemptId: string
  payerId: string
  projectId: string
  paymentId: string
  enquiries: number
  createTime: Date
  nextEnquiryTime: Date
  createdUs: bigint
}

const processingStatement = sql(
  'attempt_list_processing',
  `select attempt_id as "attemptId", payer_id as "payerId", project_id as "projectId",
     payment_id as "paymentId", enquiries, create_time as "createTime",
     next_enquiry_time as "nextEnquiryTime",
     (extract(epoch from create_time) * 1000000)::bigint as "createdUs"
   from attempt
   where next_enquiry_time is not null and (create_time, payer_id)
       > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2)
     and create_time <= business_now() - $3::integer * interval '1 second'
   order by create_time, payer_id limit $4`,
)

const firstId = '00000000-0000-0000-0000-000000000000'

/** Attempts without an outcome after `minAgeS` seconds, oldest first; `after`: behind this one. Locks nothing. */
export function listProcessing(
  db: Queryable,
  minAgeS: number,
  after: { createdUs: bigint; payerId: string } | undefined,
  limit: number,
): Promise<ProcessingAttempt[]> {
  const { createdUs = 0n, payerId = firstId } = after ?? {}
  return db.rows(processingStatement, [createdUs, payerId, minAgeS, limit])
}
