// Statements that pause and resume lanes, each with a line of who did it, and that list these lines.
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { DeliveryKind } from '../domain/delivery.ts'

/** A change of a lane, and who makes it. */
export interface NewLaneChange {
  projectId: string
  endpointId: string
  isPaused: boolean
  note: string
  caller: string
  requestId: string | undefined
}

const pauseStatement = sql(
  'lane_pause',
  `update endpoint set paused_at = clock_now(), version = version + 1
   where project_id = $1 and endpoint_id = $2 and paused_at is null
   returning origin, lane_kind as kind`,
)

/** What waits may be for several URLs by now, and is looked at as soon as the breaker lets it. */
const resumeStatement = sql(
  'lane_resume',
  `update endpoint set paused_at = null, version = version + 1, only_url = null,
     ready_at = greatest(clock_now(), breaker_until)
   where project_id = $1 and endpoint_id = $2 and paused_at is not null
   returning origin, lane_kind as kind`,
)

const findStatement = sql(
  'lane_exists',
  'select 1 as found from endpoint where project_id = $1 and endpoint_id = $2',
)

const insertStatement = sql(
  'lane_change_insert',
  `insert into lane_change (change_id, project_id, endpoint_id, origin, lane_kind, is_paused, note, caller, request_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
)

/**
 * Pauses or resumes a lane and writes who did it; one that is so already stays as it is, without a line. Throws RECEIVER_NOT_FOUND for a
 * lane that the project does not have. Locks the lane.
 */
export async function changeLane(db: Database, change: NewLaneChange): Promise<void> {
  const { projectId, endpointId, isPaused, note, caller, requestId } = change
  await db.transaction(async (tx) => {
    const key = [projectId, endpointId]
    const statement = isPaused ? pauseStatement : resumeStatement
    const lane = await tx.row<{ origin: string; kind: DeliveryKind | null }>(statement, key)
    if (lane !== undefined) {
      const who = [isPaused, note, caller, requestId ?? null]
      await tx.run(insertStatement, [newId(), ...key, lane.origin, lane.kind, ...who])
    } else if ((await tx.row(findStatement, key)) === undefined) {
      throw new Failure('RECEIVER_NOT_FOUND', 'the project has no such receiver')
    }
  })
}

/** A change as it is read. */
export interface LaneChange extends Omit<NewLaneChange, 'projectId' | 'requestId'> {
  changeId: string
  changeTime: Date
  origin: string
  kind: DeliveryKind | null
  requestId: string | null
}

const listStatement = sql(
  'lane_change_list',
  `select change_id as "changeId", change_time as "changeTime", endpoint_id as "endpointId", origin,
     lane_kind as kind, is_paused as "isPaused", note, caller, request_id as "requestId"
   from lane_change where project_id = $1 and ($2::uuid is null or change_id < $2)
     and ($4::text is null or lane_kind = $4)
   order by change_id desc limit $3`,
)

/** Changes of a project's lanes behind one, of lanes of one kind or of all, newest first. Locks nothing. */
export function listLaneChanges(
  db: Queryable,
  projectId: string,
  afterId: string | undefined,
  limit: number,
  kind: DeliveryKind | undefined,
): Promise<LaneChange[]> {
  return db.rows(listStatement, [projectId, afterId ?? null, limit, kind ?? null])
}
