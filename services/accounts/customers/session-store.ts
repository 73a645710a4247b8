// Every statement on sessions. It must not make, open or log a token, which it knows by its hash.
import { type Queryable, sql } from '#runtime/db.ts'
import { usedColumns } from '../ledger/limit-store.ts'
import type { Account } from './account.ts'
import { accountColumns } from './account-store.ts'

/** By what a look-up finds accounts. */
export type LookupType = 'MOBILE' | 'EMAIL' | 'ACCOUNT_NUMBER'

/** Whom to look for, texts folded, and the session to open when exactly one available account is found. */
export type SessionWish = {
  projectId: string
  lookupType: LookupType
  /** E.164, a folded e-mail address or an account number. */
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
}

/** One of at most two accounts that fit a wish. */
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
         (session_id, project_id, institution_id, account_id, token_hash, ttl_s, expire_time)
       select $9::uuid, $1, "institutionId", "accountId", $10, $11,
         clock_now() + $11 * interval '1 s'
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
export function openSessionRow(db: Queryable, wish: SessionWish): Promise<MatchedAccount[]> {
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
}

const requestedStatement = sql(
  'session_requested',
  `select r.fingerprint, r.expire_time > clock_now() as live, r.session_id as "sessionId",
     r.expire_time as "expireTime", s.ttl_s as "ttlS"
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

/** A session and one account that goes with it. */
export type ResolvedRow = Account & {
  sessionId: string
  spent: boolean
  expired: boolean
  /** 0: the session's own account. Else the place of the reference, from 1. */
  place: number
  /** What the session's own account has used of its limits in the current UTC day; zero when that was not asked. */
  dayMinor: bigint
  /** The same in the current UTC month. */
  monthMinor: bigint
}

// The two references are values, not arrays: of an array the server would have to see the length to plan for it, so it
// would plan at every call, and that takes many times as long as the look-up.
const resolveStatement = sql(
  'session_resolve',
  `select s.session_id as "sessionId", s.consumed_by is not null as spent,
     s.expire_time <= clock_now() as expired, found.place, ${accountColumns},
     ${usedColumns('s.account_id', '$9')}
   from session s
   join institution i on i.institution_id = s.institution_id and i.name = $3
   cross join lateral (
     select 0 as place, s.account_id
     union all
     select r.place, fit.account_id
     from (values (1, $5::text, $6::text), (2, $7::text, $8::text))
       as r(place, mobile_number, account_number)
     cross join lateral (
       (select n.account_id from account n
        where r.account_number <> '' and n.institution_id = s.institution_id
          and n.account_number = r.account_number
          and n.status in ('available', 'suspended', 'closed'))
       union all
       (select m.account_id from account m
        where r.account_number = '' and m.institution_id = s.institution_id
          and m.mobile_number = r.mobile_number
          and m.status in ('available', 'suspended', 'closed')
        limit 2)
     ) fit
   ) found
   join account a on a.account_id = found.account_id
   where s.token_hash = $1 and s.project_id = $2
     and exists (
       select from endpoint_grant g
       where g.project_id = s.project_id and g.institution_id = s.institution_id)
     and ($4::text is null or exists (
       select from institution_key k
       where k.key_id = $4 and k.institution_id = s.institution_id and k.retired_at is null))`,
)

/** An account as a client refers to it; the number of the account decides when it is not empty. */
export type Reference = { mobileNumber: string; accountNumber: string }

/** Which session is meant. */
export type SessionKey = {
  tokenHash: Buffer
  projectId: string
  institutionName: string
  /** Two at most. */
  references: Reference[]
  /** The key that sealed the token: it must be a live one of the session's institution. */
  keyId: string | undefined
  /** In which currency to read what the session's account has used of its limits; undefined: not at all. */
  limitCurrency: string | undefined
}

/**
 * Reads a session of a project and an institution with its account and the accounts referred to, up to two each;
 * no row when there is no such session. Locks nothing.
 */
export function resolveSessionRows(db: Queryable, key: SessionKey): Promise<ResolvedRow[]> {
  const { tokenHash, projectId, institutionName, keyId, limitCurrency } = key
  const [first, second, ...more] = key.references
  if (more.length > 0) throw new Error('a session is resolved with two references at most')
  return db.rows(resolveStatement, [
    tokenHash,
    projectId,
    institutionName,
    keyId ?? null,
    first?.mobileNumber ?? null,
    first?.accountNumber ?? null,
    second?.mobileNumber ?? null,
    second?.accountNumber ?? null,
    limitCurrency ?? null,
  ])
}

const sealingKeyStatement = sql(
  'session_sealing_key',
  `select k.key_id as "keyId", k.shared_key_sealed as "sharedKeySealed",
     k.signing_secret_sealed as "signingSecretSealed"
   from project p
   join institution i on i.environment = p.environment and i.name = $2
   join institution_key k on k.institution_id = i.institution_id and k.retired_at is null
   where p.project_id = $1 and k.key_id = $3`,
)

/** Reads a live key of an institution by name, both secrets sealed. Locks nothing. */
export function findSealingKey(
  db: Queryable,
  {
    projectId,
    institutionName,
    keyId,
  }: { projectId: string; institutionName: string; keyId: string },
): Promise<{ keyId: string; sharedKeySealed: string; signingSecretSealed: string } | undefined> {
  return db.row(sealingKeyStatement, [projectId, institutionName, keyId])
}
