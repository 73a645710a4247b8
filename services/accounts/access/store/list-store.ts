// Statements that list the changes of administration. None reads a secret.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Environment, Institution, Merchant, Project } from '../domain/access.ts'
import { institutionColumns } from './institution-store.ts'
import { merchantColumns, projectColumns } from './project-store.ts'

/** Which rows, and where the page begins; null: all, from the start. */
export type Listing = {
  environment: Environment | null
  name: string | null
  afterId: string | null
  limit: number
}

const projectsStatement = sql(
  'list_projects',
  `select ${projectColumns} from project
   where ($1::text is null or environment = $1) and ($2::text is null or name = $2)
     and ($3::uuid is null or project_id > $3)
   order by project_id limit $4`,
)
/** Projects in the order of their ids, which is that of their making. Locks nothing. */
export function listProjects(db: Queryable, listing: Listing): Promise<Project[]> {
  const { environment, name, afterId, limit } = listing
  return db.rows(projectsStatement, [environment, name, afterId, limit])
}

const projectStatement = sql(
  'find_project',
  `select ${projectColumns} from project where project_id = $1`,
)
/** Finds a project. Locks nothing. */
export function findProject(db: Queryable, projectId: string): Promise<Project | undefined> {
  return db.row(projectStatement, [projectId])
}

const merchantsStatement = sql(
  'list_merchants',
  `select ${merchantColumns} from merchant m
   where m.project_id = $1 and ($2::uuid is null or m.merchant_id > $2)
   order by m.merchant_id limit $3`,
)
/** Merchants of a project in the order of their ids, which is that of their making. Locks nothing. */
export function listMerchants(
  db: Queryable,
  projectId: string,
  { afterId, limit }: Pick<Listing, 'afterId' | 'limit'>,
): Promise<Merchant[]> {
  return db.rows(merchantsStatement, [projectId, afterId, limit])
}

const institutionsStatement = sql(
  'list_institutions',
  `select ${institutionColumns} from institution
   where ($1::text is null or environment = $1) and ($2::text is null or name = $2)
     and ($3::uuid is null or institution_id > $3) and ($5::uuid is null or institution_id = $5)
   order by institution_id limit $4`,
)
/** Institutions in the order of their ids, which is that of their making, or the one of an id. Locks nothing. */
export function listInstitutions(
  db: Queryable,
  { environment, name, afterId, limit }: Listing,
  institutionId: string | null,
): Promise<Institution[]> {
  return db.rows(institutionsStatement, [environment, name, afterId, limit, institutionId])
}

const institutionStatement = sql(
  'find_institution',
  `select ${institutionColumns} from institution
   where institution_id = $1`,
)
/** Finds an institution. Locks nothing. */
export function findInstitution(
  db: Queryable,
  institutionId: string,
): Promise<Institution | undefined> {
  return db.row(institutionStatement, [institutionId])
}

const liveKeysStatement = sql(
  'list_live_key_ids',
  `select key_id as "keyId", issued_at as "issuedAt" from institution_key
   where institution_id = $1 and retired_at is null order by issued_at desc, key_id`,
)
/** Ids of an institution's live keys, newest first. Locks nothing. */
export function listLiveKeyIds(
  db: Queryable,
  institutionId: string,
): Promise<{ keyId: string; issuedAt: Date }[]> {
  return db.rows(liveKeysStatement, [institutionId])
}

/** Which keys: the one of an id or all, active or revoked ones or both. */
export type KeyFilter = { keyId: string | null; isActive: boolean | null }

/** A key as it is remembered. */
export type IssuedKey = {
  keyId: string
  merchantId: string
  issuedAt: Date
  revokedAt: Date | null
}

const subscriptionKeysStatement = sql(
  'list_subscription_keys',
  `select key_id as "keyId", '' as "merchantId", issued_at as "issuedAt", revoked_at as "revokedAt"
   from subscription_key where project_id = $1 and ($2::uuid is null or key_id = $2)
     and ($4::boolean is null or (revoked_at is null) = $4)
   order by issued_at desc, key_id limit $3`,
)
/** The newest subscription keys of a project that match, without their digests. Locks nothing. */
export function listSubscriptionKeys(
  db: Queryable,
  projectId: string,
  { keyId, isActive }: KeyFilter,
  limit: number,
): Promise<IssuedKey[]> {
  return db.rows(subscriptionKeysStatement, [projectId, keyId, limit, isActive])
}

const apiKeysStatement = sql(
  'list_api_keys',
  `select key_id as "keyId", merchant_id as "merchantId", issued_at as "issuedAt",
     revoked_at as "revokedAt"
   from api_key where project_id = $1 and ($2::uuid is null or merchant_id = $2)
     and ($3::uuid is null or key_id = $3) and ($5::boolean is null or (revoked_at is null) = $5)
   order by issued_at desc, key_id limit $4`,
)
/** The newest API keys of a project or one of its merchants that match, without their digests. Locks nothing. */
export function listApiKeys(
  db: Queryable,
  projectId: string,
  { merchantId, keyId, isActive }: KeyFilter & { merchantId: string | null },
  limit: number,
): Promise<IssuedKey[]> {
  return db.rows(apiKeysStatement, [projectId, merchantId, keyId, limit, isActive])
}

/** An endpoint of an institution that a project may use. */
export type Grant = {
  institutionId: string
  institutionName: string
  endpoint: string
  grantedAt: Date
}

const grantsStatement = sql(
  'list_all_grants',
  `select i.institution_id as "institutionId", i.name as "institutionName", g.endpoint,
     g.granted_at as "grantedAt"
   from endpoint_grant g join institution i using (institution_id)
   where g.project_id = $1 and ($2::uuid is null or g.institution_id = $2)
   order by i.name, g.endpoint`,
)
/** A live key of an institution, by its id. */
export type SigningKey = {
  institutionId: string
  institutionName: string
  keyId: string
  issuedAt: Date
  isNewest: boolean
}

const signingKeysStatement = sql(
  'list_signing_keys',
  `select i.institution_id as "institutionId", i.name as "institutionName", k.key_id as "keyId",
     k.issued_at as "issuedAt",
     row_number() over (partition by i.institution_id order by k.issued_at desc, k.key_id) = 1 as "isNewest"
   from institution i join institution_key k using (institution_id)
   where k.retired_at is null
     and i.institution_id in (select institution_id from endpoint_grant where project_id = $1)
   order by i.name, i.institution_id, k.issued_at desc, k.key_id`,
)
/** Live keys of the institutions that a project holds a grant of, the newest of each first. Locks nothing. */
export function listSigningKeys(db: Queryable, projectId: string): Promise<SigningKey[]> {
  return db.rows(signingKeysStatement, [projectId])
}

/** Grants of a project, for all institutions or one. Locks nothing. */
export function listProjectGrants(
  db: Queryable,
  projectId: string,
  institutionId: string | null,
): Promise<Grant[]> {
  return db.rows(grantsStatement, [projectId, institutionId])
}
