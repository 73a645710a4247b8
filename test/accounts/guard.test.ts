// Shows that the tables let an account, a review and a challenge go where their machines say, and nowhere else.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isCheckViolation, sql } from '#platform/db/db.ts'
import {
  type AccountStatus,
  accountMachine,
} from '../../services/accounts/customers/domain/account.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
  // No worker may take what a test puts into the tables.
  await harness.engine.close()
})
afterAll(() => harness.stop())

const statuses = Object.keys(accountMachine) as AccountStatus[]

const insertAccount = sql(
  'test_insert_account',
  `insert into account
     (account_id, institution_id, account_number, mobile_number, email, email_folded, first_name,
      first_name_folded, last_name, last_name_folded, country, currency, status)
   select $1, institution_id, $3, '+12025550000', 'a@b.c', 'a@b.c', 'A', 'a',
     'B', 'b', 'US', 'USD', $2::account_status
   from institution where name = 'Demo Wallet'`,
)
const setStatus = sql(
  'test_move_account',
  'update account set status = $2::account_status where account_id = $1',
)

/** True when the table let it pass, false when the guard refused it. */
async function passes(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (isCheckViolation(error)) return false
    throw error
  }
}

describe('an account', () => {
  it.each(statuses)(
    'an account that is %s changes only as its state machine allows',
    async (from) => {
      const reached: string[] = []
      for (const to of statuses.filter((status) => status !== from)) {
        const accountId = randomUUID()
        await harness.db.run(insertAccount, [accountId, from, accountId.slice(0, 8)])
        if (await passes(harness.db.run(setStatus, [accountId, to]))) reached.push(to)
      }
      expect(reached.toSorted()).toEqual(Object.values(accountMachine[from]).toSorted())
    },
  )

  it('an available account has a number', async () => {
    const withoutNumber = sql(
      'test_take_number',
      "update account set account_number = null where account_number = '1000000100'",
    )
    expect(await passes(harness.db.run(withoutNumber, []))).toBe(false)
  })

  it('an account shares its number with no other of its institution', async () => {
    const repeatNumber = sql(
      'test_repeat_number',
      "update account set account_number = '1000000100' where account_number = '1000000101'",
    )
    await expect(harness.db.run(repeatNumber, [])).rejects.toThrow('account_number_once')
  })
})

describe('what has ended', () => {
  it('a review that has ended does not begin again, and keeps no token', async () => {
    const made = await harness.create({
      callbackUrl: 'https://client.example/hook',
      authorisationToken: 'client-token-0123456789',
    })
    const reviewId = await harness.reviewOf(made.account?.accountId)
    const outcome = { case: 'rejected' as const, value: { reason: '' } }
    await harness.reports.reportOnboarding({ reviewId, outcome })
    const changes = [
      "state = 'open', end_time = null",
      "state = 'completed'",
      "authorisation_token_sealed = 'x'",
    ]
    for (const [index, change] of changes.entries()) {
      const statement = sql(
        `test_reopen_${index}`,
        `update review set ${change} where review_id = $1`,
      )
      expect(await passes(harness.db.run(statement, [reviewId]))).toBe(false)
    }
  })

  it('a challenge that has ended does not begin again', async () => {
    const { challengeId } = await harness.accounts.registerAccount({
      projectId: harness.projects.demo,
      institutionName: 'Demo Wallet',
      mobileNumber: '+12025550100',
      firstName: 'Ama',
      lastName: 'Mensah',
      sessionToken: await harness.tokenOf('+12025550100'),
      authorisationToken: 'client-token-0123456789',
      callbackUrl: 'https://client.example/hook',
    })
    await harness.reports.reportConsent({ challengeId, answer: 2 })
    const reopened = sql(
      'test_reopen_challenge',
      `update challenge set state = 'open', end_time = null, authorisation_token_sealed = 'x'
       where challenge_id = $1`,
    )
    expect(await passes(harness.db.run(reopened, [challengeId]))).toBe(false)
    expect(await refusal(harness.reports.reportConsent({ challengeId, answer: 0 }))).toBe(
      'MISSING_PARAMETER answer',
    )
  })
})
