// Holds the live keys of institutions against a real database: order, rotation, sealing, and what a wrong key opens.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { open } from '#core/identity/seal.ts'
import type { Database } from '#platform/db/db.ts'
import { migrationFolders } from '#platform/db/schemas.ts'
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import { fixedKeys } from '../../../../test/support/keys.ts'
import { type Administration, createInstitution, rotateInstitutionKey } from './administer.ts'

import {
  authorisationTokenPurpose,
  sealAuthorisationToken,
  signingSecrets,
} from './institution-keys.ts'

const actor = { caller: 'test', requestId: undefined }
const secrets = { pepper: fixedKeys(), seal: fixedKeys() }

let database: TestDatabase
let db: Database
let administration: Administration

beforeAll(async () => {
  database = await createTestDatabase('accounts', migrationFolders('accounts'))
  db = database.open()
  administration = { db, secrets, publishAccessChanged: async () => {}, notify: () => {} }
})
afterAll(() => database.drop())

function newInstitution() {
  const name = `Wallet ${randomUUID()}`
  return createInstitution(administration, actor, name, 'sandbox')
}

it('the live signing secrets come newest first, and the third retires the oldest', async () => {
  const { institution, key } = await newInstitution()
  const { institutionId } = institution
  const live = () => signingSecrets(db, secrets, institutionId)
  expect(await live()).toEqual([key.signingSecret])
  const second = await rotateInstitutionKey(administration, actor, institutionId)
  expect(await live()).toEqual([second.signingSecret, key.signingSecret])
  const third = await rotateInstitutionKey(administration, actor, institutionId)
  expect(await live()).toEqual([third.signingSecret, second.signingSecret])
})

it('an authorisation token is sealed under the older live key, for its purpose alone', async () => {
  const { institution, key: old } = await newInstitution()
  const { institutionId } = institution
  const newest = await rotateInstitutionKey(administration, actor, institutionId)
  const sealed = await sealAuthorisationToken(db, secrets, institutionId, 'token-0123456789')
  const opened = (key: typeof old, purpose: string, value = sealed) =>
    open(value, [{ keyId: key.keyId, key: Buffer.from(key.sharedKey, 'base64') }], purpose)
  expect(opened(old, authorisationTokenPurpose)?.toString()).toBe('token-0123456789')
  expect(opened(old, 'session_token')).toBeUndefined()
  expect(opened(newest, authorisationTokenPurpose)).toBeUndefined()

  await rotateInstitutionKey(administration, actor, institutionId)
  const later = await sealAuthorisationToken(db, secrets, institutionId, 'token-0123456789')
  expect(opened(newest, authorisationTokenPurpose, later)?.toString()).toBe('token-0123456789')
})

it('an institution that is unknown or has no key is refused alike', async () => {
  await expect(signingSecrets(db, secrets, randomUUID())).rejects.toMatchObject({
    reason: 'INSTITUTION_NOT_FOUND',
  })
})

it('another seal.key opens nothing, and the error shows no secret', async () => {
  const { institution, key } = await newInstitution()
  const others = { ...secrets, seal: fixedKeys() }
  const refusal = await signingSecrets(db, others, institution.institutionId).catch(String)
  expect(refusal).toContain(key.keyId)
  expect(refusal).not.toContain(key.signingSecret)
})
