// Statements that resolve a session, by the hash of its token.
import { type Queryable, sql } from '#platform/db/db.ts'
import { usedColumns } from '../../ledger/store/limit-store.ts'
import type { Account } from '../domain/account.ts'
import { accountColumns } from './account-store.ts'

/** A session and one account that goes with it. */
export type ResolvedRow = Account & {
  sessionId: string
  spent: boolean
  expired: boolean
  /** 0: the session's own account. Else the position of the reference, from 1. */
  position: number
  /** What the session's own account has used of its limits in the current UTC day; zero when that was not asked. */
  dayMinor: bigint
  /** The same in the current UTC month. */
  monthMinor: bigint
}

// A group of one too, since the statement is planned once. The two references of a session are columns: one that had to be
// looked for in an array would be planned at every call, and that takes many times as long as the look-up.
const resolveStatement = sql(
  'session_resolve',
  `select asked.position::integer as asked, s.session_id as "sessionId",
     s.consumed_by is not null as spent, s.expire_time <= clock_now() as expired, found.position,
     ${accountColumns}, ${usedColumns('s.account_id', 'asked.limit_currency')}
   from unnest($1::bytea[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::text[]) with ordinality
     as asked (token_hash, project_id, institution_name, key_id, mobile_number_1, account_number_1,
       mobile_number_2, account_number_2, limit_currency, position)
   join session s on s.token_hash = asked.token_hash and s.project_id = asked.project_id
   join institution i on i.institution_id = s.institution_id and i.name = asked.institution_name
   cross join lateral (
     select 0 as position, s.account_id
     union all
     select r.position, fit.account_id
     from (values (1, asked.mobile_number_1, asked.account_number_1),
         (2, asked.mobile_number_2, asked.account_number_2))
       as r(position, mobile_number, account_number)
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
   where exists (
       select from endpoint_grant g
       where g.project_id = s.project_id and g.institution_id = s.institution_id)
     and (asked.key_id is null or s.institution_id = (
       select k.institution_id from institution_key k
       where k.key_id = asked.key_id and k.retired_at is null))`,
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
 * Reads sessions of a project and an institution, each with its account and the accounts referred to, up to two each; the
 * rows of each in the order of the keys, none where there is no such session. Locks nothing.
 */
export async function readSessions(
  db: Queryable,
  keys: readonly SessionKey[],
): Promise<ResolvedRow[][]> {
  const asked = keys.map(valuesOf)
  const columns = asked[0]?.map((_, column) => asked.map((values) => values[column])) ?? []
  const rows = await db.rows<ResolvedRow & { asked: number }>(resolveStatement, columns)
  const byKey: ResolvedRow[][] = keys.map(() => [])
  for (const row of rows) byKey[row.asked - 1]?.push(row)
  return byKey
}

function valuesOf(key: SessionKey): unknown[] {
  const [first, second, ...more] = key.references
  if (more.length > 0) throw new Error('a session is resolved with two references at most')
  return [
    key.tokenHash,
    key.projectId,
    key.institutionName,
    key.keyId ?? null,
    first?.mobileNumber ?? null,
    first?.accountNumber ?? null,
    second?.mobileNumber ?? null,
    second?.accountNumber ?? null,
    key.limitCurrency ?? null,
  ]
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
