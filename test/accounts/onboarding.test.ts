// Tests a personal account from its profile to its callback, under repeats, failures and races.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { open as openSealed } from '#core/identity/seal.ts'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingKind,
  OnboardingStatus,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { sql } from '#platform/db/db.ts'
import { claimTasks } from '../../services/accounts/customers/store/task-store.ts'
import { eventually } from '../support/eventually.ts'
import { freshNumber, type Harness, type ProfileInit, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const token = 'client-token-0123456789'
const withCallback = { callbackUrl: 'https://client.example/hook', authorisationToken: token }

const completed = (more: object = {}) => ({
  case: 'completed' as const,
  value: { accountLevel: 1, fundsAccessStatus: FundsAccessStatus.LIMITED, ...more },
})
const rejected = { case: 'rejected' as const, value: { reason: 'blurred' } }

async function createWithReview(more: ProfileInit = {}) {
  const { account } = await harness.create(more)
  return { account, reviewId: await harness.reviewOf(account?.accountId) }
}

const lookUp = (lookupValue: string | undefined) =>
  harness.open({ lookupType: LookupType.MOBILE, lookupValue: lookupValue ?? '' })

describe('a profile', () => {
  it('a profile becomes an account pending review and is submitted to the back end', async () => {
    const { account, reviewId } = await createWithReview({
      details: { dob: '1990-01-31', country: 'GH' },
    })
    expect(account).toMatchObject({
      accountStatus: AccountStatus.PENDING_REVIEW,
      onboardingStatus: OnboardingStatus.PENDING_REVIEW,
      accountNumber: '',
      accountType: 'personal',
      country: 'GH',
    })
    const sent = await eventually(
      () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
    )
    expect(sent).toMatchObject({
      institutionName: 'Demo Wallet',
      firstName: 'Efua',
      mobileNumber: account?.mobileNumber,
      details: { dob: '1990-01-31', country: 'GH' },
      artefacts: [],
    })
  })

  it('a profile has the country that its details name by code, else that of the call', async () => {
    const ghana = await harness.create({ details: { country: 'Ghana' }, originCountry: 'TT' })
    expect(ghana.account?.country).toBe('TT')
    const code = await harness.create({ details: { country: 'GH' }, originCountry: 'TT' })
    expect(code.account?.country).toBe('GH')
  })

  it('a profile may have a number of five digits', async () => {
    const { account } = await harness.create({ mobileNumber: '+43123' })
    expect(account?.mobileNumber).toBe('+43123')
  })

  it('a profile is refused when something in it cannot be', async () => {
    const wrong: [ProfileInit, string][] = [
      [{ firstName: '' }, 'MISSING_PARAMETER profile.first_name'],
      [{ lastName: 'x'.repeat(101) }, 'INVALID_PARAMETER profile.last_name'],
      [{ email: 'nobody' }, 'INVALID_PARAMETER profile.email'],
      [{ mobileNumber: '202' }, 'INVALID_PARAMETER profile.mobile_number'],
      [{ institutionName: 'Restricted Bank' }, 'INVALID_PARAMETER institution_name'],
      [{ institutionName: 'No Such Bank' }, 'INVALID_PARAMETER institution_name'],
      [{ originCountry: 'XX' }, 'INVALID_PARAMETER origin_country'],
      [{ details: { shoe_size: '44' } }, 'INVALID_PARAMETER details'],
      [{ callbackUrl: 'https://client.example/' }, 'MISSING_PARAMETER authorisation_token'],
      [{ authorisationToken: token }, 'MISSING_PARAMETER callback_url'],
      [
        { ...withCallback, callbackUrl: 'http://client.example/' },
        'INVALID_PARAMETER callback_url',
      ],
      [{ ...withCallback, callbackUrl: 'https://10.0.0.1/' }, 'INVALID_PARAMETER callback_url'],
      [
        { ...withCallback, authorisationToken: 'short' },
        'INVALID_PARAMETER profile.authorisation_token',
      ],
    ]
    for (const [more, reason] of wrong) expect(await refusal(harness.create(more))).toBe(reason)
  })

  it('a profile is refused for every project while an available account has its number', async () => {
    const taken = { mobileNumber: '+12025550100' }
    expect(await refusal(harness.create(taken))).toBe('ACCOUNT_EXISTS')
    const theirs = harness.accounts.createPersonalAccount({
      projectId: harness.projects.other,
      profile: harness.profile(taken),
    })
    expect(await refusal(theirs)).toBe('ACCOUNT_EXISTS')
  })

  it('a profile of a project without a grant is refused for its institution', async () => {
    const call = harness.accounts.createPersonalAccount({
      projectId: harness.projects.stranger,
      profile: harness.profile(),
    })
    expect(await refusal(call)).toBe('INVALID_PARAMETER institution_name')
  })
})

describe('a review', () => {
  it('an approved review makes the account available, with number, level and an empty balance', async () => {
    const { account, reviewId } = await createWithReview()
    await harness.reports.reportOnboarding({ reviewId, outcome: completed({ currency: 'TTD' }) })
    const found = await lookUp(account?.mobileNumber)
    expect(found.account).toMatchObject({
      accountStatus: AccountStatus.AVAILABLE,
      onboardingStatus: OnboardingStatus.COMPLETED,
      accountLevel: 1,
      fundsAccessStatus: FundsAccessStatus.LIMITED,
      currency: 'TTD',
    })
    expect(found.account?.accountNumber).toMatch(/^[1-9]\d{9}$/)
    const balance = await harness.accounts.getAccountBalance({
      projectId: harness.projects.demo,
      mobileNumber: account?.mobileNumber ?? '',
    })
    expect(balance.currentBalance).toMatchObject({ currency: 'TTD', minorUnits: 0n })
  })

  it('a review keeps its first outcome and calls back once', async () => {
    const { account, reviewId } = await createWithReview(withCallback)
    await harness.reports.reportOnboarding({ reviewId, outcome: completed() })
    await harness.reports.reportOnboarding({ reviewId, outcome: completed({ accountLevel: 2 }) })
    await harness.reports.reportOnboarding({ reviewId, outcome: rejected })
    expect((await lookUp(account?.mobileNumber)).account?.accountLevel).toBe(1)
    expect(await harness.eventsOf(account?.accountId)).toHaveLength(1)
  })

  it('a review keeps one outcome of many that come at once', async () => {
    const { account, reviewId } = await createWithReview(withCallback)
    const outcomes = [completed(), rejected, completed(), rejected, completed(), rejected]
    await Promise.all(
      outcomes.map((outcome) => harness.reports.reportOnboarding({ reviewId, outcome })),
    )
    expect(await harness.eventsOf(account?.accountId)).toHaveLength(1)
  })

  it('calls back with the token sealed for the institution, and forgets the token', async () => {
    const requestId = randomUUID()
    const mobileNumber = freshNumber()
    const mobileNumberAsSent = mobileNumber.slice(2)
    const { account } = await harness.create(
      { ...withCallback, mobileNumber, mobileNumberAsSent },
      requestId,
    )
    const reviewId = await harness.reviewOf(account?.accountId)
    await harness.reports.reportOnboarding({ reviewId, outcome: rejected })
    const [event] = await harness.eventsOf(account?.accountId)
    expect(event).toMatchObject({
      projectId: harness.projects.demo,
      kind: OnboardingKind.ONBOARDING,
      requestId,
      institutionName: 'Demo Wallet',
      account: {
        mobileNumber: mobileNumberAsSent,
        accountStatus: AccountStatus.UNAVAILABLE,
        onboardingStatus: OnboardingStatus.REJECTED,
      },
      requestStatus: RegistrationStatus.UNSPECIFIED,
      callbackUrl: withCallback.callbackUrl,
    })
    const { keyId, sharedKey } = harness.credentials.institution
    const key = { keyId, key: Buffer.from(sharedKey, 'base64') }
    const sealed = event?.authorisationTokenSealed ?? ''
    expect(openSealed(sealed, [key], 'authorisation-token')?.toString()).toBe(token)
    const row = await harness.db.row<{ text: string; sealed: string | null }>(
      sql(
        'test_review_text',
        `select review::text as text, authorisation_token_sealed as sealed from review
         where review_id = $1`,
      ),
      [reviewId],
    )
    expect(row?.sealed).toBeNull()
    expect(row?.text).not.toContain(token)
  })

  it('no callback is sent for a profile without a callback URL', async () => {
    const { account, reviewId } = await createWithReview()
    await harness.reports.reportOnboarding({ reviewId, outcome: completed() })
    expect(await harness.eventsOf(account?.accountId)).toEqual([])
  })

  it('a review rejects the second of two profiles that end well on one number, also at the same moment', async () => {
    for (const together of [false, true]) {
      const mobileNumber = freshNumber()
      const profiles = [
        await createWithReview({ mobileNumber, ...withCallback }),
        await createWithReview({ mobileNumber, ...withCallback }),
      ]
      const report = ({ reviewId }: { reviewId: string }) =>
        harness.reports.reportOnboarding({ reviewId, outcome: completed() })
      if (together) await Promise.all(profiles.map(report))
      else for (const profile of profiles) await report(profile)
      const events = await Promise.all(
        profiles.map(({ account }) => harness.eventsOf(account?.accountId)),
      )
      const statuses = events.flat().map(({ account }) => account?.onboardingStatus)
      expect(statuses.toSorted()).toEqual([OnboardingStatus.COMPLETED, OnboardingStatus.REJECTED])
      expect((await lookUp(mobileNumber)).session).toBeDefined()
    }
  })

  it('a review is refused when it is unknown or its outcome cannot be', async () => {
    const { reviewId } = await createWithReview()
    const report = (more: object) => harness.reports.reportOnboarding({ reviewId, ...more })
    const of = (unknown: string) => report({ reviewId: unknown, outcome: completed() })
    expect(await refusal(of(randomUUID()))).toBe('REVIEW_NOT_FOUND')
    expect(await refusal(of('x'))).toBe('INVALID_PARAMETER review_id')
    expect(await refusal(of(''))).toBe('MISSING_PARAMETER review_id')
    expect(await refusal(report({}))).toBe('MISSING_PARAMETER outcome')
    const level = report({ outcome: completed({ accountLevel: 3 }) })
    expect(await refusal(level)).toBe('INVALID_PARAMETER completed.account_level')
    const malformed = report({ outcome: completed({ currency: 'XXX1' }) })
    expect(await refusal(malformed)).toBe('INVALID_PARAMETER completed.currency')
    const unknown = report({ outcome: completed({ currency: 'XXX' }) })
    expect(await refusal(unknown)).toBe('INVALID_PARAMETER completed.currency')
  })
})

describe('the back end', () => {
  it('a review is submitted to the back end again until it answers', async () => {
    const mobileNumber = freshNumber()
    harness.backend.failNext(mobileNumber, 2)
    const { reviewId } = await createWithReview({ mobileNumber })
    const times = () => harness.backend.submitted.filter((one) => one.reviewId === reviewId).length
    await eventually(() => expect(times()).toBeGreaterThanOrEqual(3))
    expect(times()).toBe(3)
  })

  it('the back end receives a review that a killed worker had leased', async () => {
    await harness.engine.close()
    const { reviewId } = await createWithReview()
    const claimed = await claimTasks(harness.db, 10, 15_000)
    expect(claimed.map(({ subjectId }) => subjectId)).toContain(reviewId)
    const engine = harness.start()
    harness.testClock.advance(15_000)
    const sent = await eventually(
      () => harness.backend.submitted.find((one) => one.reviewId === reviewId) ?? false,
    )
    expect(sent.institutionName).toBe('Demo Wallet')
    await engine.close()
  })
})
