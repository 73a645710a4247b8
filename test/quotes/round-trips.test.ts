// Proves what a quote costs: calls to accounts, and round trips counted on the wire between quotes and PostgreSQL.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type CountingWire, countRoundTrips } from '../support/round-trips.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let wire: CountingWire
let harness: Harness
beforeAll(async () => {
  harness = await startHarness(async (target) => {
    wire = await countRoundTrips(target)
    return wire.url
  })
  // The first one pays for the connection and asks for the rate.
  await harness.quote()
})
afterAll(async () => {
  await harness.stop()
  await wire.close()
})
beforeEach(() => {
  harness.accounts.asked.sessions.length = 0
})

async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = wire.roundTrips()
  await work()
  return wire.roundTrips() - before
}

/** Calls to accounts; what checks limits by themselves counts too. */
function callsToAccounts(): number {
  return harness.accounts.asked.sessions.length + harness.accounts.asked.limits.length
}

it('a quote is one call and one round trip', async () => {
  expect(await cost(() => harness.quote({ creditParty: { mobileNumber: '+12025550105' } }))).toBe(1)
  expect(callsToAccounts()).toBe(1)
})

it('a quote above the limits is one call and no round trip', async () => {
  harness.accounts.state.limitMinor = 0n
  const refused = async () => expect(await refusal(harness.quote())).toBe('LIMIT_EXCEEDED')
  expect(await cost(refused)).toBe(0)
  expect(callsToAccounts()).toBe(1)
  harness.accounts.state.limitMinor = 2_500_000n
})

it('reading a quote is one round trip and no call', async () => {
  const { quoteId } = await harness.quote()
  harness.accounts.asked.sessions.length = 0
  expect(await cost(() => harness.get(quoteId))).toBe(1)
  expect(callsToAccounts()).toBe(0)
})
