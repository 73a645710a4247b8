// Claims customer tasks for the back end and marks them done.

import { type Queryable, sql } from '#platform/db/db.ts'
import type { Backlog } from '#platform/telemetry/metrics.ts'

/** What is sent to the back end. */
export type TaskKind = 'submit_onboarding' | 'request_consent'

/** A claimed task. */
export type ClaimedTask = { subjectId: string; kind: TaskKind; attempts: number }

const claimStatement = sql(
  'backend_task_claim',
  `with due as (
     select subject_id, kind from backend_task
     where done_time is null and next_time <= clock_now()
     order by next_time limit $1 for update skip locked
   )
   update backend_task t set attempts = t.attempts + 1,
     next_time = clock_now() + $2 * interval '1 millisecond'
   from due where t.subject_id = due.subject_id and t.kind = due.kind
   returning t.subject_id as "subjectId", t.kind, t.attempts`,
)

/** Takes due tasks for `leaseMs`. Locks them for this one statement; locked ones are skipped. */
export function claimTasks(db: Queryable, limit: number, leaseMs: number): Promise<ClaimedTask[]> {
  return db.rows(claimStatement, [limit, leaseMs])
}

const doneStatement = sql(
  'backend_task_mark_done',
  `update backend_task set done_time = clock_now()
   where subject_id = $1 and kind = $2 and done_time is null`,
)

/** Marks a task as done. */
export async function markDone(
  db: Queryable,
  { subjectId, kind }: Pick<ClaimedTask, 'subjectId' | 'kind'>,
): Promise<void> {
  await db.run(doneStatement, [subjectId, kind])
}

const postponeStatement = sql(
  'backend_task_mark_later',
  `update backend_task set next_time = clock_now()
     + least(interval '60 s', interval '250 ms' * power(2, least(attempts, 10)))
   where subject_id = $1 and kind = $2 and done_time is null`,
)

/** Postpones a task after a failure: 0.5 s doubling to a minute, for ever. */
export async function postponeTask(
  db: Queryable,
  { subjectId, kind }: Pick<ClaimedTask, 'subjectId' | 'kind'>,
): Promise<void> {
  await db.run(postponeStatement, [subjectId, kind])
}

/** A task that has failed so far. */
export type FailingTask = {
  subjectId: string
  kind: TaskKind
  projectId: string
  attempts: number
  createTime: Date
  nextTime: Date
}

const failingStatement = sql(
  'backend_task_list_failing',
  `select t.subject_id as "subjectId", t.kind, coalesce(r.project_id, c.project_id) as "projectId",
     t.attempts, t.create_time as "createTime", t.next_time as "nextTime"
   from backend_task t
   left join review r on t.kind = 'submit_onboarding' and r.review_id = t.subject_id
   left join challenge c on t.kind = 'request_consent' and c.challenge_id = t.subject_id
   where t.done_time is null and t.attempts >= $1
     and coalesce(r.project_id, c.project_id) is not null
   order by t.create_time, t.subject_id, t.kind limit $2`,
)

/** Open tasks with at least `minAttempts` attempts, the oldest first. Locks nothing. */
export function listFailingTasks(
  db: Queryable,
  minAttempts: number,
  limit: number,
): Promise<FailingTask[]> {
  return db.rows(failingStatement, [minAttempts, limit])
}

const retryStatement = sql(
  'backend_task_retry',
  `update backend_task set next_time = clock_now()
   where subject_id = $1 and kind = $2 and done_time is null`,
)

/** Makes an open task due; false when there is none. Locks its row. */
export async function retryTask(
  db: Queryable,
  subjectId: string,
  kind: TaskKind,
): Promise<boolean> {
  return (await db.run(retryStatement, [subjectId, kind])) > 0
}

const backlogStatement = sql(
  'backend_task_backlog',
  `select kinds.kind, count(t.subject_id)::integer as open,
     coalesce(extract(epoch from clock_now() - min(t.create_time)), 0)::float8 as "oldestS"
   from unnest(enum_range(null::backend_task_kind)) as kinds(kind)
     left join backend_task t on t.kind = kinds.kind and t.done_time is null
   group by kinds.kind`,
)

/** Reads the backlog of tasks. Locks nothing. */
export function taskBacklog(db: Queryable): Promise<Backlog[]> {
  return db.rows(backlogStatement, [])
}
