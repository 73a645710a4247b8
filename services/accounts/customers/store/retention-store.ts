// Deletes customer data past its retention, but nothing that idempotency or the audit needs.
import { type Queryable, sql } from '#platform/db/db.ts'

const sessionsStatement = sql(
  'session_delete_old',
  `delete from session using (
     select session_id from session
     where consumed_by is null and expire_time < clock_now() - interval '30 days'
     order by expire_time limit $1 for update skip locked
   ) as old
   where session.session_id = old.session_id`,
)

const requestsStatement = sql(
  'session_request_delete_old',
  `delete from session_request using (
     select project_id, request_id from session_request
     where expire_time < clock_now() - interval '30 days'
     order by expire_time limit $1 for update skip locked
   ) as old
   where session_request.project_id = old.project_id
     and session_request.request_id = old.request_id`,
)

const tasksStatement = sql(
  'backend_task_delete_old',
  `delete from backend_task using (
     select subject_id, kind from backend_task
     where done_time < clock_now() - interval '30 days'
     order by done_time limit $1 for update skip locked
   ) as old
   where backend_task.subject_id = old.subject_id and backend_task.kind = old.kind`,
)

/** Deletes up to `limit` rows each that ended 30 days ago, by what they are. Each skips locked rows. */
export const oldRows = {
  /** Sessions that expired unspent. */
  sessions: (db: Queryable, limit: number): Promise<number> => db.run(sessionsStatement, [limit]),
  /** Request ids whose session has expired; one that is still repeated opens a new session anyway. */
  requests: (db: Queryable, limit: number): Promise<number> => db.run(requestsStatement, [limit]),
  /** Tasks that are done. */
  tasks: (db: Queryable, limit: number): Promise<number> => db.run(tasksStatement, [limit]),
}
