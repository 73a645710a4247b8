// Tests what the staff sees of profiles whose review is open, and decides in place of the back end.
import { randomUUID } from 'node:crypto'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { BackendTaskKind } from '#gen/payweave/accounts/v1/onboarding_pb.js'
import { sql } from '#platform/db/db.ts'
import { parseMembership } from '#platform/rpc/auth/roles.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { eventually } from '../support/eventually.ts'
import { freshNumber, type Harness, type ProfileInit, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

/** Does something as a person of the console. */
function as<T>(membership: string, work: () => Promise<T>, projectId?: string): Promise<T> {
  const memberships = [parseMembership(membership)].filter((one) => one !== undefined)
  const acting = {
    person: { id: 'ama@example.com', memberships },
    projectId,
    sessionId: randomUUID(),
  }
  return runWithContext({ requestId: randomUUID(), traceparent: newTraceparent(), acting }, work)
}

const completed = {
  case: 'completed' as const,
  value: { accountLevel: 2, fundsAccessStatus: FundsAccessStatus.FULL, currency: '' },
}
const rejected = { case: 'rejected' as const, value: true }

const decide = (
  reviewId: string,
  outcome: typeof completed | typeof rejected,
  reason = 'blurred',
) => as('operator', () => harness.onboardings.decideOnboarding({ reviewId, outcome, reason }))
const get = (reviewId: string) =>
  as('operator', () => harness.onboardings.getOnboarding({ reviewId }))

async function createWithReview(more: ProfileInit = {}) {
  const { account } = await harness.create(more)
  return { account, reviewId: await harness.reviewOf(account?.accountId) }
}

async function listAll(pageSize: number): Promise<string[]> {
  const ids: string[] = []
  let pageToken = ''
  do {
    const wanted = { pageSize, pageToken }
    const page = await as('support', () => harness.onboardings.listOnboardings(wanted))
    ids.push(...page.onboardings.map(({ reviewId }) => reviewId))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  return ids
}

const selectAudit = sql(
  'test_decisions',
  `select caller, project_id, details from access_audit
   where action = 'decide_onboarding' and target_id = $1`,
)
const auditOf = (reviewId: string) => harness.db.rows(selectAudit, [reviewId])
const selectReason = sql('test_reason', 'select state, reason from review where review_id = $1')
const reasonOf = (reviewId: string) => harness.db.row(selectReason, [reviewId])

describe('open reviews', () => {
  it('open reviews are listed oldest first, page after page, until they have ended', async () => {
    const made = [await createWithReview(), await createWithReview(), await createWithReview()]
    const ids = made.map(({ reviewId }) => reviewId)
    const own = async () => (await listAll(2)).filter((id) => ids.includes(id))
    expect(await own()).toEqual(ids)
    await decide(ids[1] ?? '', rejected)
    expect(await own()).toEqual([ids[0], ids[2]])
    const listed = async (reviewId = '') => {
      const page = await as('support', () => harness.onboardings.listOnboardings({ reviewId }))
      return page.onboardings.map((one) => one.reviewId)
    }
    expect([await listed(ids[0]), await listed(ids[1])]).toEqual([[ids[0]], []])
  })

  it('an open review has the profile, its facts and whether its number is taken', async () => {
    const mobileNumber = freshNumber()
    const details = { dob: '1990-01-31', country: 'GH' }
    const [first, second] = [
      await createWithReview({ mobileNumber, details }),
      await createWithReview({ mobileNumber }),
    ]
    expect((await get(first.reviewId)).onboarding).toMatchObject({
      reviewId: first.reviewId,
      projectId: harness.projects.demo,
      institutionName: 'Demo Wallet',
      firstName: 'Efua',
      email: 'efua@example.com',
      mobileNumber,
      numberTaken: false,
      details,
      artefacts: [],
    })
    await decide(first.reviewId, completed)
    expect((await get(second.reviewId)).onboarding?.numberTaken).toBe(true)
    expect(await refusal(get(first.reviewId))).toBe('REVIEW_NOT_FOUND')
    expect(await refusal(get(randomUUID()))).toBe('REVIEW_NOT_FOUND')
  })

  it('an open review has others with its number or its e-mail address, but no rejected ones', async () => {
    const mobileNumber = freshNumber()
    const email = `efua-${mobileNumber.slice(1)}@example.com`
    const first = await createWithReview({ mobileNumber, email })
    const byNumber = await createWithReview({ mobileNumber })
    const rejectedOne = await createWithReview({ mobileNumber })
    const byEmail = await createWithReview({ email: email.toUpperCase() })
    await decide(rejectedOne.reviewId, rejected)
    await decide(byEmail.reviewId, completed)
    const { duplicates } = (await get(first.reviewId)).onboarding ?? {}
    expect(duplicates).toMatchObject([
      {
        accountId: byNumber.account?.accountId,
        reviewId: byNumber.reviewId,
        status: AccountStatus.PENDING_REVIEW,
        accountNumber: '',
        mobileNumber,
      },
      {
        accountId: byEmail.account?.accountId,
        reviewId: '',
        status: AccountStatus.AVAILABLE,
        accountNumber: expect.stringMatching(/^\d{10}$/),
        email: email.toUpperCase(),
      },
    ])
  })

  it('what the back end does not take is listed with its attempts, and sent at once when a person asks', async () => {
    const mobileNumber = freshNumber()
    const tries = () =>
      harness.backend.submitted.filter((one) => one.mobileNumber === mobileNumber).length
    harness.backend.failNext(mobileNumber, 1_000)
    const { reviewId } = await createWithReview({ mobileNumber })
    const failing = async () => {
      const { tasks } = await as('support', () => harness.backendTasks.listBackendTasks({}))
      return tasks.find(({ subjectId }) => subjectId === reviewId)
    }
    // After eight attempts the next one is a minute away, longer than the lease of one that is made.
    const task = await eventually(async () => {
      const found = await failing()
      const now = Date.now() + harness.testClock.offsetMs
      const waitMs = found?.nextTime === undefined ? 0 : timestampMs(found.nextTime) - now
      if (found !== undefined && found.attemptCount >= 8 && waitMs > 30_000) return found
      if (waitMs <= 0 || (found?.attemptCount ?? 0) < 8) harness.testClock.advance(20_000)
      return false
    })
    expect(task).toMatchObject({
      kind: BackendTaskKind.SUBMIT_ONBOARDING,
      projectId: harness.projects.demo,
    })
    harness.backend.failNext(mobileNumber, 0)
    const before = tries()
    const wanted = { subjectId: reviewId, kind: BackendTaskKind.SUBMIT_ONBOARDING }
    const retry = (role: string) => as(role, () => harness.backendTasks.retryBackendTask(wanted))
    await expect(retry('support')).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    await retry('operator')
    await eventually(() => tries() > before)
    await eventually(async () => expect(await refusal(retry('operator'))).toBe('REVIEW_NOT_FOUND'))
    expect(await failing()).toBeUndefined()
    const audit = {
      name: 'audit_of_task_retries',
      text: `select caller, details from access_audit where action = 'retry_backend_task' and target_id = '${reviewId}'`,
    }
    expect(await harness.db.rows(audit, [])).toContainEqual({
      caller: expect.stringContaining('console:') as string,
      details: { kind: 'submit_onboarding' },
    })
  })

  it('files of an open review are read byte for byte by those who decide', async () => {
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100_000, 7)])
    async function* parts() {
      const { demo: projectId } = harness.projects
      const header = { projectId, requestId: randomUUID() }
      yield { part: { case: 'header' as const, value: header } }
      const value = { field: 'selfie', mediaType: 'image/png' }
      yield { part: { case: 'artefact' as const, value } }
      yield { part: { case: 'chunk' as const, value: png.subarray(0, 60_000) } }
      yield { part: { case: 'chunk' as const, value: png.subarray(60_000) } }
      yield { part: { case: 'profile' as const, value: harness.profile() } }
    }
    const { account } = await harness.accounts.uploadPersonalAccount(parts())
    const reviewId = await harness.reviewOf(account?.accountId)
    const [artefact] = (await get(reviewId)).onboarding?.artefacts ?? []
    const artefactId = artefact?.artefactId ?? ''
    expect(artefact).toMatchObject({ field: 'selfie', mediaType: 'image/png' })
    expect(artefact?.sizeBytes).toBe(BigInt(png.length))
    const read = (role: string) =>
      as(role, async () => {
        const chunks: Uint8Array[] = []
        const messages = harness.onboardings.readOnboardingArtefact({ reviewId, artefactId })
        for await (const { chunk } of messages) chunks.push(chunk)
        return Buffer.concat(chunks)
      })
    expect((await read('operator')).equals(png)).toBe(true)
    await expect(read('support')).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    await decide(reviewId, rejected)
    expect(await refusal(read('operator'))).toBe('REVIEW_NOT_FOUND')
  })
})

describe('a decision of a person', () => {
  it('an accepted profile becomes an available account, and the audit names who decided', async () => {
    const { account, reviewId } = await createWithReview()
    expect((await decide(reviewId, completed, 'their passport')).status).toBe(
      OnboardingStatus.COMPLETED,
    )
    const found = await harness.open({ lookupType: 1, lookupValue: account?.mobileNumber ?? '' })
    expect(found.account).toMatchObject({
      accountStatus: AccountStatus.AVAILABLE,
      accountLevel: 2,
      fundsAccessStatus: FundsAccessStatus.FULL,
      currency: 'USD',
    })
    expect(await reasonOf(reviewId)).toEqual({ state: 'completed', reason: 'their passport' })
    expect(await auditOf(reviewId)).toEqual([
      {
        caller: 'console:ama@example.com',
        project_id: harness.projects.demo,
        details: { decision: 'completed', state: 'completed' },
      },
    ])
  })

  it('the first decision stands, of a person or of the back end, and the client is called once', async () => {
    const callback = {
      callbackUrl: 'https://client.example/hook',
      authorisationToken: 'client-token-0123456789',
    }
    const { account, reviewId } = await createWithReview(callback)
    expect((await decide(reviewId, rejected)).status).toBe(OnboardingStatus.REJECTED)
    expect((await decide(reviewId, completed)).status).toBe(OnboardingStatus.REJECTED)
    await harness.reports.reportOnboarding({ reviewId, outcome: completed })
    expect(await reasonOf(reviewId)).toEqual({ state: 'rejected', reason: 'blurred' })
    expect(await harness.eventsOf(account?.accountId)).toHaveLength(1)
    expect(await auditOf(reviewId)).toHaveLength(1)
    const other = await createWithReview()
    await harness.reports.reportOnboarding({ reviewId: other.reviewId, outcome: completed })
    expect((await decide(other.reviewId, rejected)).status).toBe(OnboardingStatus.COMPLETED)
    expect(await auditOf(other.reviewId)).toEqual([])
  })

  it('two people who accept two profiles of one number at once make one account', async () => {
    const mobileNumber = freshNumber()
    const made = [
      await createWithReview({ mobileNumber }),
      await createWithReview({ mobileNumber }),
    ]
    const ended = await Promise.all(made.map(({ reviewId }) => decide(reviewId, completed)))
    expect(ended.map(({ status }) => status).toSorted()).toEqual([
      OnboardingStatus.COMPLETED,
      OnboardingStatus.REJECTED,
    ])
  })

  it('a decision without evidence, of another role or on an unknown review changes nothing', async () => {
    const { reviewId } = await createWithReview()
    expect(await refusal(decide(reviewId, completed, ' '))).toBe('INVALID_PARAMETER reason')
    expect(await refusal(decide(randomUUID(), completed))).toBe('REVIEW_NOT_FOUND')
    const { demo } = harness.projects
    for (const role of ['support', 'finance', `merchant_developer:${demo}`]) {
      const reason = 'by me'
      const call = as(
        role,
        () => harness.onboardings.decideOnboarding({ reviewId, outcome: completed, reason }),
        role.includes(':') ? demo : undefined,
      )
      await expect(call).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    }
    await expect(
      harness.onboardings.decideOnboarding({
        reviewId,
        outcome: completed,
        reason: 'by a process',
      }),
    ).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    expect(await reasonOf(reviewId)).toEqual({ state: 'open', reason: null })
    expect(await auditOf(reviewId)).toEqual([])
  })
})
