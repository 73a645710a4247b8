// Statements on what people called.
import { type Queryable, sql } from '#platform/db/db.ts'

/** One call of a person. */
export type Activity = {
  activityId: string
  sessionId: string
  person: string
  /** `pkg.Service/Method`. */
  rpc: string
  projectId: string | undefined
  /** Id of what was read or changed; empty for lists. */
  target: string
  requestId: string
}

const insertStatement = sql(
  'insert_activity',
  `insert into activity (activity_id, session_id, person, rpc, project_id, target, request_id)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)
/** Adds a call, before it is made. */
export async function insertActivity(db: Queryable, activity: Activity): Promise<void> {
  const { activityId, sessionId, person, rpc, projectId, target, requestId } = activity
  const values = [activityId, sessionId, person, rpc, projectId ?? null, target, requestId]
  await db.run(insertStatement, values)
}
