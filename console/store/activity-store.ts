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

/** Which calls to list; an empty filter takes any. */
export type ActivityFilter = {
  person: string
  projectId: string
  /** Only calls before this one; empty: from the newest. */
  before: string
  limit: number
}

const columns = `activity_id as "activityId", session_id as "sessionId", person, rpc,
     project_id as "projectId", target, request_id as "requestId", occur_time as "occurTime"`
const newestFirst = `(occur_time, activity_id) < ($1, $2)
   order by occur_time desc, activity_id desc limit $3`
const page = (name: string, wanted = '') =>
  sql(name, `select ${columns} from activity where ${wanted} ${newestFirst}`)

const listStatement = page('list_activity')
const listOfProjectStatement = page('list_activity_of_project', 'project_id = $4 and')
const listOfPersonStatement = page(
  'list_activity_of_person',
  'person = $4 and ($5::uuid is null or project_id = $5) and',
)
/** As text: a Date would lose the microseconds. */
const placeStatement = sql(
  'find_activity_place',
  'select occur_time::text as "occurTime" from activity where activity_id = $1',
)
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Calls of people, newest first; none after one that does not exist. Locks nothing. */
export async function listActivity(
  db: Queryable,
  { person, projectId, before, limit }: ActivityFilter,
): Promise<SeenActivity[]> {
  const place =
    before === ''
      ? { occurTime: 'infinity' }
      : await db.row<{ occurTime: string }>(placeStatement, [before])
  if (place === undefined) return []
  const values = [place.occurTime, before === '' ? lastId : before, limit]
  if (person !== '') {
    return await db.rows(listOfPersonStatement, [...values, person, projectId || null])
  }
  return projectId === ''
    ? await db.rows(listStatement, values)
    : await db.rows(listOfProjectStatement, [...values, projectId])
}
