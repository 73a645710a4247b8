// Shows on a real database that issued keys go on working while the pepper of their digests rotates, on every replica.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { type Database, sql } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { seedSandbox } from '../../../../deploy/local/seed/accounts.ts'
import { newSandboxCredentials } from '../../../../deploy/local/seed/credentials.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { fixedKeys, testKeys } from '../../../../test/support/keys.ts'
import { type Administration, createProject } from '../operations/administer.ts'
import {
  createMerchant,
  issueSubscriptionKey,
  revokeSubscriptionKey,
} from '../operations/administer-keys.ts'
import { authenticateApiKey, authenticateSubscriptionKey } from '../operations/authenticate.ts'
import { newSubscriptionKey } from './credentials.ts'

const actor = { caller: 'test', requestId: undefined }
const seal = fixedKeys()

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open()
})
afterAll(() => database.drop())

const administrationWith = (pepper: KeySource): Administration => ({
  db,
  secrets: { pepper, seal },
  publishAccessChanged: async () => {},
  notify: () => {},
})

/** A project with both kinds of keys, issued by a replica with these peppers. */
async function issued(pepper: KeySource) {
  const administration = administrationWith(pepper)
  const { projectId } = await createProject(administration, actor, {
    name: randomUUID(),
    environment: 'sandbox',
    accountAccess: false,
    allowedIps: [],
  })
  const { subscriptionKey, keyId } = await issueSubscriptionKey(administration, actor, projectId)
  const wanted = { projectId, businessName: 'Store', mobileNumber: '+12025550123' }
  const made = await createMerchant(administration, actor, wanted)
  return { projectId, subscriptionKey, keyId, apiKey: made.apiKey, apiKeyId: made.keyId }
}

type Issued = Awaited<ReturnType<typeof issued>>

/** Uses both keys at a replica with these peppers. Answers why one is refused. */
async function use({ projectId, subscriptionKey, apiKey }: Issued, pepper: KeySource) {
  try {
    const secrets = { pepper, seal }
    await authenticateSubscriptionKey(db, secrets, subscriptionKey, 'sandbox')
    await authenticateApiKey(db, secrets, projectId, apiKey)
    return 'opened'
  } catch (error) {
    if (error instanceof Failure) return error.reason satisfies Reason
    throw error
  }
}

const selectPeppers = sql(
  'test_peppers',
  `select (select pepper_id from subscription_key where key_id = $1) as subscription,
     (select pepper_id from api_key where key_id = $2) as api`,
)

async function peppersOf({ keyId, apiKeyId }: Issued) {
  const row = await db.row<{ subscription: string | null; api: string | null }>(selectPeppers, [
    keyId,
    apiKeyId,
  ])
  return [row?.subscription, row?.api]
}

describe('while the pepper rotates', () => {
  it('while the pepper rotates, old and new keys open on every replica, at each step that it has read', async () => {
    const pepper = testKeys()
    const before = await issued(pepper)
    const first = pepper.asOfNow()
    pepper.add()
    const second = pepper.asOfNow()
    // Nothing is stored under the next key before it is current: the replica that has not read it misses nothing.
    const between = await issued(second)
    for (const replica of [first, second]) {
      expect([await use(before, replica), await use(between, replica)]).toEqual([
        'opened',
        'opened',
      ])
    }
    pepper.use()
    const after = await issued(pepper)
    expect([await use(before, pepper), await use(between, pepper)]).toEqual(['opened', 'opened'])
    const newest = pepper().current.keyId
    // A replica that knows the new pepper as the next one opens what is stored under it, and leaves it there.
    for (const one of [before, between, after]) {
      expect(await use(one, second)).toBe('opened')
      expect(await peppersOf(one)).toEqual([newest, newest])
    }
  })

  it('while the pepper rotates, a key moves to the newest pepper when it is used, and then needs the old one no more', async () => {
    const pepper = testKeys()
    const [used, unused] = [await issued(pepper), await issued(pepper)]
    const old = pepper().current.keyId
    const newest = pepper.rotate()
    expect(await peppersOf(used)).toEqual([old, old])
    expect(await use(used, pepper)).toBe('opened')
    expect(await peppersOf(used)).toEqual([newest, newest])
    expect(await peppersOf(unused)).toEqual([old, old])
    pepper.retire(old)
    expect(await use(used, pepper)).toBe('opened')
    expect(await use(unused, pepper)).toBe('PW_INVALID_SUBSCRIPTION_KEY')
  })

  it('while the pepper rotates, keys that were stored before pepper ids go on and move too', async () => {
    const pepper = testKeys('untimed')
    const old = await issued(pepper)
    const first = pepper().current.keyId
    await db.run(
      sql('test_forget_s', 'update subscription_key set pepper_id = null where key_id = $1'),
      [old.keyId],
    )
    await db.run(sql('test_forget_a', 'update api_key set pepper_id = null where key_id = $1'), [
      old.apiKeyId,
    ])
    expect(await use(old, pepper)).toBe('opened')
    const newest = pepper.rotate()
    expect(await use(old, pepper)).toBe('opened')
    expect(await peppersOf(old)).toEqual([newest, newest])
    pepper.retire(first)
    expect(await use(old, pepper)).toBe('opened')
  })

  it('while the pepper rotates, a refused key is not moved', async () => {
    const pepper = testKeys()
    const revoked = await issued(pepper)
    const old = pepper().current.keyId
    await revokeSubscriptionKey(administrationWith(pepper), actor, revoked)
    pepper.rotate()
    expect(await use(revoked, pepper)).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    const unknown = { ...revoked, subscriptionKey: newSubscriptionKey('sandbox') }
    expect(await use(unknown, pepper)).toBe('PW_INVALID_SUBSCRIPTION_KEY')
    const elsewhere = authenticateApiKey(db, { pepper, seal }, randomUUID(), revoked.apiKey)
    await expect(elsewhere).rejects.toMatchObject({ reason: 'PW_INVALID_API_KEY' })
    expect(await peppersOf(revoked)).toEqual([old, old])
  })

  it('while the pepper rotates, no call of many at once is refused', async () => {
    const pepper = testKeys()
    const keys = await Promise.all(Array.from({ length: 5 }, () => issued(pepper)))
    const outcomes: Promise<string>[] = []
    const burst = (replica: KeySource) => {
      for (let n = 0; n < 20; n += 1) {
        const key = keys[n % keys.length]
        if (key !== undefined) outcomes.push(use(key, replica))
      }
    }
    const old = pepper().current.keyId
    burst(pepper.asOfNow())
    pepper.add()
    const stale = pepper.asOfNow()
    burst(stale)
    // What knew one pepper only has ended long before every replica knows the next one.
    await Promise.all(outcomes)
    burst(stale)
    pepper.use()
    burst(stale)
    burst(pepper.asOfNow())
    await Promise.all(outcomes)
    burst(pepper)
    await Promise.all(outcomes)
    pepper.retire(old)
    burst(pepper)
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['opened']))
  })
})

it('a sandbox that is seeded again after a rotation keeps its keys', async () => {
  const pepper = testKeys()
  const credentials = newSandboxCredentials()
  await seedSandbox(db, { pepper, seal }, credentials, 'local')
  pepper.rotate()
  await seedSandbox(db, { pepper, seal }, credentials, 'local')
  const { subscriptionKey, apiKey } = credentials.projects.demo
  const secrets = { pepper, seal }
  const { project } = await authenticateSubscriptionKey(db, secrets, subscriptionKey, 'sandbox')
  await authenticateApiKey(db, secrets, project.projectId, apiKey)
  const active = sql(
    'test_active',
    `select (select count(*)::int from subscription_key where project_id = $1 and revoked_at is null) as keys,
       (select count(*)::int from api_key where project_id = $1) as api_keys`,
  )
  expect(await db.row(active, [project.projectId])).toEqual({ keys: 1, api_keys: 1 })
})
