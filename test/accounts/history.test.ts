// Shows balances and histories as clients see them: of whom, over which window, page by page.
import { randomUUID } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LookupType } from '#gen/payweave/accounts/v1/accounts_pb.js'
import { AccountStatus } from '#gen/payweave/accounts/v1/onboarding_event_pb.js'
import { postTransfer } from '../../services/accounts/ledger/operations/ledger.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

const kofi = '+12025550101'
const esi = '+12025550102'

const balanceOf = (mobileNumber: string, projectId = harness.projects.demo) =>
  harness.accounts.getAccountBalance({ projectId, mobileNumber })
const history = (mobileNumber: string, more: object = {}) =>
  harness.accounts.listAccountTransactions({
    projectId: harness.projects.demo,
    mobileNumber,
    ...more,
  })

/** Credits an account as a project would. */
async function credit(mobileNumber: string, amountMinor: bigint, reference: string, by?: string) {
  const { account } = await harness.open({
    lookupType: LookupType.MOBILE,
    lookupValue: mobileNumber,
  })
  const projectId = by ?? harness.projects.demo
  const currency = account?.currency ?? ''
  const accountId = account?.accountId ?? ''
  const lines = [
    { address: { accountId }, currency, amountMinor, feeMinor: 1n },
    { address: { internal: 'clearing' as const }, currency, amountMinor: -amountMinor },
  ]
  const details = { reference, description: 'Lunch', method: 'p2p', metadata: { note: 'thanks' } }
  const transferId = randomUUID()
  await harness.db.transaction((tx) => postTransfer(tx, { projectId, transferId, lines, details }))
  return transferId
}

describe('a balance', () => {
  it('a balance shows what the seeded people have', async () => {
    const amounts: [string, bigint, string][] = [
      ['+12025550100', 1_000_000n, 'USD'],
      ['+12025550103', 5_000n, 'USD'],
      ['+12025550105', 300_000n, 'TTD'],
    ]
    for (const [mobileNumber, minorUnits, currency] of amounts) {
      const found = await balanceOf(mobileNumber)
      expect(found).toMatchObject({
        currentBalance: { currency, minorUnits },
        availableBalance: { currency, minorUnits },
        reservedBalance: { currency, minorUnits: 0n },
        unclearedBalance: { currency, minorUnits: 0n },
      })
      expect(found.asOfTime).toBeDefined()
    }
  })

  it('the balance of a suspended account is shown with its status', async () => {
    const { account, currentBalance } = await balanceOf('+12025550110')
    expect(account?.accountStatus).toBe(AccountStatus.UNAVAILABLE)
    expect(currentBalance?.minorUnits).toBe(10_000n)
  })

  it('the balance of an unknown, an ambiguous or a foreign number is refused', async () => {
    expect(await refusal(balanceOf('+12025550199'))).toBe('ACCOUNT_NOT_FOUND')
    expect(await refusal(balanceOf('+12025550109'))).toBe('AMBIGUOUS_MATCH')
    const { stranger } = harness.projects
    expect(await refusal(balanceOf(kofi, stranger))).toBe('ACCOUNT_NOT_FOUND')
    expect(await refusal(balanceOf(''))).toBe('MISSING_PARAMETER mobile_number')
    expect(await refusal(balanceOf('12'))).toBe('INVALID_PARAMETER mobile_number')
  })
})

describe('a history', () => {
  it('a history shows what moved, newest first, under the names that the client gave', async () => {
    await credit(kofi, 1_200n, 'lunch-1')
    const { transactions } = await history(kofi)
    expect(transactions[0]).toMatchObject({
      transactionId: 'lunch-1',
      amount: { currency: 'USD', minorUnits: 1_200n },
      fees: { currency: 'USD', minorUnits: 1n },
      description: 'Lunch',
      transactionMethod: 'p2p',
      cleared: true,
      metadata: { note: 'thanks' },
    })
    expect(transactions[0]?.clearTime).toEqual(transactions[0]?.postTime)
    expect(transactions.at(-1)?.description).toBe('Opening balance')
  })

  it('a history holds what was posted before it was asked for, also when the clock has gone back since', async () => {
    const endTime = timestampFromDate(new Date(Date.now() + 3_600_000))
    await credit(kofi, 3n, 'just-posted')
    // As after a fail-over to a server whose clock is behind.
    harness.testClock.advance(-1_000)
    const { transactions } = await history(kofi)
    harness.testClock.advance(1_000)
    expect(transactions[0]?.transactionId).toBe('just-posted')
    const explicit = await history(kofi, { endTime })
    expect(explicit.transactions[0]?.transactionId).toBe('just-posted')
  })

  it('a history takes the time of an entry as the end of a window, to the microsecond', async () => {
    await credit(kofi, 4n, 'at-the-end')
    const { transactions } = await history(kofi)
    const endTime = transactions[0]?.postTime
    if (endTime === undefined) throw new Error('an entry has no time')
    const before = await history(kofi, { endTime })
    expect(before.transactions[0]?.transactionId).toBe('just-posted')
    const from = await history(kofi, { startTime: endTime })
    expect(from.transactions.map(({ transactionId }) => transactionId)).toEqual(['at-the-end'])
  })

  it('a history shows of a movement by another project only that money moved', async () => {
    const transferId = await credit(kofi, 700n, 'secret-reference', harness.projects.other)
    const { transactions } = await history(kofi)
    expect(transactions[0]).toMatchObject({
      transactionId: transferId,
      amount: { minorUnits: 700n },
      description: '',
      metadata: {},
    })
  })

  it('a history goes page by page, and new movements change no page', async () => {
    for (let count = 1; count <= 5; count += 1) await credit(esi, 1n, `e${count}`)
    const first = await history(esi, { pageSize: 2 })
    await credit(esi, 1n, 'late')
    const pages = [first]
    for (;;) {
      const token = pages.at(-1)?.nextPageToken ?? ''
      if (token === '') break
      pages.push(await history(esi, { pageSize: 2, pageToken: token }))
    }
    const ids = pages.flatMap(({ transactions }) => transactions.map((one) => one.transactionId))
    expect(ids.slice(0, 5)).toEqual(['e5', 'e4', 'e3', 'e2', 'e1'])
    expect(pages.map(({ transactions }) => transactions.length)).toEqual([2, 2, 2])
  })

  it('a history refuses a page token that is not of this account, project and window', async () => {
    const { nextPageToken: pageToken } = await history(esi, { pageSize: 1 })
    const bytes = Buffer.from(pageToken, 'base64url')
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 3) ^ 1, bytes.length - 3)
    const wrong = [
      () => history(esi, { pageToken: 'x' }),
      () => history(esi, { pageToken: bytes.toString('base64url') }),
      () => history(kofi, { pageToken }),
      () => history(esi, { pageToken, projectId: harness.projects.other }),
      () => history(esi, { pageToken, startTime: timestampFromDate(new Date(0)) }),
    ]
    for (const call of wrong) expect(await refusal(call())).toBe('INVALID_PARAMETER page_token')
  })

  it('a history covers the last seven days by default, by the clock of the database', async () => {
    await credit(kofi, 5n, 'before')
    harness.testClock.advance(7 * 86_400_000 + 60_000)
    await credit(kofi, 6n, 'after')
    const { transactions } = await history(kofi)
    expect(transactions.map(({ transactionId }) => transactionId)).toEqual(['after'])
    const all = await history(kofi, { startTime: timestampFromDate(new Date(0)) })
    expect(all.transactions.length).toBeGreaterThan(2)
    const none = await history(kofi, { endTime: timestampFromDate(new Date(86_400_000)) })
    expect(none.transactions).toEqual([])
  })

  it('a history with an invalid window or page is refused', async () => {
    const backwards = history(kofi, {
      startTime: timestampFromDate(new Date(2_000)),
      endTime: timestampFromDate(new Date(1_000)),
    })
    expect(await refusal(backwards)).toBe('INVALID_PARAMETER start_time')
    expect(await refusal(history(kofi, { pageSize: 201 }))).toBe('INVALID_PARAMETER page_size')
  })
})
