// Statements that open sessions, stored by the hash of their token.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Account } from '../domain/account.ts'
import { accountColumns } from './account-store.ts'

/** By what a look-up finds accounts. */
export type LookupType = 'MOBILE' | 'EMAIL' | 'ACCOUNT_NUMBER'

/** The account to look for, texts normalized, and the session to open when exactly one available account is found. */
export type SessionRequest = {
  projectId: string
  lookupType: LookupType
  /** E.164, a normalized e-mail address or an account number. */
  lookupValue: string
  /** Empty texts narrow nothing. */
  institutionName: string
  firstNameFolded: string
  lastNameFolded: string
  emailFolded: string
  /** Undefined: every call opens a new session. */
  requestId: string | undefined
  fingerprint: Buffer
  sessionId: string
  tokenHash: Buffer
  ttlS: number
  /** The key that the token was derived from. */
  keyId: string
}

/** One of at most two accounts that match a request. */
export type MatchedAccount = Account & {
  /** When the session that this call opened ends; null when it opened none. */
  expireTime: Date | null
  /** False when the request id was used before and its session still lives. */
  claimed: boolean
}

const lookupColumns = {
  MOBILE: 'mobile_number',
  EMAIL: 'email_folded',
  ACCOUNT_NUMBER: 'account_number',
} as const satisfies Record<LookupType, string>

// One round trip for a look-up, the claim of its request id and the session. A repeat meets the primary key of
// session_request: it waits for the first call's statement to end and then claims nothing.
function openStatement(lookupType: LookupType) {
  return sql(
    `session_open_by_${lookupType.toLowerCase()}`,
    `with visible as (
       select i.institution_id, i.name from institution i
       where ($3 = '' or i.name = $3) and exists (
         select from endpoint_grant g
         where g.project_id = $1 and g.institution_id = i.institution_id)
     ), matched as (
       select ${accountColumns} from visible i
       join account a on a.institution_id = i.institution_id
         and a.${lookupColumns[lookupType]} = $2
       where a.status in ('available', 'suspended', 'closed')
         and ($4 = '' or a.first_name_folded = $4) and ($5 = '' or a.last_name_folded = $5)
         and ($6 = '' or a.email_folded = $6)
       limit 2
     ), found as (
       select m.*, m.status = 'available' as usable from matched m
       where (select count(*) from matched) = 1
     ), claim as (
       insert into session_request (project_id, request_id, fingerprint, session_id, expire_time)
       select $1, $7::uuid, $8, case when usable then $9::uuid end,
         clock_now() + case when usable then $11 else 0 end * interval '1 s'
       from found where $7::uuid is not null
       on conflict (project_id, request_id) do update
         set session_id = excluded.session_id, expire_time = excluded.expire_time
         where session_request.fingerprint = excluded.fingerprint
           and session_request.expire_time <= clock_now()
       returning 1
     ), opened as (
       insert into session
         (session_id, project_id, institution_id, account_id, token_hash, ttl_s, expire_time,
          key_id)
       select $9::uuid, $1, "institutionId", "accountId", $10, $11,
         clock_now() + $11 * interval '1 s', $12
       from found where usable and ($7::uuid is null or exists (select from claim))
       returning expire_time
     )
     select matched.*, (select expire_time from opened) as "expireTime",
       $7::uuid is null or exists (select from claim) as claimed
     from matched`,
  )
}

const openStatements = {
  MOBILE: openStatement('MOBILE'),
  EMAIL: openStatement('EMAIL'),
  ACCOUNT_NUMBER: openStatement('ACCOUNT_NUMBER'),
} as const satisfies Record<LookupType, unknown>

/**
 * Looks an account up among those that the project sees and opens a session when exactly one fits, is available
 * and the request id is free. At most two accounts are answered. Locks the row of the request id.
 */
export function openSessionRow(db: Queryable, wish: SessionRequest): Promise<MatchedAccount[]> {
  return db.rows(openStatements[wish.lookupType], [
    wish.projectId,
    wish.lookupValue,
    wish.institutionName,
    wish.firstNameFolded,
    wish.lastNameFolded,
    wish.emailFolded,
    wish.requestId ?? null,
    wish.fingerprint,
    wish.sessionId,
    wish.tokenHash,
    wish.ttlS,
    wish.keyId,
  ])
}

/** What a request id was used for. */
export type RequestedSession = {
  fingerprint: Buffer
  live: boolean
  /** Null when the account was unavailable. */
  sessionId: string | null
  expireTime: Date
  ttlS: number | null
  /** The key that the session's token was derived from; null for one from before key ids. */
  keyId: string | null
}

const requestedStatement = sql(
  'session_requested',
  `select r.fingerprint, r.expire_time > clock_now() as live, r.session_id as "sessionId",
     r.expire_time as "expireTime", s.ttl_s as "ttlS", s.key_id as "keyId"
   from session_request r left join session s on s.session_id = r.session_id
   where r.project_id = $1 and r.request_id = $2`,
)

/** Reads what a request id of a project was used for. Locks nothing. */
export function readRequestedSession(
  db: Queryable,
  projectId: string,
  requestId: string,
): Promise<RequestedSession | undefined> {
  return db.row(requestedStatement, [projectId, requestId])
}

const sessionAccountStatement = sql(
  'session_account',
  `select ${accountColumns}
   from session s
   join account a on a.account_id = s.account_id
   join institution i on i.institution_id = s.institution_id
   where s.session_id = $1 and exists (
     select from endpoint_grant g
     where g.project_id = s.project_id and g.institution_id = s.institution_id)`,
)

/** Reads the account of a session, unless its project no longer sees it. Locks nothing. */
export function readSessionAccount(db: Queryable, sessionId: string): Promise<Account | undefined> {
  return db.row(sessionAccountStatement, [sessionId])
}
