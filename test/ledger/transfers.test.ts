// Shows on a real database what a transfer does, what it refuses, and that it happens once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId, randomId } from '#core/identity/id.ts'
import type { Database } from '#platform/db/db.ts'
import {
  listAccountPostings,
  postTransfer,
  readBalance,
  requireTransfer,
  reverseTransfer,
} from '../../services/accounts/ledger/operations/ledger.ts'
import { balanceOf, type Harness, moving, newCustomer, startHarness, statement } from './harness.ts'

let harness: Harness
let db: Database

beforeAll(async () => {
  harness = await startHarness()
  db = harness.db
})
afterAll(() => harness.close())

const clearing = { internal: 'clearing' } as const

async function internalBalance(projectId: string, currency = 'TTD'): Promise<bigint> {
  return (await readBalance(db, { address: clearing, projectId, currency })).postedMinor
}

describe('a transfer', () => {
  it('a transfer moves money between customers and answers a repeat as before', async () => {
    const projectId = newId()
    const payer = await newCustomer(db, { projectId, amountMinor: 10_000n })
    const payee = await newCustomer(db, { projectId, amountMinor: 0n })
    const lines = moving({ accountId: payer }, { accountId: payee }, 2_500n)
    const wanted = { projectId, transferId: newId(), lines, details: { reference: 'T-1' } }
    const first = await postTransfer(db, wanted)
    const again = await postTransfer(db, wanted)
    expect(first.repeated).toBe(false)
    expect(again).toEqual({ postTime: first.postTime, repeated: true })
    expect(await balanceOf(db, payer)).toEqual({ postedMinor: 7_500n, heldMinor: 0n })
    expect(await balanceOf(db, payee)).toEqual({ postedMinor: 2_500n, heldMinor: 0n })
  })

  it('a transfer refuses the same UUID with other content, and another project may use it', async () => {
    const [projectId, other] = [newId(), newId()]
    const transferId = newId()
    const lines = moving(clearing, { internal: 'held' }, 100n)
    await postTransfer(db, { projectId, transferId, lines })
    const changed = moving(clearing, { internal: 'held' }, 101n)
    await expect(postTransfer(db, { projectId, transferId, lines: changed })).rejects.toMatchObject(
      {
        reason: 'LEDGER_CONFLICT',
      },
    )
    const described = { projectId, transferId, lines, details: { description: 'other' } }
    await expect(postTransfer(db, described)).rejects.toMatchObject({ reason: 'LEDGER_CONFLICT' })
    expect(await postTransfer(db, { projectId: other, transferId, lines })).toMatchObject({
      repeated: false,
    })
    expect(await internalBalance(projectId)).toBe(-100n)
  })

  it('a transfer is written once by concurrent repeats', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 1_000n })
    const lines = moving({ accountId }, clearing, 300n)
    const wanted = { projectId, transferId: newId(), lines }
    const answers = await Promise.all(Array.from({ length: 20 }, () => postTransfer(db, wanted)))
    expect(answers.filter(({ repeated }) => !repeated)).toHaveLength(1)
    expect(new Set(answers.map(({ postTime }) => postTime.getTime())).size).toBe(1)
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 700n, heldMinor: 0n })
  })

  it('a transfer refuses to overdraw and leaves nothing', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 99n })
    const transferId = newId()
    const lines = moving({ accountId }, clearing, 100n)
    await expect(postTransfer(db, { projectId, transferId, lines })).rejects.toMatchObject({
      reason: 'INSUFFICIENT_FUNDS',
    })
    await expect(requireTransfer(db, projectId, transferId)).rejects.toMatchObject({
      reason: 'TRANSFER_NOT_FOUND',
    })
    expect(await internalBalance(projectId)).toBe(0n)
  })

  it('a transfer refuses an unknown customer or currency and the float of another project', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 10n })
    const refused = [
      moving(clearing, { accountId: randomId() }, 1n),
      moving(clearing, { accountId }, 1n, 'USD'),
      moving(clearing, { floatProjectId: newId() }, 1n),
    ]
    for (const lines of refused) {
      await expect(
        postTransfer(db, { projectId, transferId: newId(), lines }),
      ).rejects.toMatchObject({
        reason: 'LEDGER_ACCOUNT_NOT_FOUND',
      })
    }
  })

  it('a transfer opens a float with its first money', async () => {
    const projectId = newId()
    const float = { floatProjectId: projectId }
    expect((await readBalance(db, { address: float, currency: 'TTD' })).postedMinor).toBe(0n)
    await postTransfer(db, {
      projectId,
      transferId: newId(),
      lines: moving(clearing, float, 5_000n),
    })
    await postTransfer(db, {
      projectId,
      transferId: newId(),
      lines: moving(float, clearing, 1_000n),
    })
    expect((await readBalance(db, { address: float, currency: 'TTD' })).postedMinor).toBe(4_000n)
    const tooMuch = moving(float, clearing, 4_001n)
    await expect(
      postTransfer(db, { projectId, transferId: newId(), lines: tooMuch }),
    ).rejects.toMatchObject({ reason: 'INSUFFICIENT_FUNDS' })
  })
})

describe('amounts', () => {
  it.each([
    ['JPY', 500n],
    ['TTD', 12_345n],
    ['BHD', 1_234_567n],
  ])('amounts in %s stay exact', async (currency, amountMinor) => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, currency, amountMinor })
    const lines = moving({ accountId }, clearing, amountMinor - 1n, currency)
    await postTransfer(db, { projectId, transferId: newId(), lines })
    expect((await balanceOf(db, accountId, currency)).postedMinor).toBe(1n)
    expect(await internalBalance(projectId, currency)).toBe(amountMinor - 1n)
  })

  it('amounts may be as large as 64 bits hold, and what would pass them is refused', async () => {
    const most = 2n ** 63n - 1n
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: most })
    expect((await balanceOf(db, accountId)).postedMinor).toBe(most)
    const oneMore = moving(clearing, { accountId }, 1n)
    const tooLarge = moving(clearing, { internal: 'held' }, most + 1n)
    for (const lines of [oneMore, tooLarge]) {
      await expect(
        postTransfer(db, { projectId, transferId: newId(), lines }),
      ).rejects.toMatchObject({
        reason: 'AMOUNT_OUT_OF_RANGE',
        message: expect.stringContaining('9223372036854775807'),
      })
    }
    expect((await balanceOf(db, accountId)).postedMinor).toBe(most)
  })

  it('amounts of an internal account may exceed 64 bits, since nobody could refuse', async () => {
    const most = 2n ** 63n - 1n
    const projectId = newId()
    const lines = moving({ internal: 'held' }, clearing, most)
    await postTransfer(db, { projectId, transferId: newId(), lines })
    await postTransfer(db, { projectId, transferId: newId(), lines })
    expect(await internalBalance(projectId)).toBe(2n * most)
  })
})

describe('a reversal', () => {
  it('a reversal happens once, and every later attempt is refused or repeated', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 1_000n })
    const reversesId = newId()
    const lines = moving({ accountId }, clearing, 400n)
    await postTransfer(db, { projectId, transferId: reversesId, lines, details: { method: 'p2p' } })
    const wanted = { projectId, transferId: newId(), reversesId, description: 'back' }
    const first = await reverseTransfer(db, wanted)
    expect(await reverseTransfer(db, wanted)).toEqual({ ...first, repeated: true })
    await expect(reverseTransfer(db, { ...wanted, transferId: newId() })).rejects.toMatchObject({
      reason: 'TRANSFER_REVERSED',
    })
    await expect(reverseTransfer(db, { ...wanted, description: 'other' })).rejects.toMatchObject({
      reason: 'LEDGER_CONFLICT',
    })
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 1_000n, heldMinor: 0n })
    expect(await requireTransfer(db, projectId, reversesId)).toMatchObject({
      reversedById: wanted.transferId,
    })
    expect(await requireTransfer(db, projectId, wanted.transferId)).toMatchObject({
      reversesId,
      details: { method: 'p2p', description: 'back' },
    })
  })

  it('a reversal takes back a credit whose fee was more than the credit', async () => {
    const projectId = newId()
    const sender = await newCustomer(db, { projectId, amountMinor: 100n })
    const recipient = await newCustomer(db, { projectId, amountMinor: 0n })
    const reversesId = newId()
    const [debit, credit] = moving({ accountId: sender }, { accountId: recipient }, 100n)
    const fee = { address: { internal: 'fee_income' }, currency: 'TTD', amountMinor: 60n } as const
    const lines = [debit!, { ...credit!, amountMinor: 40n, feeMinor: 60n }, fee]
    await postTransfer(db, { projectId, transferId: reversesId, lines })
    const wanted = { projectId, transferId: newId(), reversesId, description: 'back' }
    const first = await reverseTransfer(db, wanted)
    expect(await reverseTransfer(db, wanted)).toEqual({ ...first, repeated: true })
    expect(await balanceOf(db, sender)).toEqual({ postedMinor: 100n, heldMinor: 0n })
    expect(await balanceOf(db, recipient)).toEqual({ postedMinor: 0n, heldMinor: 0n })
  })

  it('a reversal has one winner among many, and needs the money to be there', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 0n })
    const [received, spent] = [newId(), newId()]
    const receive = moving(clearing, { accountId }, 500n)
    await postTransfer(db, { projectId, transferId: received, lines: receive })
    const asked = { projectId, reversesId: received, description: '' }
    const spend = moving({ accountId }, clearing, 1n)
    await postTransfer(db, { projectId, transferId: spent, lines: spend })
    await expect(reverseTransfer(db, { ...asked, transferId: newId() })).rejects.toMatchObject({
      reason: 'INSUFFICIENT_FUNDS',
    })
    await reverseTransfer(db, { ...asked, transferId: newId(), reversesId: spent })
    const answers = await Promise.allSettled(
      Array.from({ length: 20 }, () => reverseTransfer(db, { ...asked, transferId: newId() })),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await balanceOf(db, accountId)).toEqual({ postedMinor: 0n, heldMinor: 0n })
  })
})

describe('what was posted', () => {
  it('a posting is never changed, by the service or by its owner', async () => {
    const owner = harness.database.open({ service: undefined })
    await newCustomer(db, { projectId: newId(), amountMinor: 5n })
    for (const table of ['posting', 'transfer']) {
      const changes = [
        `update accounts.${table} set project_id = gen_random_uuid()`,
        `delete from accounts.${table}`,
        `truncate accounts.${table}`,
      ]
      for (const change of changes) {
        await expect(db.run(statement(change), [])).rejects.toMatchObject({ code: '42501' })
        await expect(owner.run(statement(change), [])).rejects.toMatchObject({ code: '23514' })
      }
    }
  })

  it('the lines that one statement inserts must sum to zero in each transfer and currency', async () => {
    const insert = statement(
      `insert into posting (project_id, transfer_id, line, internal, currency, amount_minor,
         fee_minor, post_time)
       select $1, l.transfer_id, l.line, 'held', l.currency, l.amount_minor, 0, clock_now()
       from unnest($2::uuid[], $3::smallint[], $4::text[], $5::bigint[])
         as l(transfer_id, line, currency, amount_minor)`,
    )
    const [sound, broken] = [newId(), newId()]
    const insertLines = (amounts: [string, string, bigint][]) =>
      db.run(insert, [
        newId(),
        amounts.map(([transferId]) => transferId),
        amounts.map((_, index) => index),
        amounts.map(([, currency]) => currency),
        amounts.map(([, , amountMinor]) => amountMinor),
      ])
    const soundLines: [string, string, bigint][] = [
      [sound, 'TTD', 5n],
      [sound, 'TTD', -5n],
    ]
    const refused: [string, string, bigint][][] = [
      [[broken, 'TTD', 5n]],
      // Each sums to zero over all transfers, or over all currencies, alone.
      [...soundLines, [broken, 'TTD', 5n], [newId(), 'TTD', -5n]],
      [...soundLines, [broken, 'TTD', 5n], [broken, 'USD', -5n]],
    ]
    for (const lines of refused) {
      await expect(insertLines(lines)).rejects.toMatchObject({
        code: '23514',
        constraint: 'transfer_sums_to_zero',
      })
    }
  })

  it('postings are the history of the account, newest first, page by page, in the window', async () => {
    const projectId = newId()
    const accountId = await newCustomer(db, { projectId, amountMinor: 100n })
    for (let index = 1; index <= 5; index += 1) {
      const lines = moving({ accountId }, clearing, BigInt(index))
      const details = { reference: `T-${index}`, metadata: { index: String(index) } }
      await postTransfer(db, { projectId, transferId: newId(), lines, details })
    }
    const window = { accountId, startUs: 0n, endUs: undefined, limit: 4 }
    const first = await listAccountPostings(db, window)
    const second = await listAccountPostings(db, { ...window, after: first.next ?? '' })
    const amounts = [...first.postings, ...second.postings].map(({ amountMinor }) => amountMinor)
    expect(amounts).toEqual([-5n, -4n, -3n, -2n, -1n, 100n])
    expect(second.next).toBeUndefined()
    expect(first.postings[0]).toMatchObject({
      cleared: true,
      details: { reference: 'T-5', metadata: { index: '5' } },
    })
    const endUs = first.postings[3]?.timeUs
    expect((await listAccountPostings(db, { ...window, endUs })).postings).toHaveLength(2)
    await expect(listAccountPostings(db, { ...window, after: '!' })).rejects.toMatchObject({
      reason: 'INVALID_PARAMETER',
    })
  })
})
