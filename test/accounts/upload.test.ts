// Shows that artefacts are stored encrypted, reach the back end whole, and leave nothing when their stream breaks.
import { randomBytes, randomUUID } from 'node:crypto'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { UploadPersonalAccountRequestSchema } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { FundsAccessStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { sql } from '#platform/db/db.ts'
import { beginArtefact } from '../../services/accounts/customers/operations/artefact.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())
afterEach(async () => {
  // After each test, all uploads that got no review must be deleted.
  await eventually(async () => (await orphans()) === 0)
})

type Part = MessageInitShape<typeof UploadPersonalAccountRequestSchema>

const mebibyte = 1024 * 1024
const chunkBytes = 64 * 1024
const pngHead = Buffer.from('89504e470d0a1a0a', 'hex')
const marker = 'PLAINTEXT-MARKER-OF-A-PASSPORT'

const picture = (bytes: number): Buffer =>
  Buffer.concat([pngHead, Buffer.from(marker), randomBytes(bytes - pngHead.length - marker.length)])

const header = (projectId = harness.projects.demo): Part => ({
  part: { case: 'header', value: { projectId, requestId: randomUUID() } },
})
const beginning = (field: string, mediaType = 'image/png'): Part => ({
  part: { case: 'artefact', value: { field, mediaType } },
})
const chunk = (value: Uint8Array): Part => ({ part: { case: 'chunk', value } })
const profile = (): Part => ({ part: { case: 'profile', value: harness.profile() } })

function* artefact(field: string, content: Buffer, mediaType?: string): Generator<Part> {
  yield beginning(field, mediaType)
  for (let at = 0; at < content.length; at += chunkBytes) {
    yield chunk(content.subarray(at, at + chunkBytes))
  }
}

async function* stream(...parts: (Part | Iterable<Part>)[]): AsyncGenerator<Part> {
  for (const part of parts) {
    if (Symbol.iterator in part) yield* part
    else yield part
  }
}

const upload = (...parts: (Part | Iterable<Part>)[]) =>
  harness.accounts.uploadPersonalAccount(stream(...parts))

const countOrphans = sql(
  'test_orphans',
  'select count(*)::int as count from artefact where review_id is null',
)
const orphans = async () => (await harness.db.row<{ count: number }>(countOrphans, []))?.count

const read = async (
  reviewId: string,
  artefactId: string,
  reports = harness.reports,
): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  for await (const message of reports.readArtefact({ reviewId, artefactId })) {
    chunks.push(message.chunk)
  }
  return Buffer.concat(chunks)
}

describe('an upload', () => {
  it('an upload makes an account whose artefacts the back end can read, byte for byte', async () => {
    const [front, selfie] = [picture(3 * chunkBytes + 17), picture(5_000)]
    const { account } = await upload(
      header(),
      artefact('id_document1_file', front),
      artefact('selfie', selfie),
      profile(),
    )
    const reviewId = await harness.reviewOf(account?.accountId)
    const sent = await eventually(
      () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
    )
    const fields = sent.artefacts.map(({ field, mediaType, sizeBytes }) => [
      field,
      mediaType,
      Number(sizeBytes),
    ])
    expect(fields).toEqual([
      ['id_document1_file', 'image/png', front.length],
      ['selfie', 'image/png', selfie.length],
    ])
    const [first, second] = sent.artefacts.map(({ artefactId }) => artefactId)
    expect((await read(reviewId, first ?? '')).equals(front)).toBe(true)
    expect((await read(reviewId, second ?? '')).equals(selfie)).toBe(true)
  })

  it('an upload without artefacts is an ordinary profile', async () => {
    const { account, mobileNumberAsSent } = await upload(header(), profile())
    expect(await harness.reviewOf(account?.accountId)).toBeDefined()
    expect(mobileNumberAsSent).toBe(account?.mobileNumber)
  })

  it('an upload stores nothing in plain', async () => {
    await upload(header(), artefact('selfie', picture(100_000)), profile())
    const { found } = (await harness.db.row<{ found: number }>(
      sql(
        'test_plain_chunks',
        `select count(*)::int as found from artefact_chunk
         where position(convert_to($1, 'UTF8') in ciphertext) > 0
           or position($2::bytea in ciphertext) > 0`,
      ),
      [marker, pngHead],
    )) ?? { found: -1 }
    expect(found).toBe(0)
  })

  it('an upload in the wrong order is refused', async () => {
    const content = artefact('selfie', picture(1_000))
    const wrong: (Part | Iterable<Part>)[][] = [
      [],
      [header()],
      [profile()],
      [header(), header(), profile()],
      [header(), chunk(pngHead), profile()],
      [beginning('selfie'), chunk(pngHead), profile()],
      [header(), content],
      [header(), profile(), beginning('selfie')],
    ]
    for (const parts of wrong) {
      expect(await refusal(upload(...parts))).toBe('INVALID_PARAMETER part')
    }
    expect(await refusal(upload(header(), {}, profile()))).toBe('MISSING_PARAMETER part')
    const twice = [artefact('selfie', picture(1_000)), artefact('selfie', picture(1_000))]
    expect(await refusal(upload(header(), ...twice, profile()))).toBe('INVALID_PARAMETER field')
    const unknown = upload(header(), artefact('passport', picture(1_000)), profile())
    expect(await refusal(unknown)).toBe('INVALID_PARAMETER artefact.field')
    const nobody = upload(header(randomUUID()), artefact('selfie', picture(1_000)), profile())
    expect(await refusal(nobody)).toBe('INVALID_PARAMETER project_id')
  })

  it('an upload whose content does not match its declared type is refused', async () => {
    const wrong = [
      artefact('selfie', picture(1_000), 'image/gif'),
      artefact('selfie', picture(1_000), 'application/pdf'),
      artefact('selfie', Buffer.from('<svg/>')),
      [beginning('selfie')],
    ]
    for (const content of wrong) {
      expect(await refusal(upload(header(), content, profile()))).toBe('UNSUPPORTED_MEDIA_TYPE')
    }
  })

  it('an upload with a file over 10 MiB or more than 25 MiB in total is refused', async () => {
    const large = upload(header(), artefact('selfie', picture(10 * mebibyte + 1)), profile())
    expect(await refusal(large)).toBe('PAYLOAD_TOO_LARGE')
    const fields = ['id_document1_file', 'id_document2_file', 'selfie']
    const many = fields.map((field) => artefact(field, picture(9 * mebibyte)))
    expect(await refusal(upload(header(), ...many, profile()))).toBe('PAYLOAD_TOO_LARGE')
    const chunkTooLong = [beginning('selfie'), chunk(picture(chunkBytes + 1))]
    expect(await refusal(upload(header(), chunkTooLong, profile()))).toBe('INVALID_PARAMETER chunk')
  })

  it('an upload whose profile is refused stores nothing', async () => {
    const taken = harness.profile({ mobileNumber: '+12025550100' })
    const last: Part = { part: { case: 'profile', value: taken } }
    const call = upload(header(), artefact('selfie', picture(100_000)), last)
    expect(await refusal(call)).toBe('ACCOUNT_EXISTS')
  })

  it('an interrupted upload stores nothing', async () => {
    async function* broken(): AsyncGenerator<Part> {
      yield header()
      yield* artefact('selfie', picture(200_000))
      await eventually(async () => expect(await orphans()).toBe(1))
      throw new Error('the client is gone')
    }
    await expect(harness.accounts.uploadPersonalAccount(broken())).rejects.toBeInstanceOf(Error)
  })
})

describe('an artefact', () => {
  async function uploaded() {
    const { account } = await upload(header(), artefact('selfie', picture(5_000)), profile())
    const reviewId = await harness.reviewOf(account?.accountId)
    const sent = await eventually(
      () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
    )
    return { reviewId, artefactId: sent.artefacts[0]?.artefactId ?? '' }
  }

  it('an artefact is read for its own review alone, and only while that is open', async () => {
    const [one, other] = [await uploaded(), await uploaded()]
    const wrong: [string, string][] = [
      [one.reviewId, other.artefactId],
      [randomUUID(), one.artefactId],
    ]
    for (const ids of wrong) expect(await refusal(read(...ids))).toBe('REVIEW_NOT_FOUND')
    expect(await refusal(read('x', one.artefactId))).toBe('INVALID_PARAMETER review_id')
    expect(await refusal(read(one.reviewId, ''))).toBe('MISSING_PARAMETER artefact_id')
    const value = { fundsAccessStatus: FundsAccessStatus.NONE }
    const { reviewId } = one
    await harness.reports.reportOnboarding({ reviewId, outcome: { case: 'completed', value } })
    expect(await refusal(read(reviewId, one.artefactId))).toBe('REVIEW_NOT_FOUND')
  })

  it('an artefact and its review are closed to a connector that is not the back end', async () => {
    const { reviewId, artefactId } = await uploaded()
    const { otherReports } = harness
    expect(await refusal(read(reviewId, artefactId, otherReports))).toBe('REVIEW_NOT_FOUND')
    const value = { fundsAccessStatus: FundsAccessStatus.FULL }
    const outcome = { case: 'completed', value } as const
    const report = otherReports.reportOnboarding({ reviewId, outcome })
    expect(await refusal(report)).toBe('REVIEW_NOT_FOUND')
    // An ended review has no artefacts.
    expect((await read(reviewId, artefactId)).length).toBe(5_000)
  })

  it('an artefact whose chunks were exchanged in the table is not returned', async () => {
    const { account } = await upload(
      header(),
      artefact('selfie', picture(2 * chunkBytes)),
      profile(),
    )
    const reviewId = await harness.reviewOf(account?.accountId)
    const sent = await eventually(
      () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
    )
    const artefactId = sent.artefacts[0]?.artefactId ?? ''
    await harness.db.run(
      sql(
        'test_exchange',
        `update artefact_chunk a set ciphertext = b.ciphertext from artefact_chunk b
         where a.artefact_id = $1 and b.artefact_id = $1 and a.chunk_index = 1 - b.chunk_index`,
      ),
      [artefactId],
    )
    expect(await refusal(read(reviewId, artefactId))).toBe('INTERNAL_ERROR')
  })

  it('an artefact that a killed process left without a review is deleted', async () => {
    const wanted = { projectId: harness.projects.demo, field: 'selfie', mediaType: 'image/png' }
    const writer = await beginArtefact(harness, wanted)
    await writer.write(picture(2 * chunkBytes))
    harness.engine.sweep()
    expect(await orphans()).toBe(1)
    harness.testClock.advance(601_000)
    harness.engine.sweep()
    await eventually(async () => expect(await orphans()).toBe(0))
    const chunks = await harness.db.row(
      sql('test_chunks', 'select 1 from artefact_chunk where artefact_id = $1'),
      [writer.artefactId],
    )
    expect(chunks).toBeUndefined()
  })
})
