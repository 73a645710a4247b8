// Every statement about access: projects, keys, merchants, institutions and grants. It must not decide anything.
import type { Queryable } from '#runtime/db.ts'
import { sql } from '#runtime/db.ts'
import type { Environment, Institution, Merchant, Project } from './access.ts'

const projectColumns = `project_id as "projectId", name, environment,
  account_access as "accountAccess", allowed_ips as "allowedIps"`
const merchantColumns = `m.merchant_id as "merchantId", m.project_id as "projectId",
  m.business_name as "businessName", m.mobile_number as "mobileNumber"`

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
   where k.digest = $1`,
)
/** Finds a subscription key with its project. Locks nothing. */
export function findSubscriptionKey(
  db: Queryable,
  digest: Buffer,
): Promise<FoundSubscriptionKey | undefined> {
  return db.row(findSubscriptionKeyStatement, [digest])
}

/** An API key as found by its digest, whether it may be used or not. */
export type FoundApiKey = Merchant & { digest: Buffer; revokedAt: Date | null }

const findApiKeyStatement = sql(
  'find_api_key',
  `select k.digest, k.revoked_at as "revokedAt", ${merchantColumns}
   from api_key k join merchant m using (project_id, merchant_id)
   where k.digest = $1`,
)
/** Finds an API key with its merchant. Locks nothing. */
export function findApiKey(db: Queryable, digest: Buffer): Promise<FoundApiKey | undefined> {
  return db.row(findApiKeyStatement, [digest])
}

const findMerchantStatement = sql(
  'find_merchant',
  `select ${merchantColumns} from merchant m where m.project_id = $1 and m.merchant_id = $2`,
)
/** Finds a merchant of a project. Locks nothing. */
export function findMerchant(
  db: Queryable,
  projectId: string,
  merchantId: string,
): Promise<Merchant | undefined> {
  return db.row(findMerchantStatement, [projectId, merchantId])
}

const findGrantStatement = sql(
  'find_grant',
  `select g.institution_id as "institutionId"
   from project p
   join institution i on i.environment = p.environment and i.name = $2
   join endpoint_grant g on g.project_id = p.project_id and g.institution_id = i.institution_id
   where p.project_id = $1 and g.endpoint = $3`,
)
/** Finds the institution that a project may use an endpoint of. Locks nothing. */
export function findGrant(
  db: Queryable,
  projectId: string,
  institutionName: string,
  endpoint: string,
): Promise<{ institutionId: string } | undefined> {
  return db.row(findGrantStatement, [projectId, institutionName, endpoint])
}

const insertProjectStatement = sql(
  'insert_project',
  `insert into project (project_id, environment, name, account_access, allowed_ips)
   values ($1, $2, $3, $4, $5) on conflict (environment, name) do nothing`,
)
/** Inserts a project; false when its name is taken. */
export async function insertProject(tx: Queryable, project: Project): Promise<boolean> {
  const { projectId, environment, name, accountAccess, allowedIps } = project
  const values = [projectId, environment, name, accountAccess, allowedIps]
  return (await tx.run(insertProjectStatement, values)) === 1
}

const lockProjectStatement = sql(
  'lock_project',
  `select ${projectColumns} from project where project_id = $1 for update`,
)
/** Reads a project and locks its row, so that its keys and grants change one at a time. */
export function lockProject(tx: Queryable, projectId: string): Promise<Project | undefined> {
  return tx.row(lockProjectStatement, [projectId])
}

const findProjectByNameStatement = sql(
  'find_project_by_name',
  `select ${projectColumns} from project where environment = $1 and name = $2`,
)
/** Finds a project by name. Locks nothing. */
export function findProjectByName(
  db: Queryable,
  environment: Environment,
  name: string,
): Promise<Project | undefined> {
  return db.row(findProjectByNameStatement, [environment, name])
}

const updateProjectAccessStatement = sql(
  'update_project_access',
  `update project set account_access = $2, allowed_ips = $3 where project_id = $1
   returning ${projectColumns}`,
)
/** Changes what a project may do; undefined when there is no such project. Locks its row. */
export function updateProjectAccess(
  tx: Queryable,
  projectId: string,
  accountAccess: boolean,
  allowedIps: string[],
): Promise<Project | undefined> {
  return tx.row(updateProjectAccessStatement, [projectId, accountAccess, allowedIps])
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
  `insert into subscription_key (key_id, project_id, digest) values ($1, $2, $3)
   on conflict (digest) do nothing returning issued_at as "issuedAt"`,
)
/** Inserts a subscription key; undefined when that very key is stored already. */
export async function insertSubscriptionKey(
  tx: Queryable,
  keyId: string,
  projectId: string,
  digest: Buffer,
): Promise<Date | undefined> {
  const values = [keyId, projectId, digest]
  return (await tx.row<{ issuedAt: Date }>(insertSubscriptionKeyStatement, values))?.issuedAt
}

/** A key after it was revoked. */
export type RevokedKey = { projectId: string; revokedAt: Date }

const revokeSubscriptionKeyStatement = sql(
  'revoke_subscription_key',
  `update subscription_key set revoked_at = coalesce(revoked_at, clock_now()) where key_id = $1
   returning project_id as "projectId", revoked_at as "revokedAt"`,
)
/** Revokes a subscription key, keeping the first time; undefined for an unknown one. */
export function revokeSubscriptionKey(
  tx: Queryable,
  keyId: string,
): Promise<RevokedKey | undefined> {
  return tx.row(revokeSubscriptionKeyStatement, [keyId])
}

const revokeOtherKeysStatement = sql(
  'revoke_other_keys',
  `update subscription_key set revoked_at = clock_now()
   where project_id = $1 and digest <> $2 and revoked_at is null`,
)
/** Revokes every active subscription key of a project but one; returns how many. */
export function revokeOtherKeys(tx: Queryable, projectId: string, digest: Buffer): Promise<number> {
  return tx.run(revokeOtherKeysStatement, [projectId, digest])
}

const insertMerchantStatement = sql(
  'insert_merchant',
  `insert into merchant (project_id, merchant_id, business_name, mobile_number)
   values ($1, $2, $3, $4)`,
)
/** Inserts a merchant. */
export async function insertMerchant(tx: Queryable, merchant: Merchant): Promise<void> {
  const { projectId, merchantId, businessName, mobileNumber } = merchant
  await tx.run(insertMerchantStatement, [projectId, merchantId, businessName, mobileNumber])
}

const findMerchantByNameStatement = sql(
  'find_merchant_by_name',
  `select ${merchantColumns} from merchant m where m.project_id = $1 and m.business_name = $2
   order by m.created_at limit 1`,
)
/** Finds the first merchant of a project with a name. Locks nothing. */
export function findMerchantByName(
  db: Queryable,
  projectId: string,
  businessName: string,
): Promise<Merchant | undefined> {
  return db.row(findMerchantByNameStatement, [projectId, businessName])
}

const insertApiKeyStatement = sql(
  'insert_api_key',
  `insert into api_key (key_id, project_id, merchant_id, digest) values ($1, $2, $3, $4)
   on conflict (digest) do nothing`,
)
/** Inserts an API key; does nothing when that very key is stored already. */
export async function insertApiKey(
  tx: Queryable,
  keyId: string,
  merchant: Pick<Merchant, 'projectId' | 'merchantId'>,
  digest: Buffer,
): Promise<void> {
  await tx.run(insertApiKeyStatement, [keyId, merchant.projectId, merchant.merchantId, digest])
}

const revokeApiKeyStatement = sql(
  'revoke_api_key',
  `update api_key set revoked_at = coalesce(revoked_at, clock_now()) where key_id = $1
   returning project_id as "projectId", revoked_at as "revokedAt"`,
)
/** Revokes an API key, keeping the first time; undefined for an unknown one. */
export function revokeApiKey(tx: Queryable, keyId: string): Promise<RevokedKey | undefined> {
  return tx.row(revokeApiKeyStatement, [keyId])
}

const insertInstitutionStatement = sql(
  'insert_institution',
  `insert into institution (institution_id, environment, name) values ($1, $2, $3)
   on conflict (environment, name) do nothing`,
)
/** Inserts an institution; false when its name is taken. */
export async function insertInstitution(tx: Queryable, institution: Institution): Promise<boolean> {
  const { institutionId, environment, name } = institution
  return (await tx.run(insertInstitutionStatement, [institutionId, environment, name])) === 1
}

const lockInstitutionStatement = sql(
  'lock_institution',
  `select institution_id as "institutionId", environment, name
   from institution where institution_id = $1 for update`,
)
/** Reads an institution and locks its row, so that its keys change one at a time. */
export function lockInstitution(
  tx: Queryable,
  institutionId: string,
): Promise<Institution | undefined> {
  return tx.row(lockInstitutionStatement, [institutionId])
}

const findInstitutionByNameStatement = sql(
  'find_institution_by_name',
  `select institution_id as "institutionId", environment, name
   from institution where environment = $1 and name = $2`,
)
/** Finds an institution by name. Locks nothing. */
export function findInstitutionByName(
  db: Queryable,
  environment: Environment,
  name: string,
): Promise<Institution | undefined> {
  return db.row(findInstitutionByNameStatement, [environment, name])
}

const insertInstitutionKeyStatement = sql(
  'insert_institution_key',
  `insert into institution_key (key_id, institution_id, shared_key_sealed, signing_secret_sealed)
   values ($1, $2, $3, $4) on conflict (key_id) do nothing`,
)
/** Inserts a key of an institution, both secrets sealed; false when the key id is in use. */
export async function insertInstitutionKey(
  tx: Queryable,
  keyId: string,
  institutionId: string,
  sharedKeySealed: string,
  signingSecretSealed: string,
): Promise<boolean> {
  const values = [keyId, institutionId, sharedKeySealed, signingSecretSealed]
  return (await tx.run(insertInstitutionKeyStatement, values)) === 1
}

const retireInstitutionKeysStatement = sql(
  'retire_institution_keys',
  `update institution_key set retired_at = clock_now()
   where retired_at is null and institution_id = $1 and key_id not in (
     select key_id from institution_key where institution_id = $1 and retired_at is null
     order by issued_at desc, key_id limit $2)`,
)
/** Retires all but the newest keys of an institution; the caller holds the institution's lock. */
export async function retireInstitutionKeys(
  tx: Queryable,
  institutionId: string,
  keep: number,
): Promise<void> {
  await tx.run(retireInstitutionKeysStatement, [institutionId, keep])
}

const insertGrantsStatement = sql(
  'insert_grants',
  `insert into endpoint_grant (project_id, institution_id, endpoint)
   select $1, $2, unnest($3::text[]) on conflict do nothing`,
)
/** Inserts grants; those that exist stay. */
export async function insertGrants(
  tx: Queryable,
  projectId: string,
  institutionId: string,
  endpoints: string[],
): Promise<void> {
  await tx.run(insertGrantsStatement, [projectId, institutionId, endpoints])
}

const deleteGrantsStatement = sql(
  'delete_grants',
  `delete from endpoint_grant
   where project_id = $1 and institution_id = $2 and endpoint = any($3::text[])`,
)
/** Takes grants back. */
export async function deleteGrants(
  tx: Queryable,
  projectId: string,
  institutionId: string,
  endpoints: string[],
): Promise<void> {
  await tx.run(deleteGrantsStatement, [projectId, institutionId, endpoints])
}

const listGrantsStatement = sql(
  'list_grants',
  `select endpoint from endpoint_grant where project_id = $1 and institution_id = $2
   order by endpoint`,
)
/** Lists the endpoints that a project holds of an institution, sorted. */
export async function listGrants(
  db: Queryable,
  projectId: string,
  institutionId: string,
): Promise<string[]> {
  const rows = await db.rows<{ endpoint: string }>(listGrantsStatement, [projectId, institutionId])
  return rows.map(({ endpoint }) => endpoint)
}

/** Who did what to whom: one line of the audit. */
export type AuditEntry = {
  caller: string
  requestId: string | undefined
  action: string
  projectId: string | undefined
  targetId: string
}

const insertAuditStatement = sql(
  'insert_audit',
  `insert into access_audit (caller, request_id, action, project_id, target_id)
   values ($1, $2, $3, $4, $5)`,
)
/** Adds a line to the audit, in the transaction of what it tells of. */
export async function insertAudit(tx: Queryable, entry: AuditEntry): Promise<void> {
  const { caller, requestId, action, projectId, targetId } = entry
  await tx.run(insertAuditStatement, [
    caller,
    requestId ?? null,
    action,
    projectId ?? null,
    targetId,
  ])
}
