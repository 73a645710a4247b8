// Shows that random transfers, holds, voids, posts and reversals keep the rules of the ledger, one by one and all at once.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { createHold, postHold, voidHold } from '../../services/accounts/ledger/operations/hold.ts'
import {
  type Address,
  postTransfer,
  readBalance,
  reverseTransfer,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import {
  releaseExpiredHolds,
  rollUpInternal,
} from '../../services/accounts/ledger/workers/workers.ts'
import { silentLog, whenConnected } from '../support/database.ts'
import { balanceOf, type Harness, moving, newCustomer, startHarness, statement } from './harness.ts'

let harness: Harness
let db: Database

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
})
afterAll(() => harness.close())

const deadlockCount = statement(
  'select deadlocks from pg_stat_database where datname = current_database()',
)
const currency = 'TTD'
const holders = 4
const openingMinor = 1_000n

type Step =
  | { kind: 'move'; from: number; to: number; amount: number }
  | { kind: 'hold'; from: number; amount: number; livesS: number }
  | { kind: 'post'; hold: number; to: number; percent: number }
  | { kind: 'void'; hold: number }
  | { kind: 'reverse'; transfer: number }
  | { kind: 'wait'; seconds: number }
  | { kind: 'fold' }

const place = fc.nat({ max: holders + 1 })
const pick = fc.nat({ max: 9 })
const amount = fc.integer({ min: 1, max: 700 })
const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('move'), from: place, to: place, amount }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('hold'),
      from: fc.nat({ max: holders - 1 }),
      amount,
      livesS: fc.integer({ min: 5, max: 100 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('post'),
      hold: pick,
      to: place,
      percent: fc.integer({ min: 1, max: 110 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void'), hold: pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('reverse'), transfer: pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('wait'), seconds: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fold') }) },
)

type Made = {
  projectId: string
  addresses: Address[]
  holds: { holdId: string; from: Address; amountMinor: bigint }[]
  transfers: string[]
}

async function newLedger(): Promise<Made> {
  const projectId = newId()
  const addresses: Address[] = []
  for (let index = 0; index < holders - 1; index += 1) {
    addresses.push({ accountId: await newCustomer(db, { projectId, amountMinor: openingMinor }) })
  }
  const float = { floatProjectId: projectId }
  const lines = moving({ internal: 'opening' }, float, openingMinor)
  await postTransfer(db, { projectId, transferId: newId(), lines })
  addresses.push(float, { internal: 'clearing' }, { internal: 'fee_income' })
  return { projectId, addresses, holds: [], transfers: [] }
}

/** Does a step; what the ledger may refuse is no failure of the test. */
async function run(made: Made, step: Step): Promise<void> {
  try {
    await attempt(made, step)
  } catch (error) {
    if (!(error instanceof Failure) || !expected.has(error.reason)) throw error
  }
}

const expected = new Set<string>([
  'INSUFFICIENT_FUNDS',
  'INVALID_PARAMETER',
  'HOLD_CLOSED',
  'LEDGER_CONFLICT',
  'TRANSFER_REVERSED',
])

async function attempt(made: Made, step: Step): Promise<void> {
  const { projectId, addresses, holds, transfers } = made
  const at = (index: number): Address => addresses[index] ?? { internal: 'clearing' }
  switch (step.kind) {
    case 'move': {
      const transferId = newId()
      const lines = moving(at(step.from), at(step.to), BigInt(step.amount))
      await postTransfer(db, { projectId, transferId, lines })
      transfers.push(transferId)
      return
    }
    case 'hold': {
      const address = at(step.from)
      if ('internal' in address) return
      const holdId = newId()
      const amountMinor = BigInt(step.amount)
      const expireTime = new Date(harness.clock.now().getTime() + step.livesS * 1_000)
      await createHold(db, { projectId, holdId, address, currency, amountMinor, expireTime })
      holds.push({ holdId, from: address, amountMinor })
      return
    }
    case 'post': {
      const hold = holds[step.hold % (holds.length || 1)]
      if (hold === undefined) return
      const { holdId, from, amountMinor } = hold
      const part = (amountMinor * BigInt(step.percent)) / 100n
      const lines = moving(from, at(step.to), part || 1n)
      await postHold(db, { projectId, holdId, lines })
      transfers.push(holdId)
      return
    }
    case 'void': {
      const hold = holds[step.hold % (holds.length || 1)]
      if (hold !== undefined) await voidHold(db, projectId, hold.holdId)
      return
    }
    case 'reverse': {
      const reversesId = transfers[step.transfer % (transfers.length || 1)]
      if (reversesId === undefined) return
      await reverseTransfer(db, { projectId, transferId: newId(), reversesId, description: '' })
      return
    }
    case 'wait':
      harness.clock.advance(step.seconds * 1_000)
      await releaseExpiredHolds(db, silentLog)
      return
    case 'fold':
      await rollUpInternal(db, 7)
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Failure ? error.reason : String(error)
}

/** Every account of a ledger sums to what came in, and none is below zero. */
async function expectWhole({ projectId, addresses }: Made): Promise<void> {
  const balances = await Promise.all(
    addresses.map((address) => readBalance(db, { address, projectId, currency })),
  )
  const sum = balances.reduce((all, { postedMinor }) => all + postedMinor, 0n)
  expect(sum).toBe(openingMinor * BigInt(holders))
  for (const { postedMinor, heldMinor } of balances.slice(0, holders)) {
    expect(heldMinor).toBeGreaterThanOrEqual(0n)
    expect(postedMinor).toBeGreaterThanOrEqual(heldMinor)
  }
  expect((await checkLedger(db)).findings).toEqual([])
}

describe('any history', () => {
  it('any history keeps the rules of the ledger when its steps come one by one', async () => {
    const steps = fc.array(stepArbitrary, { minLength: 5, maxLength: 40 })
    const property = fc.asyncProperty(steps, async (history) => {
      const made = await newLedger()
      for (const step of history) await run(made, step)
      await expectWhole(made)
    })
    await fc.assert(property, { numRuns: 25 })
  }, 60_000)

  it('any history keeps the rules of the ledger when its steps come all at once', async () => {
    const steps = fc.array(stepArbitrary, { minLength: 20, maxLength: 60 })
    const property = fc.asyncProperty(steps, steps, async (first, second) => {
      const made = await newLedger()
      await Promise.all(first.map((step) => run(made, step)))
      await Promise.all(second.map((step) => run(made, step)))
      await expectWhole(made)
    })
    await fc.assert(property, { numRuns: 12 })
  }, 60_000)
})

describe('40 writers', () => {
  it('40 concurrent writers do not overdraw an account that they share, and lose nothing', async () => {
    const projectId = newId()
    const shared = await newCustomer(db, { projectId, amountMinor: 10_000n })
    const others = await Promise.all(
      Array.from({ length: 5 }, () => newCustomer(db, { projectId, amountMinor: 500n })),
    )
    const writes = Array.from({ length: 40 }, async (_, index) => {
      const accountId = others[index % others.length] ?? shared
      const outcomes: string[] = []
      for (let round = 0; round < 25; round += 1) {
        const lines = moving({ accountId: shared }, { accountId }, 13n)
        const transfer = { projectId, transferId: newId(), lines }
        const posted = whenConnected(() => postTransfer(db, transfer))
        const outcome = posted.then(() => 'posted', reasonOf)
        outcomes.push(await outcome)
      }
      return outcomes
    })
    const outcomes = (await Promise.all(writes)).flat()
    const count = (wanted: string): number => outcomes.filter((one) => one === wanted).length
    // 769 times 13 is 9,997 of 10,000.
    expect([count('posted'), count('INSUFFICIENT_FUNDS')]).toEqual([769, 231])
    expect(await balanceOf(db, shared)).toEqual({ postedMinor: 3n, heldMinor: 0n })
    expect((await checkLedger(db)).findings).toEqual([])
  }, 60_000)

  it('40 concurrent writers move money in circles without a deadlock', async () => {
    const projectId = newId()
    const accounts = await Promise.all(
      Array.from({ length: 6 }, () => newCustomer(db, { projectId, amountMinor: 1_000n })),
    )
    const at = (index: number) => ({ accountId: accounts[index % accounts.length] ?? '' })
    const writer = async (_: unknown, index: number): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        const lines = [
          ...moving(at(index + round), at(index + 2 * round + 1), 1n),
          ...moving(at(index + 3), at(index), 1n),
        ]
        await postTransfer(db, { projectId, transferId: newId(), lines })
      }
    }
    await Promise.all(Array.from({ length: 40 }, writer))
    const balances = await Promise.all(accounts.map((accountId) => balanceOf(db, accountId)))
    expect(balances.reduce((sum, { postedMinor }) => sum + postedMinor, 0n)).toBe(6_000n)
    const deadlocks = await db.row<{ deadlocks: bigint }>(deadlockCount, [])
    expect(deadlocks?.deadlocks).toBe(0n)
  }, 60_000)
})
