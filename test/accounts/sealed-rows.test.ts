// Shows on a real database that a sealed value which somebody copies into another row opens nothing there, and that all that
// is sealed lives through a rotation of seal.key.

import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FundsAccessStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { sql } from '#platform/db/db.ts'
import { createInstitution } from '../../services/accounts/access/operations/administer.ts'
import { signingSecrets } from '../../services/accounts/access/operations/institution-keys.ts'
import { eventually } from '../support/eventually.ts'
import { fixedKeys, testKeys } from '../support/keys.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

const keys = testKeys('untimed')
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ pepper: fixedKeys(), seal: keys })
})
afterAll(() => harness.stop())

const selfie = () => Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(2_000)])

/** A profile with a file and a callback. */
async function onboarded(content = selfie()) {
  const { demo: projectId } = harness.projects
  const callback = {
    callbackUrl: 'https://client.example/hook',
    authorisationToken: `token-${randomUUID()}`.slice(0, 40),
  }
  async function* parts() {
    yield { part: { case: 'header' as const, value: { projectId, requestId: randomUUID() } } }
    const value = { field: 'selfie', mediaType: 'image/png' }
    yield { part: { case: 'artefact' as const, value } }
    yield { part: { case: 'chunk' as const, value: content } }
    yield { part: { case: 'profile' as const, value: harness.profile(callback) } }
  }
  const { account } = await harness.accounts.uploadPersonalAccount(parts())
  const reviewId = await harness.reviewOf(account?.accountId)
  const submission = await eventually(
    () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
  )
  const artefactId = submission.artefacts[0]?.artefactId ?? ''
  return { reviewId, artefactId, content, account }
}

async function fileOf({ reviewId, artefactId }: { reviewId: string; artefactId: string }) {
  const chunks: Uint8Array[] = []
  for await (const message of harness.reports.readArtefact({ reviewId, artefactId })) {
    chunks.push(message.chunk)
  }
  return Buffer.concat(chunks)
}

const complete = (reviewId: string) => {
  const value = { accountLevel: 1, fundsAccessStatus: FundsAccessStatus.LIMITED }
  return harness.reports.reportOnboarding({ reviewId, outcome: { case: 'completed', value } })
}

const administration = () => ({
  db: harness.db,
  secrets: harness.secrets,
  publishAccessChanged: async () => {},
  notify: () => {},
})

const newInstitution = () =>
  createInstitution(
    administration(),
    { caller: 'test', requestId: undefined },
    `Bank ${randomUUID()}`,
    'sandbox',
  )

const secretsOf = (institutionId: string) =>
  signingSecrets(harness.db, harness.secrets, institutionId)

describe('after the first rotation of seal.key', () => {
  it('after the first rotation of seal.key, what the previous release has sealed is still read, by its own row', async () => {
    const before = await onboarded()
    const { institution, key } = await newInstitution()
    keys.rotate()
    expect((await fileOf(before)).equals(before.content)).toBe(true)
    expect(await secretsOf(institution.institutionId)).toEqual([key.signingSecret])
    await complete(before.reviewId)
    expect(await harness.eventsOf(before.account?.accountId)).toHaveLength(1)
  })

  it('after the first rotation of seal.key, a file that is put in the place of another customer’s opens nothing', async () => {
    const [one, other] = [await onboarded(), await onboarded()]
    await harness.db.run(
      sql(
        'test_copy_chunk',
        `update artefact_chunk a set ciphertext = b.ciphertext from artefact_chunk b
         where a.artefact_id = $1 and b.artefact_id = $2 and a.chunk_index = b.chunk_index`,
      ),
      [one.artefactId, other.artefactId],
    )
    await harness.db.run(
      sql(
        'test_copy_key',
        `update artefact a set key_sealed = b.key_sealed from artefact b
         where a.artefact_id = $1 and b.artefact_id = $2`,
      ),
      [one.artefactId, other.artefactId],
    )
    expect(await refusal(fileOf(one))).toBe('INTERNAL_ERROR')
    expect((await fileOf(other)).equals(other.content)).toBe(true)
  })

  it('after the first rotation of seal.key, a token that is copied to another review is never sent', async () => {
    const [one, other] = [await onboarded(), await onboarded()]
    await harness.db.run(
      sql(
        'test_copy_token',
        `update review a set authorisation_token_sealed = b.authorisation_token_sealed from review b
         where a.review_id = $1 and b.review_id = $2`,
      ),
      [one.reviewId, other.reviewId],
    )
    expect(await refusal(complete(one.reviewId))).toBe('INTERNAL_ERROR')
    expect(await harness.eventsOf(one.account?.accountId)).toEqual([])
    await complete(other.reviewId)
    expect(await harness.eventsOf(other.account?.accountId)).toHaveLength(1)
  })

  it('after the first rotation of seal.key, a key that is copied to another institution signs nothing, nor does a secret in the column of the other', async () => {
    const [one, other, third] = await Promise.all([
      newInstitution(),
      newInstitution(),
      newInstitution(),
    ])
    const copy = sql(
      'test_copy_secret',
      `update institution_key a set signing_secret_sealed = b.signing_secret_sealed
       from institution_key b where a.key_id = $1 and b.key_id = $2`,
    )
    await harness.db.run(copy, [one.key.keyId, other.key.keyId])
    await expect(secretsOf(one.institution.institutionId)).rejects.toThrow(
      `institution_key.signing_secret_sealed of ${one.key.keyId}`,
    )
    const swap = sql(
      'test_swap_columns',
      'update institution_key set signing_secret_sealed = shared_key_sealed where key_id = $1',
    )
    await harness.db.run(swap, [third.key.keyId])
    await expect(secretsOf(third.institution.institutionId)).rejects.toThrow('was not sealed there')
    expect(await secretsOf(other.institution.institutionId)).toEqual([other.key.signingSecret])
  })
})
