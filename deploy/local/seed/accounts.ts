// Seeds the sandbox's projects, keys, merchants, institutions, grants and people; never runs against production.

import { grantableEndpoints } from '#core/identity/endpoints.ts'
import { newId } from '#core/identity/id.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import {
  defaultInstitutionCurrency,
  type Environment,
  type InstitutionKey,
  maxActiveKeys,
} from '../../../services/accounts/access/domain/access.ts'
import type { AccountSecrets } from '../../../services/accounts/access/domain/at-rest.ts'
import {
  keyDigest,
  keyDigests,
  sealInstitutionKey,
} from '../../../services/accounts/access/domain/credentials.ts'
import {
  findInstitutionByName,
  insertGrants,
  insertInstitution,
  insertInstitutionKey,
  retireInstitutionKeys,
} from '../../../services/accounts/access/store/institution-store.ts'
import {
  findApiKey,
  findSubscriptionKey,
  insertApiKey,
  insertSubscriptionKey,
  revokeOtherKeys,
} from '../../../services/accounts/access/store/key-store.ts'
import {
  findMerchantByName,
  findProjectByName,
  insertMerchant,
  insertProject,
} from '../../../services/accounts/access/store/project-store.ts'
import {
  type ProjectName,
  type SandboxCredentials,
  type SeedProject,
  sandboxProjects,
} from './credentials.ts'
import { seedPeople } from './people.ts'

const permittedInstitution = 'Demo Wallet'
const restrictedInstitution = 'Restricted Bank'

/**
 * Inserts what is missing and revokes subscription keys that the given credentials do not name, so
 * that the database and the operator's file agree. Running it again changes nothing.
 */
export async function seedSandbox(
  db: Database,
  secrets: AccountSecrets,
  credentials: SandboxCredentials,
  environment: 'local' | 'sandbox' | 'production',
): Promise<void> {
  if (environment === 'production') throw new Error('a sandbox seed must not touch production')
  await db.transaction(async (tx) => {
    const institutionId = await seedInstitution(tx, permittedInstitution)
    await seedInstitutionKey(tx, secrets, institutionId, credentials.institution)
    await seedInstitution(tx, restrictedInstitution)
    for (const [name, project] of Object.entries(sandboxProjects) as [ProjectName, SeedProject][]) {
      const { subscriptionKey, apiKey } = credentials.projects[name]
      const projectId = await seedProject(tx, name, 'sandbox', project)
      await seedSubscriptionKey(tx, secrets, projectId, subscriptionKey)
      await seedMerchant(tx, secrets, projectId, project, apiKey)
      if (project.granted) {
        await insertGrants(tx, projectId, institutionId, [...grantableEndpoints])
      }
      if (name === 'demo') {
        const institutionName = permittedInstitution
        await seedPeople(tx, { institutionId, institutionName }, projectId)
      }
    }
    const live = await seedProject(tx, 'production', 'production', sandboxProjects.demo)
    await seedSubscriptionKey(tx, secrets, live, credentials.productionKey)
  })
}

async function seedProject(
  tx: Queryable,
  name: string,
  environment: Environment,
  { accountAccess, allowedIps }: SeedProject,
): Promise<string> {
  const projectId = newId()
  const project = { projectId, name, environment, accountAccess, allowedIps: [...allowedIps] }
  if (await insertProject(tx, project)) return projectId
  return existing(await findProjectByName(tx, environment, name)).projectId
}

async function seedSubscriptionKey(
  tx: Queryable,
  secrets: AccountSecrets,
  projectId: string,
  key: string,
): Promise<void> {
  const digests = keyDigests(secrets, key)
  await revokeOtherKeys(tx, projectId, digests)
  if ((await findSubscriptionKey(tx, digests)) !== undefined) return
  await insertSubscriptionKey(tx, newId(), projectId, keyDigest(secrets, key))
}

async function seedMerchant(
  tx: Queryable,
  secrets: AccountSecrets,
  projectId: string,
  { businessName, mobileNumber }: SeedProject,
  apiKey: string,
): Promise<void> {
  let merchant = await findMerchantByName(tx, projectId, businessName)
  if (merchant === undefined) {
    merchant = { projectId, merchantId: newId(), businessName, mobileNumber }
    await insertMerchant(tx, merchant)
  }
  if ((await findApiKey(tx, keyDigests(secrets, apiKey))) !== undefined) return
  await insertApiKey(tx, newId(), merchant, keyDigest(secrets, apiKey))
}

async function seedInstitution(tx: Queryable, name: string): Promise<string> {
  const institution = {
    institutionId: newId(),
    name,
    environment: 'sandbox' as const,
    defaultCurrency: defaultInstitutionCurrency,
  }
  if (await insertInstitution(tx, institution)) return institution.institutionId
  return existing(await findInstitutionByName(tx, 'sandbox', name)).institutionId
}

async function seedInstitutionKey(
  tx: Queryable,
  secrets: AccountSecrets,
  institutionId: string,
  key: InstitutionKey,
): Promise<void> {
  const { sharedKeySealed, signingSecretSealed } = sealInstitutionKey(secrets, key)
  await insertInstitutionKey(tx, key.keyId, institutionId, sharedKeySealed, signingSecretSealed)
  await retireInstitutionKeys(tx, institutionId, maxActiveKeys)
}

function existing<T>(row: T | undefined): T {
  if (row === undefined) throw new Error('a seeded row was deleted while it was being seeded')
  return row
}
