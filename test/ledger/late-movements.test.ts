// Movements that complete after their holds have expired, and credits that no balance can take, on a real database.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Reason } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import { lateTransferId, requireHold } from '../../services/accounts/ledger/operations/hold.ts'
import { postTransfer, requireTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import {
  beginMovement,
  cancelMovement,
  completeMovement,
  type Movements,
  type NewMovement,
} from '../../services/accounts/ledger/operations/movement.ts'
import { checkLedger } from '../../services/accounts/ledger/workers/check.ts'
import { releaseExpiredHolds } from '../../services/accounts/ledger/workers/workers.ts'
import { silentLog } from '../support/database.ts'
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

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
  movements = { db, userLimits }
})
afterAll(() => harness.close())
beforeEach(async () => {
  shop = await newShop(db)
  accountId = await newAccount(db, shop, { amountMinor: 30_000n })
})

const clearing = { internal: 'clearing' } as const
const currency = 'TTD'

async function waiting(changes: Partial<NewMovement>): Promise<NewMovement> {
  return {
    ...shop,
    movementId: newId(),
    sessionTokenHash: await newSession(db, shop, accountId),
    limitUse: undefined,
    lines: [],
    hold: undefined,
    details: { reference: 'T-1', method: 'cashout' },
    ...changes,
  }
}

/** A movement with a hold of 200.00 that has expired; the worker of the ledger has released it or not. */
async function lapsed({ isReleased }: { isReleased: boolean }) {
  const expireTime = new Date(harness.clock.now().getTime() + 600_000)
  const amountMinor = 20_000n
  const limitUse = { accountId, currency, amountMinor }
  const wanted = await waiting({ limitUse, hold: { accountId, currency, amountMinor, expireTime } })
  await beginMovement(movements, wanted)
  harness.clock.advance(600_000)
  if (isReleased) await releaseExpiredHolds(db, silentLog)
  return wanted
}

/** Completes a movement with a payment to the outside. */
function complete({ projectId, movementId }: NewMovement, amountMinor = 20_000n) {
  const lines = moving({ accountId }, clearing, amountMinor)
  return completeMovement(movements, { projectId, movementId, lines })
}

/** Credits the account, or debits it by a negative amount. */
async function fund(amountMinor: bigint): Promise<void> {
  const lines = moving({ internal: 'opening' }, { accountId }, amountMinor)
  await postTransfer(db, { ...shop, transferId: newId(), lines })
}

async function used(): Promise<bigint[]> {
  const rows = await db.rows<{ used_minor: bigint }>(
    statement('select used_minor from limit_usage where account_id = $1 order by span'),
    [accountId],
  )
  return rows.map(({ used_minor }) => used_minor)
}

describe('a movement whose hold has expired', () => {
  it.each([true, false])(
    'a movement whose hold has expired is completed once, and a repeat answers the same (released before: %s)',
    async (isReleased) => {
      const wanted = await lapsed({ isReleased })
      const { projectId, movementId } = wanted
      const posted = await complete(wanted, 19_000n)
      expect(posted.repeated).toBe(false)
      expect(await complete(wanted, 19_000n)).toEqual({ ...posted, repeated: true })
      expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 11_000n, heldMinor: 0n })
      expect(await used()).toEqual([20_000n, 20_000n])
      expect(await requireHold(db, projectId, movementId)).toMatchObject({ state: 'expired' })
      const transfer = await requireTransfer(db, projectId, lateTransferId(movementId))
      const metadata = { movement_id: movementId }
      expect(transfer.details).toMatchObject({ reference: 'T-1', method: 'cashout', metadata })
      expect(transfer.postTime).toEqual(posted.postTime)
      await expect(complete(wanted, 18_000n)).rejects.toMatchObject({ reason: 'LEDGER_CONFLICT' })
      await expect(cancelMovement(movements, wanted)).rejects.toMatchObject({
        reason: 'HOLD_CLOSED',
      })
    },
  )

  it('a movement whose hold has expired waits until the account has enough', async () => {
    const wanted = await lapsed({ isReleased: true })
    // The holder spends what the expiry has released.
    await fund(-10_001n)
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(complete(wanted)).rejects.toMatchObject({ reason: 'INSUFFICIENT_FUNDS' })
      expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 19_999n, heldMinor: 0n })
    }
    await fund(1n)
    await complete(wanted)
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 0n, heldMinor: 0n })
  })

  it('a movement whose hold has expired is completed once by calls at the same time, while the hold is released', async () => {
    for (let round = 0; round < 5; round += 1) {
      const wanted = await lapsed({ isReleased: false })
      const before = await balanceOf(db, accountId)
      const answers = await Promise.all([
        ...Array.from({ length: 5 }, () => complete(wanted, 5n)),
        releaseExpiredHolds(db, silentLog).then(() => undefined),
      ])
      const posted = answers.filter((answer) => answer !== undefined)
      expect(posted.filter(({ repeated }) => !repeated)).toHaveLength(1)
      expect(new Set(posted.map(({ postTime }) => postTime.getTime())).size).toBe(1)
      const postedMinor = before.postedMinor - 5n
      expect(await balanceOf(db, accountId)).toEqual({ postedMinor, heldMinor: 0n })
    }
  })

  it('a movement whose hold has expired is completed or cancelled, not both', async () => {
    for (let round = 0; round < 5; round += 1) {
      const wanted = await lapsed({ isReleased: false })
      const before = await balanceOf(db, accountId)
      const [completed, given] = await Promise.allSettled([
        complete(wanted, 5n),
        cancelMovement(movements, wanted),
      ])
      expect([completed.status, given.status].toSorted()).toEqual(['fulfilled', 'rejected'])
      const moved = completed.status === 'fulfilled' ? 5n : 0n
      const { postedMinor } = await balanceOf(db, accountId)
      expect(before.postedMinor - postedMinor).toBe(moved)
    }
  })

  it('a movement whose hold has expired debits no other account and no more than the hold', async () => {
    const wanted = await lapsed({ isReleased: false })
    const { projectId, movementId } = wanted
    const other = await newAccount(db, shop, { amountMinor: 30_000n })
    const lines = moving({ accountId: other }, clearing, 20_000n)
    const elsewhere = completeMovement(movements, { projectId, movementId, lines })
    await expect(elsewhere).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
    await expect(complete(wanted, 20_001n)).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
    expect(await balanceOf(db, accountId)).toMatchObject({ postedMinor: 30_000n })
    await complete(wanted)
  })

  it('a movement whose hold has expired gives its limit back when it is cancelled', async () => {
    const wanted = await lapsed({ isReleased: false })
    await cancelMovement(movements, wanted)
    expect(await requireHold(db, shop.projectId, wanted.movementId)).toMatchObject({
      state: 'expired',
    })
    expect(await used()).toEqual([0n, 0n])
    await expect(complete(wanted)).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
  })
})

describe('a movement that will credit an account', () => {
  const maxMinor = 2n ** 63n - 1n

  it('a movement that will credit an account is refused when the balance cannot take it, and changes nothing', async () => {
    await fund(maxMinor - 30_001n)
    const credit = { accountId, currency, amountMinor: 2n }
    const wanted = await waiting({ credit })
    await expect(beginMovement(movements, wanted)).rejects.toMatchObject({
      reason: 'AMOUNT_OUT_OF_RANGE',
    })
    const { projectId, movementId } = wanted
    const lines = moving(clearing, { accountId }, 1n)
    const early = completeMovement(movements, { projectId, movementId, lines })
    await expect(early).rejects.toMatchObject({ reason: 'MOVEMENT_NOT_FOUND' })
    // Neither the id nor the token is used.
    await beginMovement(movements, { ...wanted, credit: { ...credit, amountMinor: 1n } })
    await completeMovement(movements, { projectId, movementId, lines })
    expect(await balanceOf(db, accountId)).toMatchObject({ postedMinor: maxMinor })
    await fund(-maxMinor)
  })

  it('a movement that will credit an account answers a repeat of the previous release, which does not name the account', async () => {
    const wanted = await waiting({ credit: { accountId, currency, amountMinor: 1n } })
    const { beginTime } = await beginMovement(movements, wanted)
    const { credit: _, ...rest } = wanted
    expect(await beginMovement(movements, rest)).toEqual({ beginTime, repeated: true })
  })

  it('a movement that will credit an account needs it to be available, in this currency, and no postings', async () => {
    const suspended = await newAccount(db, shop, {})
    await db.run(statement(`update account set status = 'suspended' where account_id = $1`), [
      suspended,
    ])
    const stranger = await newAccount(db, await newShop(db), {})
    const of = (named: string) => ({ accountId: named, currency, amountMinor: 1n })
    const refused: [Reason, Partial<NewMovement>][] = [
      ['ACCOUNT_UNAVAILABLE', { credit: of(suspended) }],
      ['LEDGER_ACCOUNT_NOT_FOUND', { credit: of(stranger) }],
      ['LEDGER_ACCOUNT_NOT_FOUND', { credit: { ...of(accountId), currency: 'USD' } }],
      ['INVALID_PARAMETER', { credit: { ...of(accountId), amountMinor: 0n } }],
      ['INVALID_PARAMETER', { credit: of(accountId), lines: moving(clearing, { accountId }, 1n) }],
    ]
    for (const [reason, changes] of refused) {
      const wanted = await waiting(changes)
      await expect(beginMovement(movements, wanted)).rejects.toMatchObject({ reason })
    }
  })
})

it('late movements keep the rules of the ledger', async () => {
  await cancelMovement(movements, await lapsed({ isReleased: false }))
  await complete(await lapsed({ isReleased: false }))
  expect(await checkLedger(db)).toMatchObject({ findings: [] })
})
