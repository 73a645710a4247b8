// Shows on a real database that token, limits and money of a movement change together, once, and in which order they refuse.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { newId, randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { readBalance, requireTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import {
  beginMovement,
  cancelMovement,
  completeMovement,
  type Movements,
  type NewMovement,
} from '../../services/accounts/ledger/operations/movement.ts'
import {
  balanceOf,
  type Harness,
  moving,
  newAccount,
  newSession,
  newShop,
  type Shop,
  startHarness,
  statement,
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
  accountId = await newAccount(db, shop, { amountMinor: 100_000n })
  token = await newSession(db, shop, accountId)
})

const clearing = { internal: 'clearing' } as const

function posting(changes: Partial<NewMovement> = {}): NewMovement {
  return {
    ...shop,
    movementId: newId(),
    sessionTokenHash: token,
    limitUse: { accountId, currency: 'TTD', amountMinor: 20_000n },
    lines: moving({ accountId }, clearing, 20_000n),
    hold: undefined,
    details: { reference: 'T-1', method: 'p2p' },
    ...changes,
  }
}

function holding(changes: Partial<NewMovement> = {}): NewMovement {
  const expireTime = new Date(harness.clock.now().getTime() + 600_000)
  const hold = { accountId, currency: 'TTD', amountMinor: 20_000n, expireTime }
  return posting({ lines: [], hold, ...changes })
}

const begin = (wanted: NewMovement) => beginMovement(movements, wanted)

const maxTries = 10

/** As a client does: 50 transactions wait for one row, and on a busy machine some wait for longer than a statement may take. */
async function beginDespiteTimeouts(wanted: NewMovement): ReturnType<typeof begin> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await begin(wanted)
    } catch (error) {
      const isTimeout = error instanceof Failure && error.reason === 'TIMEOUT'
      if (!isTimeout || tries === maxTries) throw error
    }
  }
}

async function isSpent(tokenHash = token): Promise<boolean> {
  const found = await db.row<{ spent: boolean }>(
    statement('select consumed_by is not null as spent from session where token_hash = $1'),
    [tokenHash],
  )
  return found?.spent ?? false
}

async function used(): Promise<bigint[]> {
  const rows = await db.rows<{ used_minor: bigint }>(
    statement('select used_minor from limit_usage where account_id = $1 order by span'),
    [accountId],
  )
  return rows.map(({ used_minor }) => used_minor)
}

async function expectUnchanged(movementId: string): Promise<void> {
  expect(await isSpent()).toBe(false)
  expect((await used()).filter((usedMinor) => usedMinor !== 0n)).toEqual([])
  expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 100_000n, heldMinor: 0n })
  const movement = { projectId: shop.projectId, movementId, lines: posting().lines }
  await expect(completeMovement(movements, movement)).rejects.toMatchObject({
    reason: 'MOVEMENT_NOT_FOUND',
  })
}

describe('a movement that posts at once', () => {
  it('a movement that posts at once spends the token, counts the limits and moves the money', async () => {
    const wanted = posting()
    expect(await begin(wanted)).toMatchObject({ repeated: false })
    expect(await isSpent()).toBe(true)
    expect(await used()).toEqual([20_000n, 20_000n])
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 80_000n, heldMinor: 0n })
    const transfer = await requireTransfer(db, shop.projectId, wanted.movementId)
    expect(transfer.details).toMatchObject({ reference: 'T-1', method: 'p2p' })
  })

  it('a movement that posts at once answers a repeat as before though its token is spent and has expired', async () => {
    const wanted = posting()
    const { beginTime } = await begin(wanted)
    harness.clock.advance(1_000_000)
    expect(await begin(wanted)).toEqual({ beginTime, repeated: true })
    await expect(begin({ ...wanted, details: {} })).rejects.toMatchObject({
      reason: 'LEDGER_CONFLICT',
    })
    const { projectId } = shop
    const { movementId, lines } = wanted
    const posted = await completeMovement(movements, { projectId, movementId, lines })
    expect(posted.repeated).toBe(true)
    await expect(cancelMovement(movements, { projectId, movementId })).rejects.toMatchObject({
      reason: 'HOLD_CLOSED',
    })
  })

  it('a movement that posts at once happens once for concurrent repeats', async () => {
    const wanted = posting()
    const answers = await Promise.all(Array.from({ length: 20 }, () => begin(wanted)))
    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1)
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 80_000n, heldMinor: 0n })
  })
})

describe('a token', () => {
  it('a token has one winner among 50 clients', async () => {
    for (let round = 0; round < 3; round += 1) {
      token = await newSession(db, shop, accountId)
      const amountMinor = 100n
      const limitUse = { accountId, currency: 'TTD', amountMinor }
      const lines = moving({ accountId }, clearing, amountMinor)
      const before = await balanceOf(db, accountId)
      const answers = await Promise.allSettled(
        Array.from({ length: 50 }, () => beginDespiteTimeouts(posting({ limitUse, lines }))),
      )
      const refused = answers.filter((answer) => answer.status === 'rejected')
      expect(refused).toHaveLength(49)
      for (const { reason } of refused) expect(reason).toMatchObject({ reason: 'SESSION_INVALID' })
      const after = await balanceOf(db, accountId)
      expect(before.postedMinor - after.postedMinor).toBe(amountMinor)
    }
  })

  it('a reusable token is not spent', async () => {
    token = await newSession(db, shop, accountId, { singleUse: false })
    await begin(posting())
    await begin(posting())
    expect(await isSpent()).toBe(false)
  })

  it('a token is not spent by a movement that comes at the end of its time or later', async () => {
    const { movementId } = posting()
    const late = posting({ movementId, beginBefore: new Date(Date.now() - 1) })
    await expect(begin(late)).rejects.toMatchObject({ reason: 'QUOTE_EXPIRED' })
    expect(await isSpent()).toBe(false)
    const inTime = { ...late, beginBefore: new Date(Date.now() + 30 * 86_400_000) }
    const { beginTime } = await begin(inTime)
    // What has begun is answered however late.
    expect(await begin(late)).toEqual({ beginTime, repeated: true })
  })

  it('a token that is unknown, bound elsewhere, spent or expired is refused', async () => {
    const elsewhere = await newShop(db)
    const foreign = await newSession(db, elsewhere, accountId)
    const short = await newSession(db, shop, accountId, { livesS: 1 })
    const reusable = await newSession(db, shop, accountId, { livesS: 1, singleUse: false })
    const wanted = posting()
    const invalid = { reason: 'SESSION_INVALID' }
    const expired = { reason: 'SESSION_EXPIRED' }
    await expect(begin(posting({ sessionTokenHash: randomBytes(32) }))).rejects.toMatchObject(
      invalid,
    )
    await expect(begin(posting({ sessionTokenHash: foreign }))).rejects.toMatchObject(invalid)
    const { institutionId } = elsewhere
    await expect(begin(posting({ institutionId }))).rejects.toMatchObject(invalid)
    harness.clock.advance(1_000)
    for (const sessionTokenHash of [short, reusable]) {
      await expect(begin(posting({ sessionTokenHash }))).rejects.toMatchObject(expired)
    }
    await expectUnchanged(wanted.movementId)
    await begin(wanted)
    await expect(begin(posting())).rejects.toMatchObject(invalid)
  })
})

describe('a refusal', () => {
  it('a movement is refused in the order token, accounts, limits, funds, and then changes nothing', async () => {
    const poor = posting({ lines: moving({ accountId }, clearing, 100_001n) })
    await expect(begin(poor)).rejects.toMatchObject({ reason: 'INSUFFICIENT_FUNDS' })
    const limitUse = { accountId, currency: 'TTD', amountMinor: 50_001n }
    await expect(begin({ ...poor, limitUse })).rejects.toMatchObject({
      reason: 'LIMIT_EXCEEDED',
      message: expect.stringContaining('User limits are exceeded'),
    })
    const closed = await newAccount(db, shop, {})
    await db.run(statement(`update account set status = 'closed' where account_id = $1`), [closed])
    const lines = moving({ accountId }, { accountId: closed }, 100_001n)
    const unavailable = { ...poor, limitUse, lines }
    await expect(begin(unavailable)).rejects.toMatchObject({ reason: 'ACCOUNT_UNAVAILABLE' })
    await expect(
      begin({ ...unavailable, sessionTokenHash: randomBytes(32) }),
    ).rejects.toMatchObject({ reason: 'SESSION_INVALID' })
    await expectUnchanged(poor.movementId)
    expect(
      (await readBalance(db, { address: clearing, ...shop, currency: 'TTD' })).postedMinor,
    ).toBe(0n)
  })

  it('a movement is refused for accounts that are unknown or of an institution without a grant', async () => {
    const stranger = await newAccount(db, await newShop(db), {})
    for (const other of [stranger, randomId()]) {
      const lines = moving({ accountId }, { accountId: other }, 1n)
      await expect(begin(posting({ lines }))).rejects.toMatchObject({
        reason: 'LEDGER_ACCOUNT_NOT_FOUND',
      })
    }
  })

  it('postings and holds are both refused, and limits in another currency too', async () => {
    const { hold } = holding()
    const limitUse = { accountId, currency: 'USD', amountMinor: 1n }
    for (const changes of [{ hold }, { limitUse }]) {
      await expect(begin(posting(changes))).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
    }
  })
})

describe('a movement that waits', () => {
  it('a waiting movement holds its money until it is completed, also for a smaller amount', async () => {
    const wanted = holding()
    const { projectId } = shop
    const { movementId } = wanted
    await begin(wanted)
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 100_000n, heldMinor: 20_000n })
    const lines = moving({ accountId }, clearing, 19_000n)
    const posted = await completeMovement(movements, { projectId, movementId, lines })
    expect(await completeMovement(movements, { projectId, movementId, lines })).toEqual({
      ...posted,
      repeated: true,
    })
    const other = moving({ accountId }, clearing, 18_000n)
    await expect(
      completeMovement(movements, { projectId, movementId, lines: other }),
    ).rejects.toMatchObject({ reason: 'LEDGER_CONFLICT' })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 81_000n, heldMinor: 0n })
    expect(await used()).toEqual([20_000n, 20_000n])
  })

  it('a pending movement without a hold posts money that comes from outside', async () => {
    const wanted = posting({ lines: [] })
    await begin(wanted)
    const lines = moving(clearing, { accountId }, 20_000n)
    const complete = () => completeMovement(movements, { ...wanted, lines })
    const posted = await complete()
    expect(await complete()).toEqual({ ...posted, repeated: true })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 120_000n, heldMinor: 0n })
  })

  it('a movement that waits gives money and limit back when it is cancelled, once, and the token stays spent', async () => {
    const wanted = holding()
    await begin(wanted)
    await Promise.all(Array.from({ length: 5 }, () => cancelMovement(movements, wanted)))
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 100_000n, heldMinor: 0n })
    expect(await used()).toEqual([0n, 0n])
    expect(await isSpent()).toBe(true)
    const complete = completeMovement(movements, { ...wanted, lines: posting().lines })
    await expect(complete).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
    await expect(begin(wanted)).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
  })

  it('a movement that waits can never begin once it was cancelled', async () => {
    const wanted = holding()
    await cancelMovement(movements, wanted)
    await cancelMovement(movements, wanted)
    await expect(begin(wanted)).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
    expect(await isSpent()).toBe(false)
  })

  it('a movement that waits ends in one way when it is completed and cancelled at once', async () => {
    token = await newSession(db, shop, accountId, { singleUse: false })
    for (let round = 0; round < 10; round += 1) {
      const before = await balanceOf(db, accountId)
      const wanted = holding({ limitUse: { accountId, currency: 'TTD', amountMinor: 1n } })
      await begin(wanted)
      const lines = moving({ accountId }, clearing, 5n)
      const [completed, given] = await Promise.allSettled([
        completeMovement(movements, { ...wanted, lines }),
        cancelMovement(movements, wanted),
      ])
      expect([completed.status, given.status].toSorted()).toEqual(['fulfilled', 'rejected'])
      const after = await balanceOf(db, accountId)
      const moved = completed.status === 'fulfilled' ? 5n : 0n
      expect(after).toEqual({ postedMinor: before.postedMinor - moved, heldMinor: 0n })
    }
  })
})
