// Tests how a holder is asked for consent and how their answer, or the lack of one, reaches the client.
import { randomUUID } from 'node:crypto'
import { timestampMs } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  OnboardingKind,
  RegistrationStatus,
} from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { sql } from '#platform/db/db.ts'
import { eventually } from '../support/eventually.ts'
import { type Harness, refusal, settings, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const authorisationToken = 'client-token-0123456789'
const ama = { mobileNumber: '+12025550100', firstName: 'ama', lastName: 'MENSAH' }

async function request(more: object = {}) {
  return {
    projectId: harness.projects.demo,
    requestId: randomUUID(),
    institutionName: 'Demo Wallet',
    ...ama,
    mobileNumberAsSent: '202 555 0100',
    sessionToken: await harness.tokenOf('+12025550100'),
    authorisationToken,
    callbackUrl: 'https://client.example/hook',
    ...more,
  }
}

const register = async (more: object = {}) => harness.accounts.registerAccount(await request(more))

/** The callbacks about Ama, as what the holder said. */
const statuses = async (requestId: string) => {
  const { account } = await harness.accounts.getAccountBalance({
    projectId: harness.projects.demo,
    mobileNumber: ama.mobileNumber,
  })
  const events = await harness.eventsOf(account?.accountId)
  return events
    .filter((event) => event.requestId === requestId)
    .map(({ requestStatus }) => requestStatus)
}

const answer = (challengeId: string, said = RegistrationStatus.APPROVED) =>
  harness.reports.reportConsent({ challengeId, answer: said })

describe('a registration', () => {
  it('a registration challenges the holder, by the name of the project', async () => {
    const beforeMs = harness.testClock.now().getTime()
    const { challengeId, expireTime } = await register()
    const afterMs = harness.testClock.now().getTime()
    const asked = await eventually(
      () => harness.backend.asked.find((one) => one.challengeId === challengeId) ?? false,
    )
    expect(asked).toMatchObject({
      institutionName: 'Demo Wallet',
      mobileNumber: '+12025550100',
      clientName: 'demo',
      expireTime,
    })
    const begunMs = timestampMs(expireTime ?? asked.expireTime!) - settings.challengeTtlS * 1_000
    expect(begunMs).toBeGreaterThan(beforeMs - 2_000)
    expect(begunMs).toBeLessThan(afterMs + 2_000)
  })

  it('a registration is refused unless the token is a live session of that very account', async () => {
    const other = await harness.tokenOf('+12025550101')
    const wrong = [
      { sessionToken: other },
      { sessionToken: 'pws_nonsense' },
      { mobileNumber: '+12025550101' },
      { firstName: 'Kofi' },
      { lastName: 'Boateng' },
      { institutionName: 'Restricted Bank' },
      { projectId: harness.projects.other },
      { projectId: harness.projects.stranger },
    ]
    for (const more of wrong) expect(await refusal(register(more))).toBe('SESSION_INVALID')
  })

  it('a registration is refused with a spent or an expired session', async () => {
    const spent = await request()
    await harness.db.run(
      sql(
        'test_spend_newest',
        `update session set consumed_by = $1, consume_time = clock_now()
         where session_id = (select session_id from session order by create_time desc limit 1)`,
      ),
      [randomUUID()],
    )
    expect(await refusal(harness.accounts.registerAccount(spent))).toBe('SESSION_INVALID')
    const expired = await request()
    harness.testClock.advance(settings.sessionTtlS * 1_000 + 1_000)
    expect(await refusal(harness.accounts.registerAccount(expired))).toBe('SESSION_EXPIRED')
  })

  it('a registration is refused when the account was suspended meanwhile', async () => {
    const setStatus = sql(
      'test_set_status',
      `update account set status = $1::account_status where mobile_number = '+12025550100'`,
    )
    const wanted = await request()
    await harness.db.run(setStatus, ['suspended'])
    expect(await refusal(harness.accounts.registerAccount(wanted))).toBe('ACCOUNT_UNAVAILABLE')
    await harness.db.run(setStatus, ['available'])
    expect((await harness.accounts.registerAccount(wanted)).challengeId).toBeDefined()
  })

  it('a registration is refused when something in it cannot be', async () => {
    const wrong: [object, string][] = [
      [{ mobileNumber: '100' }, 'INVALID_PARAMETER mobile_number'],
      [{ firstName: '' }, 'MISSING_PARAMETER first_name'],
      [{ callbackUrl: '' }, 'MISSING_PARAMETER callback_url'],
      [{ callbackUrl: 'https://127.0.0.1/' }, 'INVALID_PARAMETER callback_url'],
      [{ authorisationToken: 'x'.repeat(41) }, 'INVALID_PARAMETER authorisation_token'],
      [{ requestId: 'x' }, 'INVALID_PARAMETER request_id'],
    ]
    for (const [more, reason] of wrong) expect(await refusal(register(more))).toBe(reason)
  })
})

describe("a holder's answer", () => {
  it("a holder's answer reaches the client once; the first one stands", async () => {
    const requestId = randomUUID()
    const { challengeId } = await register({ requestId })
    await answer(challengeId)
    await answer(challengeId)
    await answer(challengeId, RegistrationStatus.REJECTED)
    expect(await statuses(requestId)).toEqual([RegistrationStatus.APPROVED])
  })

  it("a holder's answer is taken from the back end alone, not from another connector", async () => {
    const requestId = randomUUID()
    const { challengeId } = await register({ requestId })
    const approved = { challengeId, answer: RegistrationStatus.APPROVED }
    expect(await refusal(harness.otherReports.reportConsent(approved))).toBe('REVIEW_NOT_FOUND')
    await answer(challengeId, RegistrationStatus.REJECTED)
    expect(await statuses(requestId)).toEqual([RegistrationStatus.REJECTED])
  })

  it("a holder's answer comes with the number as it was sent, and the token is forgotten", async () => {
    const requestId = randomUUID()
    const { challengeId } = await register({ requestId })
    await answer(challengeId, RegistrationStatus.REJECTED)
    const row = await harness.db.row<{ sealed: string | null; text: string }>(
      sql(
        'test_challenge_text',
        `select authorisation_token_sealed as sealed, challenge::text as text from challenge
         where challenge_id = $1`,
      ),
      [challengeId],
    )
    expect(row?.sealed).toBeNull()
    expect(row?.text).not.toContain(authorisationToken)
    const { account } = await harness.open({ lookupType: 1, lookupValue: ama.mobileNumber })
    const events = await harness.eventsOf(account?.accountId)
    expect(events.find((event) => event.requestId === requestId)).toMatchObject({
      kind: OnboardingKind.REGISTRATION,
      account: { mobileNumber: '202 555 0100' },
      requestStatus: RegistrationStatus.REJECTED,
    })
  })

  it('a missing answer counts as a refusal after the deadline, and a later answer is ignored', async () => {
    const requestId = randomUUID()
    const { challengeId } = await register({ requestId })
    harness.testClock.advance(settings.challengeTtlS * 1_000)
    await eventually(async () => expect((await statuses(requestId)).length).toBeGreaterThan(0))
    await answer(challengeId)
    expect(await statuses(requestId)).toEqual([RegistrationStatus.REJECTED])
  })

  it("a holder's answer to an unknown challenge, or one that says nothing, is refused", async () => {
    const { challengeId } = await register()
    expect(await refusal(answer(randomUUID()))).toBe('REVIEW_NOT_FOUND')
    expect(await refusal(answer(''))).toBe('MISSING_PARAMETER challenge_id')
    expect(await refusal(answer('x'))).toBe('INVALID_PARAMETER challenge_id')
    const silent = answer(challengeId, RegistrationStatus.UNSPECIFIED)
    expect(await refusal(silent)).toBe('MISSING_PARAMETER answer')
  })
})
