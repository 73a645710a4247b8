// Changes who may use the API: each change is one transaction with its line of audit and its news. It must not know RPC.
import { Failure } from '#core/errors.ts'
import { newId } from '#core/id.ts'
import type { Database, Queryable } from '#runtime/db.ts'
import {
  type Environment,
  type Institution,
  type InstitutionKey,
  type Merchant,
  maxActiveKeys,
  type Project,
  requireAddressRanges,
  requireE164,
  requireEndpoints,
  requireName,
  requireUuid,
} from './access.ts'
import {
  type AccountSecrets,
  keyDigest,
  newApiKey,
  newInstitutionKey,
  newSubscriptionKey,
  sealInstitutionKey,
} from './credentials.ts'
import {
  deleteGrants,
  insertGrants,
  insertInstitution,
  insertInstitutionKey,
  listGrants,
  lockInstitution,
  retireInstitutionKeys,
} from './institution-store.ts'
import {
  countActiveKeys,
  insertApiKey,
  insertSubscriptionKey,
  type RevokedKey,
  revokeApiKey,
  revokeSubscriptionKey,
} from './key-store.ts'
import {
  insertAudit,
  insertMerchant,
  insertProject,
  lockProject,
  updateProjectAccess,
} from './project-store.ts'

/** Who asks for a change, for the audit. */
export type Actor = { caller: string; requestId: string | undefined }

/** What administration needs: the database, the secrets, and how to tell that access changed. */
export type Administration = {
  db: Database
  secrets: AccountSecrets
  /** Writes the news to the outbox of the same transaction; undefined: of no single project. */
  tellAccessChanged(tx: Queryable, projectId: string | undefined): Promise<void>
  /** Wakes the relay after a commit. */
  kick(): void
}

type Change<T> = { action: string; targetId: string; projectId: string | undefined; result: T }

/** Runs a change with its audit line and its news, all or nothing. */
async function change<T>(
  { db, tellAccessChanged, kick }: Administration,
  actor: Actor,
  work: (tx: Queryable) => Promise<Change<T>>,
): Promise<T> {
  const result = await db.transaction(async (tx) => {
    const { action, targetId, projectId, result } = await work(tx)
    await insertAudit(tx, { ...actor, action, projectId, targetId })
    await tellAccessChanged(tx, projectId)
    return result
  })
  kick()
  return result
}

async function existingProject(tx: Queryable, projectId: string): Promise<Project> {
  const project = await lockProject(tx, requireUuid(projectId, 'project_id'))
  if (project === undefined) throw new Failure('PROJECT_NOT_FOUND', `no project ${projectId}`)
  return project
}

async function existingInstitution(tx: Queryable, institutionId: string): Promise<Institution> {
  const institution = await lockInstitution(tx, requireUuid(institutionId, 'institution_id'))
  if (institution === undefined) {
    throw new Failure('INSTITUTION_NOT_FOUND', `no institution ${institutionId}`)
  }
  return institution
}

/** Makes a project. NAME_TAKEN when its environment has one of that name. */
export async function createProject(
  administration: Administration,
  actor: Actor,
  wanted: Omit<Project, 'projectId'>,
): Promise<Project> {
  const project = {
    ...wanted,
    projectId: newId(),
    name: requireName(wanted.name, 'name'),
    allowedIps: requireAddressRanges(wanted.allowedIps),
  }
  const { projectId } = project
  return change(administration, actor, async (tx) => {
    if (!(await insertProject(tx, project))) {
      throw new Failure('NAME_TAKEN', 'a project of this name exists')
    }
    return { action: 'create_project', targetId: projectId, projectId, result: project }
  })
}

/** Changes account access and the address list of a project. */
export async function changeProjectAccess(
  administration: Administration,
  actor: Actor,
  projectId: string,
  accountAccess: boolean,
  allowedIps: readonly string[],
): Promise<Project> {
  requireUuid(projectId, 'project_id')
  const ranges = requireAddressRanges(allowedIps)
  return change(administration, actor, async (tx) => {
    const project = await updateProjectAccess(tx, projectId, accountAccess, ranges)
    if (project === undefined) throw new Failure('PROJECT_NOT_FOUND', `no project ${projectId}`)
    return { action: 'update_project_access', targetId: projectId, projectId, result: project }
  })
}

/** Issues a subscription key; the key itself is in this answer and nowhere else. */
export async function issueSubscriptionKey(
  administration: Administration,
  actor: Actor,
  projectId: string,
): Promise<{ keyId: string; subscriptionKey: string; issuedAt: Date }> {
  return change(administration, actor, async (tx) => {
    const project = await existingProject(tx, projectId)
    if ((await countActiveKeys(tx, projectId)) >= maxActiveKeys) {
      throw new Failure('TOO_MANY_KEYS', `project ${projectId} has ${maxActiveKeys} active keys`)
    }
    const keyId = newId()
    const subscriptionKey = newSubscriptionKey(project.environment)
    const digest = keyDigest(administration.secrets, subscriptionKey)
    const issuedAt = await insertSubscriptionKey(tx, keyId, projectId, digest)
    if (issuedAt === undefined) throw new Error('a new subscription key met an old one')
    const result = { keyId, subscriptionKey, issuedAt }
    return { action: 'issue_subscription_key', targetId: keyId, projectId, result }
  })
}

async function revoke(
  administration: Administration,
  actor: Actor,
  action: string,
  keyId: string,
  statement: (tx: Queryable, keyId: string) => Promise<RevokedKey | undefined>,
): Promise<Date> {
  requireUuid(keyId, 'key_id')
  return change(administration, actor, async (tx) => {
    const revoked = await statement(tx, keyId)
    if (revoked === undefined) throw new Failure('KEY_NOT_FOUND', `no key ${keyId}`)
    const { projectId, revokedAt } = revoked
    return { action, targetId: keyId, projectId, result: revokedAt }
  })
}

/** Revokes a subscription key; again: the first time stands. */
export async function withdrawSubscriptionKey(
  administration: Administration,
  actor: Actor,
  keyId: string,
): Promise<Date> {
  return revoke(administration, actor, 'revoke_subscription_key', keyId, revokeSubscriptionKey)
}

/** Revokes an API key; again: the first time stands. */
export async function withdrawApiKey(
  administration: Administration,
  actor: Actor,
  keyId: string,
): Promise<Date> {
  return revoke(administration, actor, 'revoke_api_key', keyId, revokeApiKey)
}

/** Makes a merchant with its API key; the key itself is in this answer and nowhere else. */
export async function createMerchant(
  administration: Administration,
  actor: Actor,
  wanted: Omit<Merchant, 'merchantId'>,
): Promise<{ merchant: Merchant; keyId: string; apiKey: string }> {
  const merchant = {
    projectId: wanted.projectId,
    merchantId: newId(),
    businessName: requireName(wanted.businessName, 'business_name'),
    mobileNumber: requireE164(wanted.mobileNumber, 'mobile_number'),
  }
  return change(administration, actor, async (tx) => {
    const { projectId } = await existingProject(tx, merchant.projectId)
    await insertMerchant(tx, merchant)
    const keyId = newId()
    const apiKey = newApiKey()
    await insertApiKey(tx, keyId, merchant, keyDigest(administration.secrets, apiKey))
    const result = { merchant, keyId, apiKey }
    return { action: 'create_merchant', targetId: merchant.merchantId, projectId, result }
  })
}

async function addInstitutionKey(
  { secrets }: Administration,
  tx: Queryable,
  institutionId: string,
): Promise<InstitutionKey> {
  for (;;) {
    const key = newInstitutionKey()
    const { sharedKeySealed, signingSecretSealed } = sealInstitutionKey(secrets, key)
    const { keyId } = key
    if (
      await insertInstitutionKey(tx, keyId, institutionId, sharedKeySealed, signingSecretSealed)
    ) {
      await retireInstitutionKeys(tx, institutionId, maxActiveKeys)
      return key
    }
  }
}

/** Makes an institution with its first key. NAME_TAKEN when its environment has one of that name. */
export async function createInstitution(
  administration: Administration,
  actor: Actor,
  name: string,
  environment: Environment,
): Promise<{ institution: Institution; key: InstitutionKey }> {
  const institution = { institutionId: newId(), name: requireName(name, 'name'), environment }
  const targetId = institution.institutionId
  return change(administration, actor, async (tx) => {
    if (!(await insertInstitution(tx, institution))) {
      throw new Failure('NAME_TAKEN', 'an institution of this name exists')
    }
    const key = await addInstitutionKey(administration, tx, targetId)
    const result = { institution, key }
    return { action: 'create_institution', targetId, projectId: undefined, result }
  })
}

/** Adds a key to an institution; the oldest of three is retired. */
export async function rotateInstitutionKey(
  administration: Administration,
  actor: Actor,
  institutionId: string,
): Promise<InstitutionKey> {
  return change(administration, actor, async (tx) => {
    await existingInstitution(tx, institutionId)
    const key = await addInstitutionKey(administration, tx, institutionId)
    const action = 'rotate_institution_key'
    return { action, targetId: institutionId, projectId: undefined, result: key }
  })
}

/** Which grants of which project are changed. */
export type GrantChange = { projectId: string; institutionId: string; endpoints: string[] }

async function changeGrants(
  administration: Administration,
  actor: Actor,
  action: string,
  wanted: GrantChange,
  statement: typeof insertGrants,
): Promise<string[]> {
  const { projectId, institutionId } = wanted
  const endpoints = requireEndpoints(wanted.endpoints)
  return change(administration, actor, async (tx) => {
    const project = await existingProject(tx, projectId)
    const institution = await existingInstitution(tx, institutionId)
    if (project.environment !== institution.environment) {
      throw new Failure('INVALID_PARAMETER', 'project and institution are of two environments', {
        details: { field: 'institution_id' },
      })
    }
    await statement(tx, projectId, institutionId, endpoints)
    const result = await listGrants(tx, projectId, institutionId)
    return { action, targetId: institutionId, projectId, result }
  })
}

/** Grants endpoints of an institution; returns all that the project now holds of it. */
export async function grantEndpoints(
  administration: Administration,
  actor: Actor,
  wanted: GrantChange,
): Promise<string[]> {
  return changeGrants(administration, actor, 'grant_endpoints', wanted, insertGrants)
}

/** Takes grants back; returns all that the project still holds of the institution. */
export async function revokeGrants(
  administration: Administration,
  actor: Actor,
  wanted: GrantChange,
): Promise<string[]> {
  return changeGrants(administration, actor, 'revoke_grants', wanted, deleteGrants)
}
