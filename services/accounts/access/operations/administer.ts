// Changes projects, institutions and grants, each change with its audit entry and its event.
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Queryable } from '#platform/db/db.ts'
import {
  defaultInstitutionCurrency,
  type Environment,
  type Institution,
  type InstitutionKey,
  maxActiveKeys,
  type Project,
  requireAddressRanges,
  requireCurrency,
  requireEndpoints,
  requireName,
} from '../domain/access.ts'
import { newInstitutionKey, sealInstitutionKey } from '../domain/credentials.ts'
import {
  deleteGrants,
  insertGrants,
  insertInstitution,
  insertInstitutionKey,
  listGrants,
  lockInstitution,
  retireInstitutionKeys,
} from '../store/institution-store.ts'
import { insertProject, lockProject, updateProjectAccess } from '../store/project-store.ts'
import { type Actor, type Administration, change } from './change.ts'

export type { Administration } from './change.ts'

/** Reads a project and locks it; PROJECT_NOT_FOUND when there is none. */
export async function existingProject(tx: Queryable, projectId: string): Promise<Project> {
  const project = await lockProject(tx, projectId)
  if (project === undefined) throw new Failure('PROJECT_NOT_FOUND', `no project ${projectId}`)
  return project
}

async function existingInstitution(tx: Queryable, institutionId: string): Promise<Institution> {
  const institution = await lockInstitution(tx, institutionId)
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
  const action = 'create_project'
  const make = async (tx: Queryable) => {
    if (!(await insertProject(tx, project))) {
      throw new Failure('NAME_TAKEN', 'a project of this name exists')
    }
    return { action, targetId: projectId, projectId, result: project }
  }
  return change(administration, actor, make, {
    content: [action, wanted],
    repeat: existingProject,
  })
}

/** Changes account access and the address list of a project; what is undefined stays. */
export async function changeProjectAccess(
  administration: Administration,
  actor: Actor,
  projectId: string,
  accountAccess: boolean | undefined,
  allowedIps: readonly string[] | undefined,
): Promise<Project> {
  const ranges = allowedIps && requireAddressRanges(allowedIps)
  return change(administration, actor, async (tx) => {
    const before = await existingProject(tx, projectId)
    const project = await updateProjectAccess(
      tx,
      projectId,
      accountAccess ?? before.accountAccess,
      ranges ?? before.allowedIps,
    )
    if (project === undefined) throw new Error('a locked project is gone')
    const details = {
      account_access: String(project.accountAccess),
      allowed_ips: project.allowedIps.join(' '),
    }
    const action = 'update_project_access'
    return { action, targetId: projectId, projectId, details, result: project }
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
  defaultCurrency = defaultInstitutionCurrency,
): Promise<{ institution: Institution; key: InstitutionKey }> {
  const institution = {
    institutionId: newId(),
    name: requireName(name, 'name'),
    environment,
    defaultCurrency: requireCurrency(defaultCurrency, 'default_currency'),
  }
  const targetId = institution.institutionId
  const action = 'create_institution'
  const make = async (tx: Queryable) => {
    if (!(await insertInstitution(tx, institution))) {
      throw new Failure('NAME_TAKEN', 'an institution of this name exists')
    }
    const key = await addInstitutionKey(administration, tx, targetId)
    const result = { institution, key }
    return { action, targetId, projectId: undefined, details: { key_id: key.keyId }, result }
  }
  return change(administration, actor, make, {
    content: [action, name, environment, defaultCurrency],
  })
}

/** Adds a key to an institution; the oldest of three is retired. */
export async function rotateInstitutionKey(
  administration: Administration,
  actor: Actor,
  institutionId: string,
): Promise<InstitutionKey> {
  const action = 'rotate_institution_key'
  const rotate = async (tx: Queryable) => {
    await existingInstitution(tx, institutionId)
    const key = await addInstitutionKey(administration, tx, institutionId)
    const details = { key_id: key.keyId }
    return { action, targetId: institutionId, projectId: undefined, details, result: key }
  }
  return change(administration, actor, rotate, { content: [action, institutionId] })
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
  const { projectId, institutionId, endpoints } = wanted
  return change(administration, actor, async (tx) => {
    const project = await existingProject(tx, projectId)
    const institution = await existingInstitution(tx, institutionId)
    if (project.environment !== institution.environment) {
      throw new Failure('INVALID_PARAMETER', 'project and institution are of two environments', {
        details: { field: 'institution_id' },
      })
    }
    const changed = await statement(tx, projectId, institutionId, endpoints)
    const result = await listGrants(tx, projectId, institutionId)
    const details = { endpoints: changed.toSorted().join(', ') }
    const isRepeat = changed.length === 0
    return { action, targetId: institutionId, projectId, details, isRepeat, result }
  })
}

/**
 * Grants endpoints of an institution; returns all that the project now holds of it. PROJECT_NOT_FOUND,
 * INSTITUTION_NOT_FOUND; INVALID_PARAMETER for an endpoint that cannot be granted, or another environment.
 */
export async function grantEndpoints(
  administration: Administration,
  actor: Actor,
  wanted: GrantChange,
): Promise<string[]> {
  const granted = { ...wanted, endpoints: requireEndpoints(wanted.endpoints) }
  return changeGrants(administration, actor, 'grant_endpoints', granted, insertGrants)
}

/**
 * Takes grants back, and ignores endpoints that are not granted; returns all that the project still holds of the
 * institution. PROJECT_NOT_FOUND, INSTITUTION_NOT_FOUND; INVALID_PARAMETER for another environment.
 */
export async function revokeGrants(
  administration: Administration,
  actor: Actor,
  wanted: GrantChange,
): Promise<string[]> {
  return changeGrants(administration, actor, 'revoke_grants', wanted, deleteGrants)
}
