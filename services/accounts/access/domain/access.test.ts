// Tests the access rules on a real database: whose key is what, and how that changes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { grantableEndpoints } from '#core/identity/endpoints.ts'
import type { Database } from '#platform/db/db.ts'
import { sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { seedSandbox } from '../../../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../../../deploy/local/seed/credentials.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { fixedKeys } from '../../../../test/support/keys.ts'
import {
  type Administration,
  changeProjectAccess,
  createInstitution,
  createProject,
  grantEndpoints,
  revokeGrants,
  rotateInstitutionKey,
} from '../operations/administer.ts'
import {
  createMerchant,
  issueSubscriptionKey,
  revokeApiKey,
  revokeSubscriptionKey,
} from '../operations/administer-keys.ts'
import { authenticateApiKey, authenticateSubscriptionKey } from '../operations/authenticate.ts'
import { findGrant } from '../store/institution-store.ts'
import { newSubscriptionKey } from './credentials.ts'

const actor = { caller: 'test', requestId: undefined }
const secrets = { pepper: fixedKeys(), seal: fixedKeys() }

let database: TestDatabase
let db: Database
let administration: Administration
const changed: (string | undefined)[] = []

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open()
  administration = {
    db,
    secrets,
    publishAccessChanged: async (_tx, projectId) => void changed.push(projectId),
    notify: () => {},
  }
})
afterAll(() => database.drop())

let names = 0
function sandboxProject(accountAccess = false) {
  names += 1
  const wanted = { name: `Project ${names}`, environment: 'sandbox' as const, allowedIps: [] }
  return createProject(administration, actor, { ...wanted, accountAccess })
}

async function reasonOf(work: Promise<unknown>): Promise<Reason | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof Failure) return error.reason
    throw error
  }
}

const opens = (key: string, environment: 'sandbox' | 'production' = 'sandbox') =>
  authenticateSubscriptionKey(db, secrets, key, environment)

describe('subscription keys', () => {
  it('an issued key opens its project and no other', async () => {
    const project = await sandboxProject(true)
    const { subscriptionKey, keyId } = await issueSubscriptionKey(
      administration,
      actor,
      project.projectId,
    )
    expect(subscriptionKey).toMatch(/^pwk_test_[0-9A-Za-z]{23}$/)
    expect(await opens(subscriptionKey)).toEqual({ project, keyId })
  })

  it('missing, unknown, revoked and foreign subscription keys are refused alike', async () => {
    const { projectId } = await sandboxProject()
    const { subscriptionKey, keyId } = await issueSubscriptionKey(administration, actor, projectId)
    expect(await reasonOf(opens(subscriptionKey, 'production'))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    expect(await reasonOf(opens(''))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    expect(await reasonOf(opens(newSubscriptionKey('sandbox')))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    const revokedAt = await revokeSubscriptionKey(administration, actor, { keyId })
    expect(await reasonOf(opens(subscriptionKey))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    expect(await revokeSubscriptionKey(administration, actor, { keyId })).toEqual(revokedAt)
  })

  it('two keys may be active, so that a project can rotate, and a third is refused', async () => {
    const { projectId } = await sandboxProject()
    const race = Array.from({ length: 5 }, () =>
      reasonOf(issueSubscriptionKey(administration, actor, projectId)),
    )
    const outcomes = await Promise.all(race)
    expect(outcomes.filter((reason) => reason === undefined)).toHaveLength(2)
    expect(outcomes.filter((reason) => reason === 'TOO_MANY_KEYS')).toHaveLength(3)
  })

  it('a key of the table does not open anything by its digest', async () => {
    const stored = await db.rows<{ digest: Buffer }>(
      sql('test_digests', 'select digest from subscription_key limit 1'),
      [],
    )
    const digest = stored[0]?.digest.toString('hex') ?? ''
    expect(await reasonOf(opens(digest))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
  })
})

describe('API keys', () => {
  it('an API key names its merchant within its project only', async () => {
    const [own, other] = [await sandboxProject(), await sandboxProject()]
    const wanted = { businessName: 'Shop', mobileNumber: '+12025550123' }
    const made = await createMerchant(administration, actor, {
      projectId: own.projectId,
      ...wanted,
    })
    expect(made.apiKey).toMatch(/^[0-9A-Za-z]{32}$/)
    expect(await authenticateApiKey(db, secrets, own.projectId, made.apiKey)).toEqual(made.merchant)
    const foreign = authenticateApiKey(db, secrets, other.projectId, made.apiKey)
    expect(await reasonOf(foreign)).toBe('PW_INVALID_API_KEY')
    await revokeApiKey(administration, actor, { keyId: made.keyId })
    const revoked = authenticateApiKey(db, secrets, own.projectId, made.apiKey)
    expect(await reasonOf(revoked)).toBe('PW_INVALID_API_KEY')
  })
})

describe('administration', () => {
  it('administration refuses bad values and stores nothing of them', async () => {
    const bad = (wanted: { name?: string; allowedIps?: string[] }) =>
      reasonOf(
        createProject(administration, actor, {
          name: 'Fine',
          environment: 'sandbox',
          accountAccess: false,
          allowedIps: [],
          ...wanted,
        }),
      )
    expect(await bad({ name: ' ' })).toBe('INVALID_PARAMETER')
    expect(await bad({ name: 'Fine ' })).toBe('INVALID_PARAMETER')
    expect(await bad({ allowedIps: ['203.0.113.7', 'nowhere'] })).toBe('INVALID_PARAMETER')
    expect(await bad({ allowedIps: ['203.0.113.0/33'] })).toBe('INVALID_PARAMETER')
    const count = sql('test_fine', "select 1 from project where name = 'Fine'")
    expect(await db.run(count, [])).toBe(0)
  })

  it('administration publishes every change and keeps an audit that cannot be rewritten', async () => {
    const { projectId } = await sandboxProject()
    changed.length = 0
    await changeProjectAccess(administration, actor, projectId, true, ['203.0.113.7'])
    expect(changed).toEqual([projectId])
    const lines = await db.rows<{ action: string }>(
      sql(
        'test_audit',
        'select action from access_audit where project_id = $1 order by occurred_at',
      ),
      [projectId],
    )
    expect(lines.map(({ action }) => action)).toEqual(['create_project', 'update_project_access'])
    const rewrite = db.run(sql('test_rewrite', "update access_audit set caller = 'nobody'"), [])
    await expect(rewrite).rejects.toThrow('permission denied')
  })

  it('administration grants and takes back endpoints of an institution of the same environment', async () => {
    const { projectId } = await sandboxProject()
    const made = await createInstitution(administration, actor, 'Bank One', 'sandbox')
    const { institutionId } = made.institution
    const endpoints = ['POST /institution/quote', 'GET /institution/post']
    const wanted = { projectId, institutionId, endpoints }
    expect(await grantEndpoints(administration, actor, wanted)).toEqual(endpoints.toSorted())
    expect(await findGrant(db, projectId, 'Bank One', 'POST /institution/quote')).toBeDefined()
    expect(await findGrant(db, projectId, 'Bank One', 'POST /institution/transaction')).toBe(
      undefined,
    )
    const kept = await revokeGrants(administration, actor, {
      ...wanted,
      endpoints: ['POST /institution/quote'],
    })
    expect(kept).toEqual(['GET /institution/post'])
    const live = await createInstitution(administration, actor, 'Bank One', 'production')
    const mixed = { ...wanted, institutionId: live.institution.institutionId }
    expect(await reasonOf(grantEndpoints(administration, actor, mixed))).toBe('INVALID_PARAMETER')
  })

  it('administration takes back what is granted, and ignores and records no other endpoint', async () => {
    const { projectId } = await sandboxProject()
    const made = await createInstitution(administration, actor, 'Bank Four', 'sandbox')
    const [granted, other] = ['POST /institution/quote', 'GET /institution/post']
    const grant = { projectId, institutionId: made.institution.institutionId }
    await grantEndpoints(administration, actor, { ...grant, endpoints: [granted] })
    const unknown = { ...grant, endpoints: ['POST /nothing'] }
    expect(await reasonOf(grantEndpoints(administration, actor, unknown))).toBe('INVALID_PARAMETER')
    expect(await revokeGrants(administration, actor, unknown)).toEqual([granted])
    const all = { ...grant, endpoints: ['POST /nothing', granted, other] }
    expect(await revokeGrants(administration, actor, all)).toEqual([])
    const revocations = sql(
      'test_revocations',
      `select details from access_audit where project_id = $1 and action = 'revoke_grants'`,
    )
    expect(await db.rows(revocations, [projectId])).toEqual([{ details: { endpoints: granted } }])
  })

  it('rotating an institution key keeps two alive and stores neither in the clear', async () => {
    const { institution, key } = await createInstitution(administration, actor, 'Bank 2', 'sandbox')
    const second = await rotateInstitutionKey(administration, actor, institution.institutionId)
    await rotateInstitutionKey(administration, actor, institution.institutionId)
    const live = sql(
      'test_live_keys',
      `select key_id, shared_key_sealed || signing_secret_sealed as sealed from institution_key
       where institution_id = $1 and retired_at is null`,
    )
    const rows = await db.rows<{ key_id: string; sealed: string }>(live, [
      institution.institutionId,
    ])
    expect(rows).toHaveLength(2)
    expect(rows.map((row) => row.key_id)).not.toContain(key.keyId)
    expect(rows.some((row) => row.sealed.includes(second.sharedKey))).toBe(false)
  })
})

describe('the sandbox seed', () => {
  it('the sandbox seed can be run again, and its credentials open what they should', async () => {
    const credentials = newSandboxCredentials()
    await seedSandbox(db, secrets, credentials, 'local')
    await seedSandbox(db, secrets, credentials, 'local')
    const { demo, ip_restricted: restricted } = credentials.projects
    const { project } = await opens(demo.subscriptionKey)
    const merchant = await authenticateApiKey(db, secrets, project.projectId, demo.apiKey)
    expect(merchant.businessName).toBe('Demo Store')
    for (const endpoint of grantableEndpoints) {
      expect(await findGrant(db, project.projectId, 'Demo Wallet', endpoint)).toBeDefined()
      expect(await findGrant(db, project.projectId, 'Restricted Bank', endpoint)).toBe(undefined)
    }
    expect((await opens(restricted.subscriptionKey)).project.allowedIps).toEqual(['203.0.113.7'])
    expect(await reasonOf(opens(credentials.productionKey))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    await opens(credentials.productionKey, 'production')
  })

  it('new credentials take the place of lost ones', async () => {
    const [lost, found] = [newSandboxCredentials(), newSandboxCredentials()]
    await seedSandbox(db, secrets, lost, 'local')
    await seedSandbox(db, secrets, found, 'local')
    const lostKey = lost.projects.demo.subscriptionKey
    expect(await reasonOf(opens(lostKey))).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    await opens(found.projects.demo.subscriptionKey)
  })

  it('the sandbox seed refuses to touch production', async () => {
    const seeding = seedSandbox(db, secrets, newSandboxCredentials(), 'production')
    await expect(seeding).rejects.toThrow('production')
  })
})
