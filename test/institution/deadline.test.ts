// Calls that are made for a transaction have the deadline of the call that asked for it.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { currentContext } from '#platform/rpc/context.ts'
import { type Harness, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

it('the movement of a transaction gets the remaining time of its caller', async () => {
  const { accounts, peers } = harness
  const ama = accounts.person()
  const order = harness.order(accounts.session(ama), ama, accounts.person())
  const { movements } = peers
  const begin = movements.beginMovement
  const deadlines: (number | undefined)[] = []
  movements.beginMovement = (...call) => {
    deadlines.push(currentContext()?.deadline)
    return begin(...call)
  }
  const sentMs = Date.now()
  await harness.institution.createTransaction(order, { timeoutMs: 40_000 })
  const answeredMs = Date.now()
  expect(deadlines).toHaveLength(1)
  expect(deadlines[0]).toBeGreaterThanOrEqual(sentMs + 20_000)
  expect(deadlines[0]).toBeLessThanOrEqual(answeredMs + 40_000)
})
