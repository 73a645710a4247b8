// Statements that open sessions, stored by the hash of their token.
import { type ArrayType, arrayParameter } from '#platform/db/arrays.ts'
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
  /** Empty texts narrow nothing; undefined ones fit nobody. */
  institutionName: string
  firstNameNormalized: string | undefined
  lastNameNormalized: string | undefined
  emailNormalized: string | undefined
  /** In lower case, so that one id is one text. Undefined: every call opens a new session. */
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

/** The column of an account that a look-up compares; each has an index with the institution. */
export const lookupColumns = {
  MOBILE: 'mobile_number',
  EMAIL: 'email_folded',
  ACCOUNT_NUMBER: 'account_number',
} as const satisfies Record<LookupType, string>

// One round trip for look-ups, the claims of their request ids and the sessions. A repeat meets the primary key of
// session_request: it waits for the first call's statement to end and then claims nothing.
function openStatement(lookupType: LookupType) {
  return sql(
    `session_open_by_${lookupType.toLowerCase()}`,
    `with matched as materialized (
       select asked.n::integer as n, fit.*
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
         with ordinality
         as asked (project_id, value, institution_name, first_name, last_name, email, n)
       cross join lateral (
         select ${accountColumns}
         from institution i
         join account a on a.institution_id = i.institution_id
           and a.${lookupColumns[lookupType]} = asked.value
         where (asked.institution_name = '' or i.name = asked.institution_name)
           and exists (select from endpoint_grant g
             where g.project_id = asked.project_id and g.institution_id = i.institution_id)
           and a.status in ('available', 'suspended', 'closed')
           and (asked.first_name = '' or a.first_name_folded = asked.first_name)
           and (asked.last_name = '' or a.last_name_folded = asked.last_name)
           and (asked.email = '' or a.email_folded = asked.email)
         limit 2
       ) fit
     ), found as materialized (
       select n, (array_agg("institutionId"))[1] as institution_id,
         (array_agg("accountId"))[1] as account_id, bool_and(status = 'available') as usable,
         ($7::uuid[])[n] as request_id
       from matched group by n having count(*) = 1
     ), claim as (
       insert into session_request (project_id, request_id, fingerprint, session_id, expire_time)
       select ($1::uuid[])[n], request_id, ($8::bytea[])[n],
         case when usable then ($9::uuid[])[n] end,
         clock_now() + case when usable then $11::integer else 0 end * interval '1 s'
       from found where request_id is not null
       order by n
       on conflict (project_id, request_id) do update
         set session_id = excluded.session_id, expire_time = excluded.expire_time
         where session_request.fingerprint = excluded.fingerprint
           and session_request.expire_time <= clock_now()
       returning array_position($7::uuid[], request_id) as n
     ), opened as (
       insert into session
         (session_id, project_id, institution_id, account_id, token_hash, ttl_s, expire_time,
          key_id)
       select ($9::uuid[])[n], ($1::uuid[])[n], institution_id, account_id, ($10::bytea[])[n], $11,
         clock_now() + $11 * interval '1 s', $12
       from found where usable and (request_id is null or n in (select n from claim))
       returning array_position($9::uuid[], session_id) as n, expire_time
     )
     select m.*, o.expire_time as "expireTime",
       ($7::uuid[])[m.n] is null or m.n in (select n from claim) as claimed
     from matched m left join opened o on o.n = m.n`,
  )
}

const openStatements = {
  MOBILE: openStatement('MOBILE'),
  EMAIL: openStatement('EMAIL'),
  ACCOUNT_NUMBER: openStatement('ACCOUNT_NUMBER'),
} as const satisfies Record<LookupType, unknown>

/**
 * Looks accounts up among those that the projects see, in one statement, and opens a session for each request of which exactly one fits, is
 * available and the request id is free. At most two accounts are answered for each. The requests are of one look-up type, lifetime and
 * key, and of different request ids. Locks the rows of the request ids, in their order.
 */
export async function openSessionRows(
  db: Queryable,
  requests: readonly SessionRequest[],
): Promise<MatchedAccount[][]> {
  const ordered = requests.toSorted((a, b) => ((a.requestId ?? '') < (b.requestId ?? '') ? -1 : 1))
  const column = (type: ArrayType, value: (request: SessionRequest) => unknown) =>
    arrayParameter(type, ordered.map(value))
  const [first] = ordered
  if (first === undefined) return []
  const rows = await db.rows<MatchedAccount & { n: number }>(openStatements[first.lookupType], [
    column('uuid', ({ projectId }) => projectId),
    column('text', ({ lookupValue }) => lookupValue),
    column('text', ({ institutionName }) => institutionName),
    column('text', ({ firstNameNormalized }) => firstNameNormalized),
    column('text', ({ lastNameNormalized }) => lastNameNormalized),
    column('text', ({ emailNormalized }) => emailNormalized),
    column('uuid', ({ requestId }) => requestId),
    column('bytea', ({ fingerprint }) => fingerprint),
    column('uuid', ({ sessionId }) => sessionId),
    column('bytea', ({ tokenHash }) => tokenHash),
    first.ttlS,
    first.keyId,
  ])
  const byRequest = new Map<SessionRequest | undefined, MatchedAccount[]>()
  for (const { n, ...account } of rows) {
    const request = ordered[n - 1]
    byRequest.set(request, [...(byRequest.get(request) ?? []), account])
  }
  return requests.map((request) => byRequest.get(request) ?? [])
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
