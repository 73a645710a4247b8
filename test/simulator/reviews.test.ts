// Proves that profiles and challenges are decided as the sandbox promises, and that each outcome is reported.
import { randomBytes, randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FundsAccessStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { eventually } from '../support/eventually.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const outcomesOf = (id: string) => harness.accounts.of(id).map(({ outcome }) => outcome)
const expectSoon = <T>(read: () => T, expected: T) =>
  eventually(() => expect(read()).toEqual(expected))
/** All that was due before is done and reported: a profile and a challenge that came later, twice, are decided. */
async function workIsDone(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    const [{ reviewId }, { challengeId }] = [
      await submit('+12025550114'),
      await ask('+12025550100'),
    ]
    harness.testClock.advance(2_000)
    await expectSoon(
      () => [...outcomesOf(reviewId), ...outcomesOf(challengeId)],
      ['COMPLETED', 'APPROVED'],
    )
  }
}

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const pdf = Buffer.from('%PDF-1.7\n')

/** An artefact that accounts holds, or holds otherwise than it was announced. */
type Held = { bytes?: Buffer; held?: Buffer; mediaType?: string }
function artefact(field: string, { bytes = png, held, mediaType = 'image/png' }: Held = {}) {
  const artefactId = randomUUID()
  harness.accounts.artefacts.set(artefactId, held ?? bytes)
  return { artefactId, field, mediaType, sizeBytes: BigInt(bytes.length) }
}

const profile = (number: string, artefacts: ReturnType<typeof artefact>[] = []) => ({
  reviewId: randomUUID(),
  institutionName: 'Demo Wallet',
  firstName: 'Efua',
  lastName: 'Annan',
  email: 'efua@example.com',
  mobileNumber: number,
  artefacts,
})

async function submit(number: string, artefacts?: ReturnType<typeof artefact>[]) {
  const review = profile(number, artefacts)
  await harness.reviews.submitOnboarding(review)
  return review
}

async function ask(number: string, { livesMs = 600_000 } = {}) {
  const challenge = {
    challengeId: randomUUID(),
    institutionName: 'Demo Wallet',
    mobileNumber: number,
    clientName: 'Demo Store',
    expireTime: timestampFromDate(new Date(harness.testClock.now().getTime() + livesMs)),
  }
  await harness.reviews.requestConsent(challenge)
  return challenge
}

describe('onboarding', () => {
  it('onboarding is decided after two seconds: a profile alone leads to level 1 with limited access', async () => {
    const startedMs = Date.now()
    const { reviewId: id } = await submit('+12025550113')
    const access = FundsAccessStatus.LIMITED
    await expectSoon(
      () => harness.accounts.of(id),
      [{ id, outcome: 'COMPLETED', level: 1, access }],
    )
    expect(Date.now() - startedMs).toBeGreaterThanOrEqual(2_000)
  })

  it.each([
    ['identity and address', ['id_document2_file', 'poa_file'], 2, FundsAccessStatus.FULL],
    ['identity alone', ['id_document1_file', 'selfie'], 1, FundsAccessStatus.LIMITED],
    ['address alone', ['poa_file'], 1, FundsAccessStatus.LIMITED],
  ])('onboarding with proof of %s leads to its level', async (_what, fields, level, access) => {
    const artefacts = fields.map((field) => artefact(field))
    const { reviewId: id } = await submit('+12025550114', artefacts)
    harness.testClock.advance(2_000)
    await expectSoon(() => harness.accounts.of(id), [{ id, outcome: 'COMPLETED', level, access }])
  })

  it('onboarding is rejected for number 07 and left pending for number 08', async () => {
    const [rejected, pending] = [await submit('+12025550107'), await submit('+12025550108')]
    harness.testClock.advance(86_400_000)
    await expectSoon(() => outcomesOf(rejected.reviewId), ['REJECTED'])
    await workIsDone()
    expect(outcomesOf(pending.reviewId)).toEqual([])
  })

  it('onboarding reads an artefact of many chunks to its end', async () => {
    const bytes = Buffer.concat([pdf, randomBytes(6_000_000)])
    const file = artefact('poa_file', { bytes, mediaType: 'application/pdf' })
    const { reviewId } = await submit('+12025550115', [file])
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(reviewId), ['COMPLETED'])
  })

  it.each([
    ['shorter than announced', { bytes: Buffer.concat([png, pdf]), held: png }],
    ['longer than announced', { bytes: png, held: Buffer.concat([png, pdf]) }],
    ['of another type', { bytes: png, held: Buffer.from('notapng!') }],
    ['empty', { bytes: png, held: Buffer.alloc(0) }],
  ])('onboarding is rejected when an artefact is %s', async (_what, held) => {
    const { reviewId } = await submit('+12025550116', [artefact('id_document1_file', held)])
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(reviewId), ['REJECTED'])
  })

  it('onboarding is rejected when accounts does not know an artefact', async () => {
    const unknown = { ...artefact('poa_file'), artefactId: randomUUID() }
    const { reviewId } = await submit('+12025550117', [unknown])
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(reviewId), ['REJECTED'])
  })

  it('onboarding waits for an artefact that cannot be read just now', async () => {
    const file = artefact('poa_file')
    harness.accounts.refuse(file.artefactId, 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR')
    const { reviewId } = await submit('+12025550118', [file])
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(reviewId), ['COMPLETED'])
  })

  it('onboarding is rejected when an artefact fails inside accounts again and again', async () => {
    const file = artefact('poa_file')
    harness.accounts.refuse(
      file.artefactId,
      ...Array.from({ length: 10 }, () => 'INTERNAL_ERROR' as const),
    )
    const { reviewId } = await submit('+12025550119', [file])
    await eventually(() => {
      harness.testClock.advance(2_000)
      expect(outcomesOf(reviewId)).toEqual(['REJECTED'])
    })
  })

  it('onboarding submitted many times at once is decided and reported once', async () => {
    const review = profile('+12025550120')
    await Promise.all(Array.from({ length: 20 }, () => harness.reviews.submitOnboarding(review)))
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(review.reviewId), ['COMPLETED'])
    await harness.reviews.submitOnboarding({ ...review, mobileNumber: '+12025550107' })
    harness.testClock.advance(2_000)
    await workIsDone()
    expect(outcomesOf(review.reviewId)).toEqual(['COMPLETED'])
  })

  it('onboarding is reported again until accounts accepts', async () => {
    const review = profile('+12025550121')
    harness.accounts.refuse(review.reviewId, 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'TIMEOUT')
    await harness.reviews.submitOnboarding(review)
    harness.testClock.advance(2_000)
    await eventually(() => {
      harness.testClock.advance(500)
      expect(outcomesOf(review.reviewId)).toEqual(['COMPLETED'])
    })
  })

  it('onboarding goes on after a restart', async () => {
    const { reviewId } = await submit('+12025550122', [artefact('poa_file')])
    // However long the restart takes.
    harness.testClock.advance(-60_000)
    await harness.restart()
    expect(outcomesOf(reviewId)).toEqual([])
    harness.testClock.advance(62_000)
    await expectSoon(() => outcomesOf(reviewId), ['COMPLETED'])
  })

  it.each([
    ['INVALID_PARAMETER', 'review_id', { reviewId: 'x' }],
    ['MISSING_PARAMETER', 'institution_name', { institutionName: '' }],
    ['INVALID_PARAMETER', 'institution_name', { institutionName: 'Demo\u0000' }],
    ['INVALID_PARAMETER', 'mobile_number', { mobileNumber: '202' }],
    [
      'INVALID_PARAMETER',
      'artefacts[0].field',
      { artefacts: [{ ...noArtefact(), field: 'passport' }] },
    ],
    [
      'INVALID_PARAMETER',
      'artefacts[0].media_type',
      { artefacts: [{ ...noArtefact(), mediaType: 'text/html' }] },
    ],
    [
      'INVALID_PARAMETER',
      'artefacts[0].size_bytes',
      { artefacts: [{ ...noArtefact(), sizeBytes: 0n }] },
    ],
    ['INVALID_PARAMETER', 'artefacts', { artefacts: Array.from({ length: 9 }, noArtefact) }],
  ])('onboarding is refused with %s %s', async (reason, field, fault) => {
    const call = harness.reviews.submitOnboarding({ ...profile('+12025550113'), ...fault })
    await expect(call).rejects.toMatchObject({ reason, details: { field } })
  })
})

function noArtefact() {
  return { artefactId: randomUUID(), field: 'selfie', mediaType: 'image/png', sizeBytes: 8n }
}

describe('consent', () => {
  it('consent is given after two seconds, and refused by number 11', async () => {
    const startedMs = harness.testClock.now().getTime()
    const [given, refused] = [await ask('+12025550100'), await ask('+12025550111')]
    harness.testClock.advance(1_400)
    await expectSoon(() => outcomesOf(given.challengeId), ['APPROVED'])
    expect(harness.testClock.now().getTime() - startedMs).toBeGreaterThanOrEqual(2_000)
    await expectSoon(() => outcomesOf(refused.challengeId), ['REJECTED'])
  })

  it('consent is not given to a challenge that has expired', async () => {
    const { challengeId } = await ask('+12025550100', { livesMs: 1_000 })
    harness.testClock.advance(2_000)
    await workIsDone()
    expect(outcomesOf(challengeId)).toEqual([])
  })

  it('consent requested many times at once is given once, also after a restart', async () => {
    const challenge = await ask('+12025550101')
    await Promise.all(Array.from({ length: 20 }, () => harness.reviews.requestConsent(challenge)))
    await harness.restart()
    harness.testClock.advance(2_000)
    await expectSoon(() => outcomesOf(challenge.challengeId), ['APPROVED'])
    await harness.reviews.requestConsent({ ...challenge, mobileNumber: '+12025550111' })
    harness.testClock.advance(2_000)
    await workIsDone()
    expect(outcomesOf(challenge.challengeId)).toEqual(['APPROVED'])
  })

  it.each([
    ['INVALID_PARAMETER', 'challenge_id', { challengeId: 'x' }],
    ['MISSING_PARAMETER', 'client_name', { clientName: '' }],
    ['MISSING_PARAMETER', 'expire_time', { expireTime: undefined }],
  ])('consent is refused with %s %s', async (reason, field, fault) => {
    const challenge = { ...(await ask('+12025550100')), ...fault }
    const call = harness.reviews.requestConsent(challenge)
    await expect(call).rejects.toMatchObject({ reason, details: { field } })
  })
})
