// Statements on movements, the sessions that authorise them and the accounts in them.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { LimitUse } from '../domain/limits.ts'
import type { Details } from '../domain/lines.ts'

/** State of a movement: it waits for its outcome, was posted, or was cancelled. */
export type MovementState = 'waiting' | 'posted' | 'cancelled'

/** A movement that is to begin. */
export type MovementDraft = {
  projectId: string
  movementId: string
  fingerprint: Buffer
  state: 'waiting' | 'posted'
  hasHold: boolean
  limitUse: LimitUse | undefined
  details: Required<Details>
}

/** A movement as it is kept. */
export type Movement = {
  /** Null for one that was cancelled before it began. */
  fingerprint: Buffer | null
  state: MovementState
  hasHold: boolean
  details: Required<Details>
  beginTime: Date
}

const insertMovement = sql(
  'movement_insert',
  `insert into movement (project_id, movement_id, fingerprint, state, has_hold, limit_account_id,
     limit_currency, limit_minor, limit_day, reference, description, method, metadata, begin_time, end_time)
   select $1, $2, $3, $4::movement_state, $5, $6, $7, $8,
     case when $6::uuid is not null then (clock_now() at time zone 'UTC')::date end,
     $9, $10, $11, $12, now, case when $4::movement_state = 'posted' then now end
   from business_now() as now
   on conflict do nothing
   returning begin_time as "beginTime"`,
)

/** Claims a movement's UUID; undefined when it is taken. Waits for a concurrent claim of the same UUID. */
export async function insertBegun(
  tx: Queryable,
  { projectId, movementId, fingerprint, state, hasHold, limitUse, details }: MovementDraft,
): Promise<Date | undefined> {
  const row = await tx.row<{ beginTime: Date }>(insertMovement, [
    projectId,
    movementId,
    fingerprint,
    state,
    hasHold,
    limitUse?.accountId ?? null,
    limitUse?.currency ?? null,
    limitUse?.amountMinor ?? null,
    details.reference,
    details.description,
    details.method,
    details.metadata,
  ])
  return row?.beginTime
}

const insertTombstone = sql(
  'movement_never',
  `insert into movement (project_id, movement_id, state, begin_time, end_time)
   select $1, $2, 'cancelled', now, now from business_now() as now
   on conflict do nothing`,
)

/** Claims the UUID of a movement that never began, for ever; false when it is taken. Waits as `insertBegun` does. */
export async function insertNeverBegun(
  tx: Queryable,
  projectId: string,
  movementId: string,
): Promise<boolean> {
  return (await tx.run(insertTombstone, [projectId, movementId])) === 1
}

type EndedRow = Required<Details> & { hasHold: boolean; hasLimit: boolean }

const endStatement = sql(
  'movement_end',
  `update movement set state = $3, end_time = business_now()
   where project_id = $1 and movement_id = $2 and state = 'waiting'
   returning has_hold as "hasHold", limit_minor is not null as "hasLimit", reference, description,
     method, metadata`,
)

/** Ends a movement that waits; undefined when it does not wait. Locks it until the transaction ends. */
export async function endMovement(
  tx: Queryable,
  projectId: string,
  movementId: string,
  state: 'posted' | 'cancelled',
): Promise<{ hasHold: boolean; hasLimit: boolean; details: Required<Details> } | undefined> {
  const row = await tx.row<EndedRow>(endStatement, [projectId, movementId, state])
  if (row === undefined) return undefined
  const { hasHold, hasLimit, ...details } = row
  return { hasHold, hasLimit, details }
}

const selectMovement = sql(
  'movement_read',
  `select fingerprint, state, has_hold as "hasHold", begin_time as "beginTime", reference,
     description, method, metadata
   from movement where project_id = $1 and movement_id = $2`,
)

/** Reads a movement. Locks nothing. */
export async function readMovement(
  q: Queryable,
  projectId: string,
  movementId: string,
): Promise<Movement | undefined> {
  const row = await q.row<Omit<Movement, 'details'> & Required<Details>>(selectMovement, [
    projectId,
    movementId,
  ])
  if (row === undefined) return undefined
  const { reference, description, method, metadata, ...movement } = row
  return { ...movement, details: { reference, description, method, metadata } }
}

/** The validity of a session when a movement tried to use it. */
export type SessionValidity = 'accepted' | 'invalid' | 'expired'

type SessionRow = { singleUse: boolean; wasSpent: boolean; hasExpired: boolean; isSpent: boolean }

const spendStatement = sql(
  'session_spend',
  `with known as (
     select session_id, single_use, consumed_by, expire_time <= clock_now() as has_expired
     from session where token_hash = $1 and project_id = $2 and institution_id = $3
   ), spent as (
     update session s set consumed_by = $4, consume_time = clock_now()
     from known k
     where s.session_id = k.session_id and s.single_use and s.consumed_by is null
       and s.expire_time > clock_now()
     returning 1
   )
   select single_use as "singleUse", consumed_by is not null as "wasSpent",
     has_expired as "hasExpired", exists (select from spent) as "isSpent"
   from known`,
)

/** Spends a single-use session; a reusable one stays. Locks the session that it spends until the transaction ends. */
export async function spendSession(
  tx: Queryable,
  tokenHash: Buffer,
  {
    projectId,
    institutionId,
    movementId,
  }: { projectId: string; institutionId: string; movementId: string },
): Promise<SessionValidity> {
  const row = await tx.row<SessionRow>(spendStatement, [
    tokenHash,
    projectId,
    institutionId,
    movementId,
  ])
  if (row === undefined || row.wasSpent) return 'invalid'
  if (row.hasExpired) return 'expired'
  // A concurrent movement has spent it.
  return row.singleUse && !row.isSpent ? 'invalid' : 'accepted'
}

/** What a project sees of a customer's account. */
export type AccountStanding = { accountId: string; isVisible: boolean; isAvailable: boolean }

const standingStatement = sql(
  'account_standing',
  `select w.account_id as "accountId", coalesce(a.status = 'available', false) as "isAvailable",
     exists (select from endpoint_grant g
       where g.project_id = $1 and g.institution_id = a.institution_id) as "isVisible"
   from unnest($2::uuid[]) as w(account_id) left join account a using (account_id)`,
)

/** State of customers' accounts; a project sees those of institutions on which it holds any grant. Locks nothing. */
export function readStandings(
  q: Queryable,
  projectId: string,
  accountIds: readonly string[],
): Promise<AccountStanding[]> {
  return q.rows(standingStatement, [projectId, accountIds])
}
