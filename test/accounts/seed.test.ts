// Tests that the sandbox's people are seeded exactly once, also on later runs, and never in production.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { seedSandbox } from '../../deploy/local/seed/accounts.ts'
import { people } from '../../deploy/local/seed/people.ts'
import { postTransfer, readBalance } from '../../services/accounts/ledger/operations/ledger.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const seedAgain = (environment: 'local' | 'production') =>
  seedSandbox(harness.db, harness.secrets, harness.credentials, environment)

describe('the seed', () => {
  it('the seed gives each person a unique account number', async () => {
    expect(new Set(people.map(({ accountNumber }) => accountNumber)).size).toBe(people.length)
    for (const { accountNumber, firstName } of people) {
      const { account } = await harness.open({
        lookupType: LookupType.ACCOUNT_NUMBER,
        lookupValue: accountNumber,
      })
      expect(account).toMatchObject({ firstName, accountNumber })
    }
  })

  it('the seed gives the demo project a float of a million in two currencies, and no other project', async () => {
    const { demo, other } = harness.projects
    for (const [projectId, postedMinor] of [
      [demo, 100_000_000n],
      [other, 0n],
    ] as const) {
      for (const currency of ['USD', 'TTD']) {
        const address = { floatProjectId: projectId }
        expect(await readBalance(harness.db, { address, currency })).toMatchObject({ postedMinor })
      }
    }
  })

  it('the seed run again leaves every balance as it has become', async () => {
    const { account } = await harness.open({
      lookupType: LookupType.MOBILE,
      lookupValue: '+12025550100',
    })
    const address = { accountId: account?.accountId ?? '' }
    const lines = [
      { address, currency: 'USD', amountMinor: -400n },
      { address: { internal: 'clearing' as const }, currency: 'USD', amountMinor: 400n },
    ]
    const projectId = harness.projects.demo
    await harness.db.transaction((tx) =>
      postTransfer(tx, { projectId, transferId: randomUUID(), lines }),
    )
    await seedAgain('local')
    await seedAgain('local')
    const { postedMinor } = await readBalance(harness.db, { address, currency: 'USD' })
    expect(postedMinor).toBe(999_600n)
  })

  it('the seed is refused in production', async () => {
    await expect(seedAgain('production')).rejects.toThrow('production')
  })
})
