// Shows on a real database that user limits hold for one movement, a UTC day and a UTC month, also under a race.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { businessTime } from '#platform/testing/business-time.ts'
import {
  beginMovement,
  cancelMovement,
  checkLimits,
  type Movements,
} from '../../services/accounts/ledger/operations/movement.ts'
import {
  type Harness,
  newAccount,
  newSession,
  newShop,
  type Shop,
  startHarness,
  userLimits,
} from './harness.ts'

let harness: Harness
let db: Database
let movements: Movements
let shop: Shop
let accountId: string
let token: Buffer

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
  movements = { db, userLimits }
})
afterAll(() => harness.close())
beforeEach(async () => {
  shop = await newShop(db)
  await useLevel(0)
})

async function useLevel(level: number): Promise<void> {
  accountId = await newAccount(db, shop, { level })
  const livesS = 100 * 86_400
  token = await newSession(db, shop, accountId, { singleUse: false, livesS })
}

const refused = { reason: 'LIMIT_EXCEEDED' }
const dayMs = 86_400_000

/** Counts an amount and answers the movement that did. */
async function use(amountMinor: bigint): Promise<string> {
  const movementId = newId()
  const limitUse = { accountId, currency: 'TTD', amountMinor }
  await beginMovement(movements, {
    ...shop,
    movementId,
    sessionTokenHash: token,
    limitUse,
    lines: [],
    hold: undefined,
  })
  return movementId
}

const check = (amountMinor: bigint) =>
  checkLimits(movements, shop.projectId, { accountId, currency: 'TTD', amountMinor })

/** Moves the clock to some milliseconds before a UTC midnight: the next one, or the next that begins a month. */
function goBefore(span: 'day' | 'month', ms: number): void {
  const nowMs = harness.clock.now().getTime()
  const later = new Date(nowMs + ms)
  const [year, month, day] = [later.getUTCFullYear(), later.getUTCMonth(), later.getUTCDate()]
  const endMs = span === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)
  harness.clock.advance(endMs - ms - nowMs)
}

describe('limits', () => {
  it.each([
    [0, 50_000n],
    [1, 500_000n],
    [2, 2_500_000n],
  ])('limits of level %i hold for one movement', async (level, maxMinor) => {
    await useLevel(level)
    await expect(use(maxMinor + 1n)).rejects.toMatchObject(refused)
    await expect(check(maxMinor + 1n)).rejects.toMatchObject(refused)
    await check(maxMinor)
    await use(maxMinor)
  })

  it('limits hold for the largest amount that there is', async () => {
    await expect(use(2n ** 63n - 1n)).rejects.toMatchObject(refused)
    await expect(check(2n ** 63n - 1n)).rejects.toMatchObject(refused)
  })

  it('limits hold for a UTC day by the clock of the database', async () => {
    goBefore('day', 3_600_000)
    await use(50_000n)
    await use(50_000n)
    await expect(use(1n)).rejects.toMatchObject(refused)
    await expect(check(1n)).rejects.toMatchObject(refused)
    harness.clock.advance(1_800_000)
    await expect(use(1n)).rejects.toMatchObject(refused)
    harness.clock.advance(1_800_000)
    await check(50_000n)
    await use(50_000n)
  })

  it('limits hold for a UTC month', async () => {
    goBefore('month', 12 * dayMs)
    for (let day = 0; day < 5; day += 1) {
      await use(50_000n)
      await use(50_000n)
      harness.clock.advance(dayMs)
    }
    await expect(use(1n)).rejects.toMatchObject(refused)
    await expect(check(1n)).rejects.toMatchObject(refused)
    goBefore('month', -1)
    await use(50_000n)
  })

  it('limits get an amount back in the day and month in which it was counted', async () => {
    goBefore('day', 60_000)
    const yesterday = await use(50_000n)
    await use(50_000n)
    harness.clock.advance(120_000)
    await use(50_000n)
    const { projectId } = shop
    await cancelMovement(movements, { projectId, movementId: yesterday })
    await use(50_000n)
    await expect(use(1n)).rejects.toMatchObject(refused)
  })

  it('limits stay in real days and months when the test clock of a sandbox moves', async () => {
    goBefore('month', 86_400_000)
    const earlier = await use(50_000n)
    await use(50_000n)
    await businessTime({ db }).advanceClock({ aheadMs: BigInt(40 * dayMs) })
    await expect(use(1n)).rejects.toMatchObject(refused)
    await expect(check(1n)).rejects.toMatchObject(refused)
    await cancelMovement(movements, { projectId: shop.projectId, movementId: earlier })
    await use(50_000n)
    await expect(use(1n)).rejects.toMatchObject(refused)
    harness.clock.advance(dayMs)
    await use(50_000n)
  })

  it('limits hold under a race', async () => {
    const answers = await Promise.allSettled(Array.from({ length: 30 }, () => use(7_000n)))
    // 14 times 70 is 980 of 1,000.
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(14)
    const refusals = answers.filter((answer) => answer.status === 'rejected')
    for (const { reason } of refusals) expect(reason).toMatchObject(refused)
  })

  it('limits of an account that the project cannot see are refused as not found', async () => {
    const other = await newShop(db)
    const amountMinor = 1n
    const unknown = { reason: 'LEDGER_ACCOUNT_NOT_FOUND' }
    const asked = { accountId, currency: 'TTD', amountMinor }
    await expect(checkLimits(movements, other.projectId, asked)).rejects.toMatchObject(unknown)
    const nobody = { ...asked, accountId: randomId() }
    await expect(checkLimits(movements, shop.projectId, nobody)).rejects.toMatchObject(unknown)
  })
})
