// Tests which customers a person sees for a project, that they are masked, and who may see more.
import { randomUUID } from 'node:crypto'
import { Code } from '@connectrpc/connect'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import {
  AccountStatus,
  FundsAccessStatus,
  OnboardingStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { type Role, roleNames } from '#platform/rpc/auth/roles.ts'
import { runWithContext } from '#platform/rpc/context.ts'
import { newTraceparent } from '#platform/telemetry/spans.ts'
import { freshNumber, type Harness, type ProfileInit, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

/** Does something as a person of the console who looks at a project. */
function as<T>(role: Role, projectId: string, work: () => Promise<T>): Promise<T> {
  const held = role.startsWith('merchant_') ? projectId : undefined
  const person = { id: 'ama@example.com', memberships: [{ role, projectId: held }] }
  const acting = { person, projectId, sessionId: randomUUID() }
  return runWithContext({ requestId: randomUUID(), traceparent: newTraceparent(), acting }, work)
}

const viewer = 'merchant_viewer'

function find(projectId: string, lookupType: LookupType, lookupValue: string): Promise<string[]> {
  const wanted = { projectId, lookupType, lookupValue }
  return as(viewer, projectId, () => harness.customers.listCustomers(wanted)).then(
    ({ customers }) => customers.map(({ accountId }) => accountId),
  )
}

const get = (projectId: string, accountId: string) =>
  as(viewer, projectId, () => harness.customers.getCustomer({ projectId, accountId }))

/** The profile of a new customer of the demo project, accepted where that is asked. */
async function newCustomer(more: ProfileInit = {}, isAccepted = true) {
  const { account } = await harness.create(more)
  const accountId = account?.accountId ?? ''
  if (isAccepted) {
    const reviewId = await harness.reviewOf(accountId)
    const value = { accountLevel: 2, fundsAccessStatus: FundsAccessStatus.FULL, currency: 'USD' }
    const outcome = { case: 'completed' as const, value }
    await harness.reports.reportOnboarding({ reviewId, outcome })
  }
  return accountId
}

describe('a customer', () => {
  it('a customer is found by the whole number, address in any case or account number, and by no part of it', async () => {
    const { demo } = harness.projects
    const mobileNumber = freshNumber()
    const accountId = await newCustomer({ mobileNumber, email: 'Efua.Found@Example.com' })
    const { account } = await as('support', demo, () =>
      harness.customers.getPersonalData({ projectId: demo, accountId }),
    )
    const accountNumber = account?.accountNumber ?? ''
    expect(await find(demo, LookupType.MOBILE, mobileNumber)).toEqual([accountId])
    expect(await find(demo, LookupType.EMAIL, 'efua.found@example.com')).toEqual([accountId])
    expect(await find(demo, LookupType.ACCOUNT_NUMBER, accountNumber)).toEqual([accountId])
    for (const part of [mobileNumber.slice(0, -1), '%', '_'.repeat(mobileNumber.length)]) {
      expect(await find(demo, LookupType.MOBILE, part)).toEqual([])
    }
    expect(await find(demo, LookupType.EMAIL, '@example.com')).toEqual([])
    expect(await refusal(find(demo, LookupType.EMAIL, ''))).toBe('MISSING_PARAMETER lookup_value')
  })

  it('a customer is shown masked to every role', async () => {
    const { demo } = harness.projects
    const mobileNumber = freshNumber()
    const accountId = await newCustomer({ mobileNumber })
    for (const role of roleNames) {
      const { customer } = await as(role, demo, () =>
        harness.customers.getCustomer({ projectId: demo, accountId }),
      )
      expect(customer).toMatchObject({
        accountId,
        nameMasked: 'E*** S***',
        mobileNumberMasked: `*******${mobileNumber.slice(-4)}`,
        emailMasked: 'e***@example.com',
        institutionName: 'Demo Wallet',
        accountStatus: AccountStatus.AVAILABLE,
        onboardingStatus: OnboardingStatus.COMPLETED,
        createdHere: true,
      })
      expect(customer?.accountNumberMasked).toMatch(/^\*{6}\d{4}$/)
      const wanted = { projectId: demo, lookupType: LookupType.MOBILE, lookupValue: mobileNumber }
      const listed = await as(role, demo, () => harness.customers.listCustomers(wanted))
      expect(listed.customers).toEqual([customer])
    }
  })

  it('what identifies a customer is for support, operators and administrators, with the balance', async () => {
    const { demo: projectId } = harness.projects
    const mobileNumber = freshNumber()
    const accountId = await newCustomer({ mobileNumber })
    const read = (role: Role) =>
      as(role, projectId, () => harness.customers.getPersonalData({ projectId, accountId }))
    for (const role of ['support', 'operator', 'administrator'] as const) {
      expect(await read(role)).toMatchObject({
        account: { firstName: 'Efua', lastName: 'Sutherland', mobileNumber },
        posted: { currency: 'USD', minorUnits: 0n },
        held: { currency: 'USD', minorUnits: 0n },
      })
    }
    for (const role of ['merchant_viewer', 'merchant_developer', 'finance'] as const) {
      await expect(read(role)).rejects.toMatchObject({ cause: { code: Code.PermissionDenied } })
    }
    const pending = await newCustomer({}, false)
    const { account, posted } = await as('support', projectId, () =>
      harness.customers.getPersonalData({ projectId, accountId: pending }),
    )
    expect([account?.firstName, account?.accountNumber, posted]).toEqual(['Efua', '', undefined])
  })

  it('a customer is seen by the projects with a grant on the institution, a profile by the one that created it', async () => {
    const { demo, other, stranger } = harness.projects
    const mobileNumber = freshNumber()
    const pending = await newCustomer({ mobileNumber }, false)
    const accepted = await newCustomer({ mobileNumber })
    expect((await get(demo, pending)).customer).toMatchObject({
      accountStatus: AccountStatus.PENDING_REVIEW,
      accountNumberMasked: '',
    })
    expect((await get(other, accepted)).customer).toMatchObject({ createdHere: false })
    expect(await find(other, LookupType.MOBILE, mobileNumber)).toEqual([accepted])
    expect(await find(stranger, LookupType.MOBILE, mobileNumber)).toEqual([])
    for (const [projectId, accountId] of [
      [other, pending],
      [stranger, accepted],
      [stranger, pending],
      [demo, randomUUID()],
    ] as const) {
      expect(await refusal(get(projectId, accountId))).toBe('ACCOUNT_NOT_FOUND')
      const personal = as('support', projectId, () =>
        harness.customers.getPersonalData({ projectId, accountId }),
      )
      expect(await refusal(personal)).toBe('ACCOUNT_NOT_FOUND')
    }
  })

  it('a person of one project names no other', async () => {
    const { demo, other } = harness.projects
    const accountId = await newCustomer()
    const calls: (() => Promise<unknown>)[] = [
      () => harness.customers.getCustomer({ projectId: demo, accountId }),
      () => harness.customers.listCustomers({ projectId: demo }),
    ]
    for (const call of calls) {
      await expect(as(viewer, other, call)).rejects.toMatchObject({
        cause: { code: Code.PermissionDenied },
      })
    }
  })
})

it('profiles that a project created are listed newest first, page after page', async () => {
  const { demo, other } = harness.projects
  const made = [await newCustomer(), await newCustomer({}, false), await newCustomer()]
  const list = async (projectId: string) => {
    const ids: string[] = []
    let pageToken = ''
    do {
      const wanted = { projectId, pageSize: 2, pageToken }
      const page = await as(viewer, projectId, () => harness.customers.listCustomers(wanted))
      ids.push(...page.customers.map(({ accountId }) => accountId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    return ids
  }
  const ids = await list(demo)
  expect(ids.slice(0, 3)).toEqual(made.toReversed())
  expect(new Set(ids).size).toBe(ids.length)
  expect(await list(other)).toEqual([])
  const foreign = { projectId: other, pageToken: made[2] ?? '' }
  const page = await as(viewer, other, () => harness.customers.listCustomers(foreign))
  expect(page.customers).toEqual([])
})
