// Tests on a real database that a hold reserves money and ends in exactly one way.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { Database, Queryable } from '#platform/db/db.ts'
import {
  createHold,
  postHold,
  requireHold,
  voidHold,
} from '../../services/accounts/ledger/operations/hold.ts'
import {
  listAccountPostings,
  postTransfer,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { releaseExpiredHolds } from '../../services/accounts/ledger/workers/workers.ts'
import { silentLog } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { balanceOf, type Harness, moving, newCustomer, startHarness, statement } from './harness.ts'

let harness: Harness
let db: Database

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
})
afterAll(() => harness.close())

const waitingNow = statement(
  `select from pg_locks join pg_stat_activity using (pid)
   where datname = current_database() and not granted`,
)
const clearing = { internal: 'clearing' } as const
const inAnHour = (): Date => new Date(harness.clock.now().getTime() + 3_600_000)

async function held(amountMinor: bigint, balanceMinor = 1_000n, feeMinor = 0n) {
  const projectId = newId()
  const accountId = await newCustomer(db, { projectId, amountMinor: balanceMinor })
  const address = { accountId }
  const wanted = { projectId, holdId: newId(), address, currency: 'TTD', amountMinor, feeMinor }
  const made = await createHold(db, { ...wanted, expireTime: inAnHour() })
  return { ...wanted, accountId, made }
}

describe('a hold', () => {
  it('a hold reserves money against all other debits, and a repeat returns the first result', async () => {
    const { made, accountId, ...wanted } = await held(700n)
    const { projectId } = wanted
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 1_000n, heldMinor: 700n })
    const lines = moving({ accountId }, clearing, 301n)
    await expect(postTransfer(db, { projectId, transferId: newId(), lines })).rejects.toMatchObject(
      {
        reason: 'INSUFFICIENT_FUNDS',
      },
    )
    const expireTime = new Date(inAnHour().getTime() + 60_000)
    expect(await createHold(db, { ...wanted, expireTime })).toEqual({ ...made, repeated: true })
    const other = { ...wanted, expireTime, amountMinor: 701n }
    await expect(createHold(db, other)).rejects.toMatchObject({ reason: 'LEDGER_CONFLICT' })
    const tooMuch = { ...wanted, expireTime, holdId: newId(), amountMinor: 301n }
    await expect(createHold(db, tooMuch)).rejects.toMatchObject({ reason: 'INSUFFICIENT_FUNDS' })
  })

  it('a hold becomes a transfer of the same UUID, and the unused amount is released', async () => {
    const { projectId, holdId, accountId } = await held(700n)
    const lines = moving({ accountId }, clearing, 450n)
    const posted = await postHold(db, { projectId, holdId, lines })
    expect(await postHold(db, { projectId, holdId, lines })).toEqual({ ...posted, repeated: true })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 550n, heldMinor: 0n })
    const other = moving({ accountId }, clearing, 449n)
    await expect(postHold(db, { projectId, holdId, lines: other })).rejects.toMatchObject({
      reason: 'LEDGER_CONFLICT',
    })
    await expect(voidHold(db, projectId, holdId)).rejects.toMatchObject({ reason: 'HOLD_CLOSED' })
  })

  it('a hold is not posted for more than its amount, nor to debit somebody else', async () => {
    const { projectId, holdId, accountId } = await held(700n)
    const stranger = await newCustomer(db, { projectId, amountMinor: 1_000n })
    for (const lines of [
      moving({ accountId }, clearing, 701n),
      moving({ accountId: stranger }, clearing, 1n),
      moving(clearing, { accountId }, 1n),
    ]) {
      await expect(postHold(db, { projectId, holdId, lines })).rejects.toMatchObject({
        reason: 'INVALID_PARAMETER',
      })
    }
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 1_000n, heldMinor: 700n })
  })

  it('a hold is released once, and cannot be posted then', async () => {
    const { projectId, holdId, accountId } = await held(700n)
    expect(await voidHold(db, projectId, holdId)).toMatchObject({ state: 'voided' })
    expect(await voidHold(db, projectId, holdId)).toMatchObject({ state: 'voided' })
    const lines = moving({ accountId }, clearing, 1n)
    await expect(postHold(db, { projectId, holdId, lines })).rejects.toMatchObject({
      reason: 'HOLD_CLOSED',
    })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 1_000n, heldMinor: 0n })
  })

  it('a hold is of one project and unknown to every other', async () => {
    const { holdId, accountId } = await held(1n)
    const projectId = newId()
    const lines = moving({ accountId }, clearing, 1n)
    const refused = { reason: 'HOLD_NOT_FOUND' }
    await expect(postHold(db, { projectId, holdId, lines })).rejects.toMatchObject(refused)
    await expect(voidHold(db, projectId, holdId)).rejects.toMatchObject(refused)
  })

  it('a hold shares no UUID with a transfer', async () => {
    const { made: _, accountId, ...wanted } = await held(10n)
    const { projectId, holdId } = wanted
    const lines = moving({ accountId }, clearing, 10n)
    const taken = { reason: 'LEDGER_CONFLICT' }
    await expect(postTransfer(db, { projectId, transferId: holdId, lines })).rejects.toMatchObject(
      taken,
    )
    const transferId = newId()
    await postTransfer(db, { projectId, transferId, lines })
    const same = { ...wanted, holdId: transferId, expireTime: inAnHour() }
    await expect(createHold(db, same)).rejects.toMatchObject(taken)
  })

  it.each([
    ['of the same account', true],
    ['of other accounts', false],
  ])(
    'a hold and a transfer %s never share a UUID, even if they are made at once',
    async (_, isSame) => {
      const projectId = newId()
      const [accountId, other] = [
        await newCustomer(db, { projectId, amountMinor: 1_000n }),
        await newCustomer(db, { projectId, amountMinor: 1_000n }),
      ]
      const place = (q: Queryable, holdId: string) => {
        const wanted = {
          projectId,
          holdId,
          address: { accountId },
          currency: 'TTD',
          amountMinor: 1n,
        }
        return createHold(q, { ...wanted, expireTime: inAnHour() })
      }
      const lines = moving({ accountId: isSame ? accountId : other }, clearing, 1n)
      const post = (q: Queryable, transferId: string) =>
        postTransfer(q, { projectId, transferId, lines })
      for (const [first, second] of [
        [place, post],
        [post, place],
      ] as const) {
        const id = newId()
        const waiting = await db.transaction(async (tx) => {
          await first(tx, id)
          const ended = second(db, id).then(
            () => 'written',
            (error: unknown) => (error as Failure).reason,
          )
          const waits = eventually(async () =>
            expect(await db.rows(waitingNow, [])).toHaveLength(1),
          )
          await Promise.race([ended, waits])
          return { ended }
        })
        expect(await waiting.ended).toBe('LEDGER_CONFLICT')
      }
    },
  )

  it('a hold waits in the history of the account until it is posted', async () => {
    const { projectId, holdId, accountId } = await held(700n, 1_000n, 20n)
    const window = { accountId, startUs: 0n, endUs: undefined, limit: 10 }
    expect((await listAccountPostings(db, window)).postings[0]).toMatchObject({
      transferId: holdId,
      amountMinor: -700n,
      feeMinor: 20n,
      cleared: false,
    })
    await postHold(db, { projectId, holdId, lines: moving({ accountId }, clearing, 600n) })
    const { postings } = await listAccountPostings(db, window)
    expect(postings.map(({ amountMinor }) => amountMinor)).toEqual([-600n, 1_000n])
  })
})

describe('the fees of a hold', () => {
  it.each([-1n, 701n])('the fees of a hold of 700 cannot be %i', async (feeMinor) => {
    const wanted = held(700n, 1_000n, feeMinor)
    await expect(wanted).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  })
})

describe('an expired hold', () => {
  it('an expired hold is not posted, and a worker releases its money', async () => {
    const { made: _, accountId, ...wanted } = await held(700n)
    const { projectId, holdId } = wanted
    const other = await held(5n)
    await voidHold(db, other.projectId, other.holdId)
    harness.clock.advance(3_600_000)
    const lines = moving({ accountId }, clearing, 1n)
    await expect(postHold(db, { projectId, holdId, lines })).rejects.toMatchObject({
      reason: 'HOLD_CLOSED',
      message: expect.stringContaining('has expired'),
    })
    await releaseExpiredHolds(db, silentLog)
    expect(await requireHold(db, projectId, holdId)).toMatchObject({ state: 'expired' })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 1_000n, heldMinor: 0n })
    expect(await voidHold(db, projectId, holdId)).toMatchObject({ state: 'expired' })
    const late = {
      ...wanted,
      holdId: newId(),
      expireTime: new Date(harness.clock.now().getTime() - 1),
    }
    await expect(createHold(db, late)).rejects.toMatchObject({ reason: 'INVALID_PARAMETER' })
  })

  it('a hold ends in one way when it is posted, voided and expired concurrently', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { projectId, holdId, accountId } = await held(700n)
      const lines = moving({ accountId }, clearing, 650n)
      // The posts and the first void come before the end of its time, the worker after it.
      harness.clock.advance(round % 2 === 0 ? 0 : 3_599_990)
      const answers = await Promise.allSettled([
        ...Array.from({ length: 4 }, () => postHold(db, { projectId, holdId, lines })),
        ...Array.from({ length: 3 }, () => voidHold(db, projectId, holdId)),
        releaseExpiredHolds(db, silentLog),
      ])
      const posts = answers.slice(0, 4).filter(({ status }) => status === 'fulfilled').length
      const voids = answers.slice(4, 7).filter(({ status }) => status === 'fulfilled').length
      const { state } = await requireHold(db, projectId, holdId)
      expect(state).not.toBe('open')
      const wasPosted = state === 'posted'
      expect([posts > 0, voids > 0]).toEqual([wasPosted, !wasPosted])
      expect(await balanceOf(db, accountId)).toEqual({
        postedMinor: wasPosted ? 350n : 1_000n,
        heldMinor: 0n,
      })
    }
  })
})
