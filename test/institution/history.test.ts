// The history of a number: both sides, pages, windows, grants, and nobody else's transactions.
import { randomUUID } from 'node:crypto'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Person } from './accounts.ts'
import { type Harness, refusal, startHarness } from './harness.ts'

let harness: Harness
let ama: Person
let kofi: Person
const ids: string[] = []

beforeAll(async () => {
  harness = await startHarness()
  ama = harness.accounts.person()
  kofi = harness.accounts.person()
  for (let count = 0; count < 5; count += 1) {
    const [from, to] = count % 2 === 0 ? [ama, kofi] : [kofi, ama]
    const asked = harness.order(harness.accounts.session(from), from, to)
    ids.unshift((await harness.create(asked)).transactionId)
    harness.testClock.advance(1_000)
  }
})
afterAll(() => harness.stop())

const day = 86_400_000

type Asked = {
  projectId?: string
  mobileNumber?: string
  startTime?: Timestamp
  endTime?: Timestamp
  pageSize?: number
  pageToken?: string
}

function list(more: Asked = {}) {
  const { projectId } = harness
  const { mobileNumber } = ama
  return harness.institution.listTransactions({ projectId, mobileNumber, ...more })
}

const idsOf = ({ transactions }: Awaited<ReturnType<typeof list>>) =>
  transactions.map(({ transactionId }) => transactionId)

it('the history of an account has the transactions of either side, newest first', async () => {
  const page = await list()
  expect(idsOf(page)).toEqual(ids)
  expect(page.nextPageToken).toBe('')
  expect(idsOf(await list({ mobileNumber: kofi.mobileNumber }))).toEqual(ids)
})

it('the history of an account comes in pages that neither repeat nor leave out', async () => {
  const seen: string[] = []
  let pageToken = ''
  do {
    const page = await list({ pageSize: 2, pageToken })
    seen.push(...idsOf(page))
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  expect(seen).toEqual(ids)
})

it('the history of an account has a window whose end is not in it', async () => {
  const { transactions } = await list()
  const times = transactions.map(({ createTime }) => createTime)
  const [newest, , middle] = times
  if (newest === undefined || middle === undefined) throw new Error('there is no time')
  expect(idsOf(await list({ startTime: middle }))).toEqual(ids.slice(0, 3))
  expect(idsOf(await list({ endTime: newest }))).toEqual(ids.slice(1))
})

it('the history of an account holds what was made before it was requested, also when the clock has gone back since', async () => {
  // As after a fail-over to a server whose clock is behind.
  harness.testClock.advance(-6_000)
  expect(idsOf(await list())).toEqual(ids)
  harness.testClock.advance(6_000)
})

it('the history of an account reaches seven days back, or another window of ninety days at most', async () => {
  harness.testClock.advance(8 * day)
  expect(idsOf(await list())).toEqual([])
  const now = Date.now() + harness.testClock.offsetMs
  const from = (days: number) => ({
    startTime: timestampFromDate(new Date(now - days * day)),
    endTime: timestampFromDate(new Date(now)),
  })
  expect(idsOf(await list(from(90)))).toEqual(ids)
  expect(await refusal(list(from(91)))).toBe('INVALID_PARAMETER start_datetime')
  expect(await refusal(list(from(-1)))).toBe('INVALID_PARAMETER start_datetime')
  harness.testClock.advance(-8 * day)
})

it('the history of an account is refused for a page token that is not ours, and without a number', async () => {
  expect(await refusal(list({ pageToken: 'nonsense' }))).toBe('INVALID_PARAMETER cursor')
  expect(await refusal(list({ pageSize: 201 }))).toBe('INVALID_PARAMETER page_size')
  expect(await refusal(list({ mobileNumber: '' }))).toBe('MISSING_PARAMETER mobile_number')
})

it('the history of an account is empty for another project, and for one whose grant was revoked', async () => {
  expect(idsOf(await list({ projectId: randomUUID() }))).toEqual([])
  harness.accounts.state.granted = false
  expect(idsOf(await list())).toEqual([])
  harness.accounts.state.granted = true
  expect(idsOf(await list())).toEqual(ids)
})
