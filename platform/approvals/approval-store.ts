// Statements on what one person requested and a second one must approve.
import { newId } from '#core/identity/id.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** State of an approval. */
export type ApprovalState = 'waiting' | 'approved' | 'rejected' | 'expired'

/** What is requested. */
export type Wanted = {
  projectId: string
  /** Id of the payment, or transaction id of the bill payment. */
  subjectId: string
  amountMinor: bigint
  currency: string
  /** What is to be decided; empty where there is one thing to do. */
  outcome: string
  note: string
}

/** A request and what was decided about it. */
export type Approval = Wanted & {
  approvalId: string
  requester: string
  createTime: Date
  expireTime: Date
  state: ApprovalState
  decider: string | null
  decideTime: Date | null
  decisionNote: string
}

/** Who requests or decides, for the audit. */
export type Actor = { caller: string; requestId: string | undefined }

/** Which approval. */
export type ApprovalKey = { projectId: string; approvalId: string }

/** What a request is about. */
export type SubjectKey = Pick<Wanted, 'projectId' | 'subjectId'>

const lifetime = "interval '72 hours'"
const stateNow = `case when state = 'waiting' and expire_time <= clock_now() then 'expired'
       else state::text end`
const columns = `approval_id as "approvalId", project_id as "projectId", subject_id as "subjectId",
     amount_minor as "amountMinor", currency, outcome, note, requester, create_time as "createTime",
     expire_time as "expireTime", ${stateNow} as state, decider, decide_time as "decideTime",
     decision_note as "decisionNote"`

const expireStatement = sql(
  'approval_expire',
  `update approval set state = 'expired'
   where project_id = $1 and subject_id = $2 and state = 'waiting' and expire_time <= clock_now()`,
)

const insertStatement = sql(
  'approval_insert',
  `insert into approval (approval_id, project_id, subject_id, amount_minor, currency, outcome, note,
     requester, request_id, expire_time)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_now() + ${lifetime})
   on conflict (project_id, subject_id) where state = 'waiting' do nothing
   returning ${columns}`,
)

/** Stores a request; undefined when one about the same subject waits. Waits for another that is being stored. Rejects as a Queryable does. */
export async function insertApproval(
  tx: Queryable,
  { caller, requestId }: Actor,
  wanted: Wanted,
): Promise<Approval | undefined> {
  const { projectId, subjectId, amountMinor, currency, outcome, note } = wanted
  await tx.run(expireStatement, [projectId, subjectId])
  return await tx.row<Approval>(insertStatement, [
    newId(),
    projectId,
    subjectId,
    amountMinor,
    currency,
    outcome,
    note,
    caller,
    requestId ?? null,
  ])
}

const waitingStatement = sql(
  'approval_find_waiting',
  `select ${columns} from approval
   where project_id = $1 and subject_id = $2 and state = 'waiting'`,
)

/** The request about a subject that waits, if there is one. Locks nothing. Rejects as a Queryable does. */
export function findWaiting(
  db: Queryable,
  { projectId, subjectId }: SubjectKey,
): Promise<Approval | undefined> {
  return db.row(waitingStatement, [projectId, subjectId])
}

const readStatement = sql(
  'approval_read',
  `select ${columns} from approval where project_id = $1 and approval_id = $2`,
)

/** One approval of a project; undefined when it is unknown. Locks nothing. Rejects as a Queryable does. */
export function readApproval(
  db: Queryable,
  { projectId, approvalId }: ApprovalKey,
): Promise<Approval | undefined> {
  return db.row(readStatement, [projectId, approvalId])
}

const decideStatement = sql(
  'approval_decide',
  `update approval set state = $3::approval_state, decider = $4, decide_request_id = $5,
     decide_time = clock_now(), decision_note = $6
   where project_id = $1 and approval_id = $2 and state = 'waiting' and expire_time > clock_now()
   returning ${columns}`,
)

/** Stores the decision about a request that waits; undefined for any other. Locks its row. Rejects as a Queryable does. */
export function decideApproval(
  tx: Queryable,
  { projectId, approvalId }: ApprovalKey,
  { caller, requestId }: Actor,
  state: 'approved' | 'rejected',
  note: string,
): Promise<Approval | undefined> {
  return tx.row(decideStatement, [projectId, approvalId, state, caller, requestId ?? null, note])
}

const rejectStatement = sql(
  'approval_reject_waiting',
  `update approval set state = 'rejected', decider = $3, decide_request_id = $4,
     decide_time = clock_now(), decision_note = $5
   where project_id = $1 and subject_id = $2 and state = 'waiting' and expire_time > clock_now()`,
)

/** Rejects the request about a subject that waits, if there is one. Locks its row. Rejects as a Queryable does. */
export async function rejectWaiting(
  tx: Queryable,
  { projectId, subjectId }: SubjectKey,
  { caller, requestId }: Actor,
  note: string,
): Promise<void> {
  await tx.run(rejectStatement, [projectId, subjectId, caller, requestId ?? null, note])
}

/** Which approvals to list. */
export type ApprovalFilter = {
  /** Undefined: of all projects. */
  projectId: string | undefined
  /** Undefined: of any; it needs a project. */
  subjectId: string | undefined
  /** Undefined: in any state. */
  state: ApprovalState | undefined
  /** The one of this id; undefined: any. */
  approvalId: string | undefined
}

const all = ''
const ofProject = 'project_id = $3 and'
const ofSubject = 'project_id = $3 and subject_id = $4 and'
const oldestFirst = (name: string, where: string) =>
  sql(
    name,
    `select ${columns} from approval
     where ${where} state = 'waiting' and expire_time > clock_now() and approval_id > $1
     order by approval_id limit $2`,
  )
const newestFirst = (name: string, where: string, state: number) =>
  sql(
    name,
    `select ${columns} from approval
     where ${where} approval_id < $1 and ($${state}::text is null or ${stateNow} = $${state})
     order by approval_id desc limit $2`,
  )
const waitingLists = {
  all: oldestFirst('approval_list_waiting', all),
  ofProject: oldestFirst('approval_list_waiting_of_project', ofProject),
  ofSubject: oldestFirst('approval_list_waiting_of_subject', ofSubject),
}
const lists = {
  all: newestFirst('approval_list', all, 3),
  ofProject: newestFirst('approval_list_of_project', ofProject, 4),
  ofSubject: newestFirst('approval_list_of_subject', ofSubject, 5),
}
const oneStatement = sql(
  'approval_list_one',
  `select ${columns} from approval
   where approval_id = $1 and ($2::uuid is null or project_id = $2)
     and ($3::text is null or subject_id = $3) and ($4::text is null or ${stateNow} = $4)`,
)
const firstId = '00000000-0000-0000-0000-000000000000'
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Approvals behind `afterId`: those that wait oldest first, all others newest first. Locks nothing. Rejects as a Queryable does. */
export function listApprovals(
  db: Queryable,
  { projectId, subjectId, state, approvalId }: ApprovalFilter,
  afterId: string | undefined,
  limit: number,
): Promise<Approval[]> {
  if (approvalId !== undefined) {
    const filter = [projectId ?? null, subjectId ?? null, state ?? null]
    return db.rows(oneStatement, [approvalId, ...filter])
  }
  const isOfOne = projectId !== undefined && subjectId !== undefined
  const scope = isOfOne ? 'ofSubject' : projectId === undefined ? 'all' : 'ofProject'
  const scopeValues = [projectId, isOfOne ? subjectId : undefined].filter(
    (one) => one !== undefined,
  )
  return state === 'waiting'
    ? db.rows(waitingLists[scope], [afterId ?? firstId, limit, ...scopeValues])
    : db.rows(lists[scope], [afterId ?? lastId, limit, ...scopeValues, state ?? null])
}
