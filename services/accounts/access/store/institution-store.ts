// Statements on institutions, their sealed keys and the grants to use them.
import { type Queryable, sql } from '#platform/db/db.ts'
import type { Environment, Institution } from '../domain/access.ts'
import type { SealedInstitutionKey } from '../domain/credentials.ts'

/** Columns of an institution that callers may see. */
export const institutionColumns =
  'institution_id as "institutionId", name, environment, default_currency as "defaultCurrency"'

const findGrantStatement = sql(
  'find_grant',
  `select g.institution_id as "institutionId"
   from project p
   join institution i on i.environment = p.environment and i.name = $2
   join endpoint_grant g on g.project_id = p.project_id and g.institution_id = i.institution_id
   where p.project_id = $1 and g.endpoint = $3`,
)
/** Finds an institution if the project has a grant for an endpoint of it. Locks nothing. */
export function findGrant(
  db: Queryable,
  projectId: string,
  institutionName: string,
  endpoint: string,
): Promise<{ institutionId: string } | undefined> {
  return db.row(findGrantStatement, [projectId, institutionName, endpoint])
}

const insertInstitutionStatement = sql(
  'insert_institution',
  `insert into institution (institution_id, environment, name, default_currency)
   values ($1, $2, $3, $4) on conflict (environment, name) do nothing`,
)
/** Inserts an institution; false when its name is taken. */
export async function insertInstitution(tx: Queryable, institution: Institution): Promise<boolean> {
  const { institutionId, environment, name, defaultCurrency } = institution
  const values = [institutionId, environment, name, defaultCurrency]
  return (await tx.run(insertInstitutionStatement, values)) === 1
}

const lockInstitutionStatement = sql(
  'lock_institution',
  `select ${institutionColumns} from institution where institution_id = $1 for update`,
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
  `select ${institutionColumns} from institution where environment = $1 and name = $2`,
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

const listLiveInstitutionKeysStatement = sql(
  'list_live_institution_keys',
  `select key_id as "keyId", shared_key_sealed as "sharedKeySealed",
     signing_secret_sealed as "signingSecretSealed"
   from institution_key where institution_id = $1 and retired_at is null
   order by issued_at desc, key_id`,
)
/** Lists an institution's live keys, newest first, both secrets sealed. Locks nothing. */
export function listLiveInstitutionKeys(
  db: Queryable,
  institutionId: string,
): Promise<SealedInstitutionKey[]> {
  return db.rows(listLiveInstitutionKeysStatement, [institutionId])
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

type GrantRow = { endpoint: string }

function endpointsOf(rows: GrantRow[]): string[] {
  return rows.map(({ endpoint }) => endpoint)
}

const insertGrantsStatement = sql(
  'insert_grants',
  `insert into endpoint_grant (project_id, institution_id, endpoint)
   select $1, $2, unnest($3::text[]) on conflict do nothing returning endpoint`,
)
/** Inserts grants, and returns their endpoints; those that exist stay. */
export async function insertGrants(
  tx: Queryable,
  projectId: string,
  institutionId: string,
  endpoints: string[],
): Promise<string[]> {
  const values = [projectId, institutionId, endpoints]
  return endpointsOf(await tx.rows<GrantRow>(insertGrantsStatement, values))
}

const deleteGrantsStatement = sql(
  'delete_grants',
  `delete from endpoint_grant
   where project_id = $1 and institution_id = $2 and endpoint = any($3::text[]) returning endpoint`,
)
/** Deletes grants, and returns their endpoints. */
export async function deleteGrants(
  tx: Queryable,
  projectId: string,
  institutionId: string,
  endpoints: string[],
): Promise<string[]> {
  const values = [projectId, institutionId, endpoints]
  return endpointsOf(await tx.rows<GrantRow>(deleteGrantsStatement, values))
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
  return endpointsOf(await db.rows<GrantRow>(listGrantsStatement, [projectId, institutionId]))
}
