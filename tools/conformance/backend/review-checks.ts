// Checks of reviews: profiles with their artefacts, and consents.
import { randomUUID } from 'node:crypto'
import { demand } from '../check.ts'
import {
  type BackendCheck,
  backendGroup,
  type CheckContext,
  newReference,
  reported,
} from './check.ts'

const review = backendGroup('reviews')
const consent = backendGroup('consents')
const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const maxLevel = 2

export const reviewChecks: readonly BackendCheck[] = [
  review(
    'completed',
    'An accepted profile is reported COMPLETED with a level of 0 to 2, once, however often it is submitted.',
    ['review.completed'],
    async (context) => {
      const profile = newProfile(context, context.outcome('review.completed'))
      await Promise.all([
        context.reviews.submitOnboarding(profile),
        context.reviews.submitOnboarding(profile),
      ])
      const { account } = await reported(context, profile.reviewId, 'COMPLETED')
      demand(
        (account?.level ?? -1) >= 0 && (account?.level ?? 9) <= maxLevel,
        'the level is not 0 to 2',
      )
    },
  ),
  review(
    'currency',
    "An accepted profile names no currency, or the institution's.",
    ['review.completed'],
    async (context) => {
      const profile = newProfile(context, context.outcome('review.completed'))
      await context.reviews.submitOnboarding(profile)
      const { account } = await reported(context, profile.reviewId, 'COMPLETED')
      const currency = account?.currency ?? ''
      demand(currency === '' || currency === context.map.currency, `the account is in ${currency}`)
    },
  ),
  review(
    'rejected',
    'A profile that is not accepted is reported REJECTED with a reason.',
    ['review.rejected'],
    async (context) => {
      const profile = newProfile(context, context.outcome('review.rejected'))
      await context.reviews.submitOnboarding(profile)
      const { reason } = await reported(context, profile.reviewId, 'REJECTED')
      demand(reason !== undefined && reason !== '', 'the report has no reason')
    },
  ),
  review(
    'artefacts-read',
    'A back end reads the artefacts of a profile before it accepts it.',
    ['review.artefacts'],
    async (context) => {
      const { profile, served } = withArtefact(context, png.length)
      await context.reviews.submitOnboarding(profile)
      await reported(context, profile.reviewId, 'COMPLETED')
      demand(served.reads > 0, 'the artefact was never read')
    },
  ),
  review(
    'artefact-broken',
    'A profile with an artefact that has not the announced size is not accepted.',
    ['review.artefacts'],
    async (context) => {
      const { profile } = withArtefact(context, png.length + 1)
      await context.reviews.submitOnboarding(profile)
      await reported(context, profile.reviewId, 'REJECTED')
    },
  ),
  consent(
    'approved',
    "A holder's consent is reported APPROVED, once, however often they are asked.",
    ['consent.approved'],
    (context) => ask(context, 'consent.approved', 'APPROVED'),
  ),
  consent('rejected', "A holder's refusal is reported REJECTED.", ['consent.rejected'], (context) =>
    ask(context, 'consent.rejected', 'REJECTED'),
  ),
]

function newProfile(context: CheckContext, holder: { mobile_number: string }) {
  return {
    reviewId: newReference(context),
    institutionName: context.map.institution_name,
    firstName: 'Ada',
    lastName: 'Conformance',
    email: 'ada@example.com',
    mobileNumber: holder.mobile_number,
  }
}

function withArtefact(context: CheckContext, announcedBytes: number) {
  const artefactId = randomUUID()
  const served = { bytes: png, reads: 0 }
  context.reports.artefacts.set(artefactId, served)
  const artefact = {
    artefactId,
    field: 'selfie',
    mediaType: 'image/png',
    sizeBytes: BigInt(announcedBytes),
  }
  const profile = newProfile(context, context.outcome('review.artefacts'))
  return { profile: { ...profile, artefacts: [artefact] }, served }
}

async function ask(
  context: CheckContext,
  outcome: 'consent.approved' | 'consent.rejected',
  reportedAs: string,
): Promise<void> {
  const inAnHour = Math.floor(Date.now() / 1_000) + 3_600
  const challenge = {
    challengeId: newReference(context),
    institutionName: context.map.institution_name,
    mobileNumber: context.outcome(outcome).mobile_number,
    clientName: 'Conformance',
    expireTime: { seconds: BigInt(inAnHour), nanos: 0 },
  }
  const send = () => context.reviews.requestConsent(challenge)
  await Promise.all([send(), send()])
  await reported(context, challenge.challengeId, reportedAs)
}
