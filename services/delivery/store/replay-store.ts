// Statements on replay jobs: which deliveries come next and how far a job is.
import { randomUUID } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import { type Database, type Queryable, sql } from '#platform/db/db.ts'
import type { DeliveryKind, DeliveryState } from '../domain/delivery.ts'
import { beginRound } from './operate-store.ts'

/** State of a job. */
export type ReplayState = 'running' | 'paused' | 'done' | 'cancelled'

/** A job as it is stored. */
export interface ReplayJob {
  jobId: string
  projectId: string
  kind: DeliveryKind | null
  /** Of the receivers; null: any. */
  origin: string | null
  /** Payment request or account; null: any. */
  subjectId: string | null
  states: DeliveryState[]
  fromAt: Date
  /** Before this one; never after the job's creation, or what fails again would be replayed again. */
  toAt: Date
  ratePerS: number
  state: ReplayState
  replayed: bigint
  cursorAt: Date | null
  cursorId: string | null
  createdAt: Date
  endedAt: Date | null
}

/** A job to create. */
export interface NewReplayJob {
  projectId: string
  idempotencyKey: string
  kind: DeliveryKind | undefined
  origin: string | undefined
  subjectId: string | undefined
  states: DeliveryState[]
  fromAt: Date | undefined
  toAt: Date | undefined
  ratePerS: number
  /** Of the whole request: an equal key with another fingerprint is a conflict. */
  fingerprint: Buffer
}

/** One with an origin or a subject has a state of its own: the previous release must not step it. */
const runs = `case when coalesce(origin, subject_id) is null then 'running' else 'narrowed' end`

const shown = `job_id as "jobId", project_id as "projectId", kind, origin, subject_id as "subjectId", states,
  from_at as "fromAt", to_at as "toAt", rate_per_s as "ratePerS",
  case state when 'narrowed' then 'running' else state end as state, replayed, cursor_at as "cursorAt",
  cursor_id as "cursorId", created_at as "createdAt", ended_at as "endedAt"`

const insertStatement = sql(
  'replay_job_insert',
  `insert into replay_job (
     job_id, project_id, idempotency_key, kind, states, from_at, to_at, rate_per_s, fingerprint,
     origin, subject_id, state, next_step_at, created_at
   )
   select $1, $2, $3, $4, $5::text[], coalesce($6, (
       select created_at from delivery where project_id = $2 order by created_at, delivery_id limit 1
     ), now), least($7, now), $8, $9, origin, subject_id, ${runs}, now, now
   from (
     select date_trunc('milliseconds', clock_now()) as now, $10::text as origin, $11::text as subject_id
   ) as clock
   on conflict (project_id, idempotency_key) do nothing`,
)

const byKeyStatement = sql(
  'replay_job_by_key',
  `select ${shown}, fingerprint from replay_job where project_id = $1 and idempotency_key = $2`,
)

const firstId = '00000000-0000-0000-0000-000000000000'

/** Creates a job, or returns the one that the same key has made. One without a lower bound begins at the project's oldest delivery. */
export function createReplayJob(db: Database, job: NewReplayJob): Promise<ReplayJob> {
  const { projectId, idempotencyKey } = job
  return db.transaction(async (tx) => {
    await tx.run(insertStatement, [
      randomUUID(),
      projectId,
      idempotencyKey,
      job.kind ?? null,
      job.states,
      job.fromAt ?? null,
      job.toAt ?? null,
      job.ratePerS,
      job.fingerprint,
      job.origin ?? null,
      job.subjectId ?? null,
    ])
    const values = [projectId, idempotencyKey]
    const made = await tx.row<ReplayJob & { fingerprint: Buffer }>(byKeyStatement, values)
    if (made === undefined) throw new Error('the job is not there after its insertion')
    if (made.fingerprint.equals(job.fingerprint)) return made
    throw new Failure('IDEMPOTENCY_KEY_CONFLICT', 'the key was used for another replay')
  })
}

const findStatement = sql(
  'replay_job_find',
  `select ${shown} from replay_job where project_id = $1 and job_id = $2`,
)

/** A project's job. */
export function findReplayJob(
  db: Queryable,
  projectId: string,
  jobId: string,
): Promise<ReplayJob | undefined> {
  return db.row(findStatement, [projectId, jobId])
}

const cancelStatement = sql(
  'replay_job_cancel',
  `update replay_job set state = 'cancelled', ended_at = clock_now()
   where project_id = $1 and job_id = $2 and state in ('running', 'narrowed', 'paused')`,
)

/** Stops a job after the step that is under way; locks it. One that has ended stays as it is. */
export async function cancelReplayJob(
  db: Queryable,
  projectId: string,
  jobId: string,
): Promise<void> {
  await db.run(cancelStatement, [projectId, jobId])
}

const pauseStatement = sql(
  'replay_job_pause',
  `update replay_job set state = 'paused'
   where project_id = $1 and job_id = $2 and state in ('running', 'narrowed')`,
)

/** Keeps a running job from further steps; locks it. Another one stays as it is. */
export async function pauseReplayJob(
  db: Queryable,
  projectId: string,
  jobId: string,
): Promise<void> {
  await db.run(pauseStatement, [projectId, jobId])
}

const resumeStatement = sql(
  'replay_job_resume',
  `update replay_job set state = ${runs}, next_step_at = clock_now()
   where project_id = $1 and job_id = $2 and state = 'paused'`,
)

/** Lets a paused job go on from where it is; locks it. Another one stays as it is. */
export async function resumeReplayJob(
  db: Queryable,
  projectId: string,
  jobId: string,
): Promise<void> {
  await db.run(resumeStatement, [projectId, jobId])
}

const listStatement = sql(
  'replay_job_list',
  `select ${shown} from replay_job
   where project_id = $1 and (created_at, job_id) < ($2, $3)
     and ($5::text is null or case state when 'narrowed' then 'running' else state end = $5)
   order by created_at desc, job_id desc
   limit $4`,
)

/** A project's jobs in one state or in any, the newest first, those from before `before`. Locks nothing. */
export function listReplayJobs(
  db: Queryable,
  projectId: string,
  before: { time: Date; id: string } | undefined,
  limit: number,
  state?: ReplayState,
): Promise<ReplayJob[]> {
  const { time, id } = before ?? { time: 'infinity', id: firstId }
  return db.rows(listStatement, [projectId, time, id, limit, state ?? null])
}

const lockStatement = sql(
  'replay_job_lock_due',
  `select ${shown} from replay_job
   where state in ('running', 'narrowed') and next_step_at <= clock_now()
   order by next_step_at
   limit 1
   for update skip locked`,
)

const scanned = `select delivery_id, created_at, kind, state, subject_id, endpoint_id from delivery
     where project_id = $1 and (created_at, delivery_id) > ($2, $3) and created_at < $4
     order by created_at, delivery_id
     limit $5`

const takeStatement = sql(
  'replay_job_take',
  `select delivery_id as "deliveryId", created_at as "createdAt" from (${scanned}) as scanned
   where state = any($6::text[]) and ($7::text is null or kind = $7)
     and ($9::text is null or subject_id = $9)
     and ($10::text is null
       or endpoint_id in (select endpoint_id from endpoint where project_id = $1 and origin = $10))
   order by created_at, delivery_id
   limit $8`,
)

const lookStatement = sql(
  'replay_job_look',
  `select delivery_id as "deliveryId", created_at as "createdAt", position::integer as position
   from (
     select delivery_id, created_at, row_number() over (order by created_at, delivery_id) as position
     from (${scanned}) as scanned
   ) as placed
   order by position desc
   limit 1`,
)

const moveStatement = sql(
  'replay_job_move',
  `update replay_job set
     cursor_at = $2, cursor_id = $3, replayed = replayed + $4,
     next_step_at = clock_now() + $5 * interval '1 second',
     state = case when $6 then 'done' else state end,
     ended_at = case when $6 then clock_now() end
   where job_id = $1`,
)

/** How much one step may do. */
export interface StepLimits {
  /** Deliveries to look at, fitting or not: keeps the statement short where few fit. */
  scan: number
  /** Steps per second: each takes its part of the job's rate. */
  perS: number
}

interface ReplayCursor {
  createdAt: Date
  deliveryId: string
}

/**
 * Does the next step of one job that is due: makes some deliveries due and moves the cursor, both or neither.
 * Returns how many, or undefined when no job is due. Locks the job (skipping locked ones), then the
 * deliveries, then their receivers.
 */
export function stepReplay(db: Database, limits: StepLimits): Promise<number | undefined> {
  return db.transaction(async (tx) => {
    const job = await tx.row<ReplayJob>(lockStatement, [])
    if (job === undefined) return undefined
    const { found, last, done } = await nextDeliveries(tx, job, limits)
    const ids = found.map(({ deliveryId }) => deliveryId)
    const begun = ids.length === 0 ? 0 : await beginRound(tx, job.projectId, ids, job.states)
    const pauseS = begun / job.ratePerS
    const cursor = [last?.createdAt ?? job.cursorAt, last?.deliveryId ?? job.cursorId]
    await tx.run(moveStatement, [job.jobId, ...cursor, begun, pauseS, done])
    return begun
  })
}

/** Reads on from the cursor: what fits, the last delivery that was looked at, and whether there are no more. */
async function nextDeliveries(tx: Queryable, job: ReplayJob, { scan, perS }: StepLimits) {
  const maxFound = Math.ceil(job.ratePerS / perS)
  const from = [job.cursorAt ?? job.fromAt, job.cursorId ?? firstId]
  const window = [job.projectId, ...from, job.toAt, scan]
  // Ends as soon as enough is found, mostly long before the end of what may be looked at.
  const narrowed = [job.subjectId, job.origin]
  const values = [...window, job.states, job.kind, maxFound, ...narrowed]
  const found = await tx.rows<ReplayCursor>(takeStatement, values)
  if (found.length === maxFound) return { found, last: found.at(-1), done: false }
  const last = await tx.row<ReplayCursor & { position: number }>(lookStatement, window)
  return { found, last, done: (last?.position ?? 0) < scan }
}
