// Statements on subscription keys and API keys, which are stored as digests.
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { Merchant, Project } from '../domain/access.ts'
import type { KeyDigest } from '../domain/credentials.ts'
import { merchantColumns } from './project-store.ts'

/** A subscription key as found by its digest, whether it may be used or not. */
export type FoundSubscriptionKey = Project & {
  keyId: string
  digest: Buffer
  revokedAt: Date | null
}

const findSubscriptionKeyStatement = sql(
  'find_subscription_key',
  `select k.key_id as "keyId", k.digest, k.revoked_at as "revokedAt", p.project_id as "projectId",
     p.name, p.environment, p.account_access as "accountAccess", p.allowed_ips as "allowedIps"
   from subscription_key k join project p using (project_id)
   where k.digest = any($1::bytea[])`,
)
/** Finds a subscription key by its digests, one for each pepper, with its project. Locks nothing. */
export function findSubscriptionKey(
  db: Queryable,
  digests: readonly KeyDigest[],
): Promise<FoundSubscriptionKey | undefined> {
  return db.row(findSubscriptionKeyStatement, [digests.map(({ digest }) => digest)])
}

/** An API key as found by its digest, whether it may be used or not. */
export type FoundApiKey = Merchant & { keyId: string; digest: Buffer; revokedAt: Date | null }

const findApiKeyStatement = sql(
  'find_api_key',
  `select k.key_id as "keyId", k.digest, k.revoked_at as "revokedAt", ${merchantColumns}
   from api_key k join merchant m using (project_id, merchant_id)
   where k.digest = any($1::bytea[])`,
)
/** Finds an API key by its digests, one for each pepper, with its merchant. Locks nothing. */
export function findApiKey(
  db: Queryable,
  digests: readonly KeyDigest[],
): Promise<FoundApiKey | undefined> {
  return db.row(findApiKeyStatement, [digests.map(({ digest }) => digest)])
}

const moveStatements = {
  subscription_key: sql(
    'move_subscription_key',
    `update subscription_key set digest = $3, pepper_id = $4 where key_id = $1 and digest = $2`,
  ),
  api_key: sql(
    'move_api_key',
    `update api_key set digest = $3, pepper_id = $4 where key_id = $1 and digest = $2`,
  ),
}
/** Stores a key under another pepper, unless a concurrent call has. */
export async function moveDigest(
  db: Queryable,
  table: keyof typeof moveStatements,
  { keyId, digest: from }: { keyId: string; digest: Buffer },
  { digest, pepperId }: KeyDigest,
): Promise<void> {
  await db.run(moveStatements[table], [keyId, from, digest, pepperId])
}

const countActiveKeysStatement = sql(
  'count_active_keys',
  `select count(*)::int as active from subscription_key
   where project_id = $1 and revoked_at is null`,
)
/** Counts the active subscription keys of a project; the caller holds the project's lock. */
export async function countActiveKeys(tx: Queryable, projectId: string): Promise<number> {
  const row = await tx.row<{ active: number }>(countActiveKeysStatement, [projectId])
  return row?.active ?? 0
}

const insertSubscriptionKeyStatement = sql(
  'insert_subscription_key',
  `insert into subscription_key (key_id, project_id, digest, pepper_id) values ($1, $2, $3, $4)
   on conflict (digest) do nothing returning issued_at as "issuedAt"`,
)
/** Inserts a subscription key; undefined when that very key is stored already. */
export async function insertSubscriptionKey(
  tx: Queryable,
  keyId: string,
  projectId: string,
  { digest, pepperId }: KeyDigest,
): Promise<Date | undefined> {
  const values = [keyId, projectId, digest, pepperId]
  return (await tx.row<{ issuedAt: Date }>(insertSubscriptionKeyStatement, values))?.issuedAt
}

/** A key, and the project that it must be of; undefined: any. */
export type KeyRef = { keyId: string; projectId?: string | undefined }

/** A key after it was revoked. */
export type RevokedKey = {
  projectId: string
  revokedAt: Date
  /** Whether it was revoked before. */
  isRepeat: boolean
}

async function revokeOnce(
  tx: Queryable,
  { keyId, projectId }: KeyRef,
  revoke: Sql,
  find: Sql,
): Promise<RevokedKey | undefined> {
  const values = [keyId, projectId ?? null]
  const revoked = await tx.row<Omit<RevokedKey, 'isRepeat'>>(revoke, values)
  if (revoked !== undefined) return { ...revoked, isRepeat: false }
  const found = await tx.row<Omit<RevokedKey, 'isRepeat'>>(find, values)
  return found && { ...found, isRepeat: true }
}

const revokeSubscriptionKeyStatement = sql(
  'revoke_subscription_key',
  `update subscription_key set revoked_at = clock_now()
   where key_id = $1 and ($2::uuid is null or project_id = $2) and revoked_at is null
   returning project_id as "projectId", revoked_at as "revokedAt"`,
)
const findRevokedSubscriptionKeyStatement = sql(
  'find_revoked_subscription_key',
  `select project_id as "projectId", revoked_at as "revokedAt" from subscription_key
   where key_id = $1 and ($2::uuid is null or project_id = $2)`,
)
/** Revokes a subscription key of a project, or of any, keeping the first time; undefined for an unknown one. */
export function markSubscriptionKeyRevoked(
  tx: Queryable,
  key: KeyRef,
): Promise<RevokedKey | undefined> {
  return revokeOnce(tx, key, revokeSubscriptionKeyStatement, findRevokedSubscriptionKeyStatement)
}

const revokeOtherKeysStatement = sql(
  'revoke_other_keys',
  `update subscription_key set revoked_at = clock_now()
   where project_id = $1 and digest <> all($2::bytea[]) and revoked_at is null`,
)
/** Revokes every active subscription key of a project but the one with these digests; returns how many. */
export function revokeOtherKeys(
  tx: Queryable,
  projectId: string,
  digests: readonly KeyDigest[],
): Promise<number> {
  return tx.run(revokeOtherKeysStatement, [projectId, digests.map(({ digest }) => digest)])
}

const countActiveApiKeysStatement = sql(
  'count_active_api_keys',
  `select count(*)::int as active from api_key
   where project_id = $1 and merchant_id = $2 and revoked_at is null`,
)
/** Counts the active API keys of a merchant; the caller holds the project's lock. */
export async function countActiveApiKeys(
  tx: Queryable,
  { projectId, merchantId }: Pick<Merchant, 'projectId' | 'merchantId'>,
): Promise<number> {
  const row = await tx.row<{ active: number }>(countActiveApiKeysStatement, [projectId, merchantId])
  return row?.active ?? 0
}

const insertApiKeyStatement = sql(
  'insert_api_key',
  `insert into api_key (key_id, project_id, merchant_id, digest, pepper_id)
   values ($1, $2, $3, $4, $5)
   on conflict (digest) do nothing returning issued_at as "issuedAt"`,
)
/** Inserts an API key; undefined when that very key is stored already. */
export async function insertApiKey(
  tx: Queryable,
  keyId: string,
  merchant: Pick<Merchant, 'projectId' | 'merchantId'>,
  { digest, pepperId }: KeyDigest,
): Promise<Date | undefined> {
  const values = [keyId, merchant.projectId, merchant.merchantId, digest, pepperId]
  return (await tx.row<{ issuedAt: Date }>(insertApiKeyStatement, values))?.issuedAt
}

const revokeApiKeyStatement = sql(
  'revoke_api_key',
  `update api_key set revoked_at = clock_now()
   where key_id = $1 and ($2::uuid is null or project_id = $2) and revoked_at is null
   returning project_id as "projectId", revoked_at as "revokedAt"`,
)
const findRevokedApiKeyStatement = sql(
  'find_revoked_api_key',
  `select project_id as "projectId", revoked_at as "revokedAt" from api_key
   where key_id = $1 and ($2::uuid is null or project_id = $2)`,
)
/** Revokes an API key of a project, or of any, keeping the first time; undefined for an unknown one. */
export function markApiKeyRevoked(tx: Queryable, key: KeyRef): Promise<RevokedKey | undefined> {
  return revokeOnce(tx, key, revokeApiKeyStatement, findRevokedApiKeyStatement)
}
