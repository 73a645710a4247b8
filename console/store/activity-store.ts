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

/** A call as it was written down. */
export type SeenActivity = Omit<Activity, 'projectId'> & {
  projectId: string | null
  occurTime: Date
}

/** Which calls to list; an empty or undefined filter takes any. */
export type ActivityFilter = {
  person: string
  projectId: string
  target?: string
  /** First time, inclusive. */
  startTime?: Date | undefined
  /** End of the times, exclusive. */
  endTime?: Date | undefined
  /** Only calls before this one; empty: from the newest. */
  before: string
  limit: number
}

const columns = `activity_id as "activityId", session_id as "sessionId", person, rpc,
     project_id as "projectId", target, request_id as "requestId", occur_time as "occurTime"`
/** A list reads the index of its most selective filter, whose name stands in front, from the cursor on. */
const page = (name: string, first = '') =>
  sql(
    name,
    `select ${columns} from activity where ${first} occur_time >= $4 and occur_time < $5
       and (occur_time, activity_id) < ($6, $7)
       and ($1::text is null or target = $1) and ($2::text is null or person = $2)
       and ($3::uuid is null or project_id = $3)
     order by occur_time desc, activity_id desc limit $8`,
  )

const statements = {
  target: page('list_activity_of_target', `target = $1 and target <> '' and`),
  person: page('list_activity_of_person', 'person = $2 and'),
  projectId: page('list_activity_of_project', 'project_id = $3 and'),
  all: page('list_activity'),
}

/** As text: a Date would lose the microseconds. */
const cursorStatement = sql(
  'find_activity_cursor',
  'select occur_time::text as "occurTime" from activity where activity_id = $1',
)
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Calls of people, newest first; none after one that does not exist. Locks nothing. */
export async function listActivity(
  db: Queryable,
  { startTime, endTime, before, limit, ...wanted }: ActivityFilter,
): Promise<SeenActivity[]> {
  const cursor =
    before === ''
      ? { occurTime: 'infinity' }
      : await db.row<{ occurTime: string }>(cursorStatement, [before])
  if (cursor === undefined) return []
  const first = (['target', 'person', 'projectId'] as const).find(
    (name) => (wanted[name] ?? '') !== '',
  )
  return await db.rows(statements[first ?? 'all'], [
    wanted.target || null,
    wanted.person || null,
    wanted.projectId || null,
    startTime ?? '-infinity',
    endTime ?? 'infinity',
    cursor.occurTime,
    before === '' ? lastId : before,
    limit,
  ])
}

const deleteOldStatement = sql(
  'delete_old_activity',
  'select delete_old_activity($1) as "deletedCount"',
)
/** Deletes up to `limit` calls that are older than 400 days, the oldest first; returns how many. Skips rows that others hold. */
export async function deleteOldActivity(db: Queryable, limit: number): Promise<number> {
  const row = await db.row<{ deletedCount: number }>(deleteOldStatement, [limit])
  return row?.deletedCount ?? 0
}
