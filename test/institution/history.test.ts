// The history of a number and the list of a project: both sides, pages, windows, states, grants, and nobody else's transactions.
import { randomUUID } from 'node:crypto'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TransactionStatus, TransactionType } from '#gen/payweave/institution/v1/institution_pb.js'
import { sql } from '#platform/db/db.ts'
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

const idsOf = ({ transactions }: { transactions: { transactionId: string }[] }) =>
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
  const from = (days: number, moreMs = 0) => ({
    startTime: timestampFromDate(new Date(now - days * day - moreMs)),
    endTime: timestampFromDate(new Date(now)),
  })
  expect(idsOf(await list(from(90)))).toEqual(ids)
  expect(idsOf(await list(from(90, 1_000)))).toEqual(ids)
  expect(await refusal(list(from(90, 2_000)))).toBe('INVALID_PARAMETER start_datetime')
  expect(await refusal(list(from(-1)))).toBe('INVALID_PARAMETER start_datetime')
  harness.testClock.advance(-8 * day)
})

it('the history of an account reads what is within its window alone', async () => {
  const { state } = harness.accounts
  const { grantChecks } = state
  const endTime = timestampFromDate(new Date(Date.now() + harness.testClock.offsetMs - day))
  expect(idsOf(await list({ endTime }))).toEqual([])
  // No transaction within the window, so no institution whose grant is checked.
  expect(state.grantChecks).toBe(grantChecks)
  await list()
  expect(state.grantChecks).toBe(grantChecks + 1)
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

describe('the list of a project', () => {
  type Wanted = {
    projectId?: string
    status?: TransactionStatus
    pageSize?: number
    startTime?: Timestamp
    endTime?: Timestamp
  }

  async function listAll(more: Wanted = {}): Promise<string[]> {
    const seen: string[] = []
    let pageToken = ''
    do {
      const { projectId } = harness
      const page = await harness.institution.listProjectTransactions({
        projectId,
        ...more,
        pageToken,
      })
      seen.push(...page.transactions.map(({ transactionId }) => transactionId))
      pageToken = page.nextPageToken
    } while (pageToken !== '')
    return seen
  }

  it('the transactions of a project are listed newest first, page after page, and by state', async () => {
    const { COMPLETED, PENDING } = TransactionStatus
    const asked = harness.order(harness.accounts.session(ama), ama, kofi, {
      type: TransactionType.CASHOUT,
      creditParty: { organizationId: 'Demo Bank', accountNumber: '7' },
    })
    const { transactionId } = await harness.create(asked)
    const all = [transactionId, ...ids]
    expect(await listAll()).toEqual(all)
    expect(await listAll({ pageSize: 2 })).toEqual(all)
    expect(await listAll({ status: COMPLETED, pageSize: 1 })).toEqual(ids)
    expect(await listAll({ status: PENDING })).toEqual([transactionId])
    expect(await listAll({ status: TransactionStatus.FAILED })).toEqual([])
  })

  it('the transactions of a project are listed by the time of their creation', async () => {
    const { projectId } = harness
    const { transactions } = await harness.institution.listProjectTransactions({ projectId })
    const [endTime, , startTime] = transactions.map(({ createTime }) => createTime)
    if (startTime === undefined || endTime === undefined) throw new Error('three transactions')
    const [newest, ...older] = idsOf({ transactions })
    expect(await listAll({ startTime, endTime })).toEqual(older.slice(0, 2))
    expect(await listAll({ startTime: endTime })).toEqual([newest])
  })

  it('transactions without a decision are listed over all projects, the oldest first, after their time', async () => {
    const waiting = (minAgeS: number, pageToken = '') =>
      harness.institution.listWaitingTransactions({ minAgeS, pageToken, pageSize: 1 })
    const all: string[] = []
    harness.testClock.advance(5_000)
    let page = await waiting(1)
    all.push(...idsOf(page))
    while (page.nextPageToken !== '') {
      page = await waiting(1, page.nextPageToken)
      all.push(...idsOf(page))
    }
    const pending = await listAll({ status: TransactionStatus.PENDING })
    expect(all).toEqual(pending.toReversed())
    expect(all.length).toBeGreaterThan(0)
    expect((await waiting(3_600)).transactions).toEqual([])
  })

  it('the list of a project has none of another, on any page, and nor does another find its transactions', async () => {
    const { institution, projectId } = harness
    const { nextPageToken: pageToken, transactions } = await institution.listProjectTransactions({
      projectId,
      pageSize: 1,
    })
    const [first] = transactions
    const other = { projectId: randomUUID() }
    expect(await listAll(other)).toEqual([])
    const page = await institution.listProjectTransactions({ ...other, pageToken })
    expect(page.transactions).toEqual([])
    const movementId = first?.movementId ?? ''
    const found = await institution.getTransaction({ projectId, movementId })
    expect(found.transaction).toEqual(first)
    expect(await refusal(institution.getTransaction({ ...other, movementId }))).toBe(
      'TRANSACTION_NOT_FOUND',
    )
    expect(
      await refusal(institution.listProjectTransactions({ projectId, pageToken: 'nonsense' })),
    ).toBe('INVALID_PARAMETER page_token')
  })

  it('the list of a project reads its page by the index of the project and state', async () => {
    const plan = sql(
      'test_project_list_plan',
      `explain select 1 from transaction where project_id = '${harness.projectId}'
         and state = 'failed' and create_time is not null and movement_id < '${randomUUID()}'
       order by movement_id desc limit 10`,
    )
    const lines = await harness.db.rows<{ 'QUERY PLAN': string }>(plan, [])
    const text = lines.map((line) => line['QUERY PLAN']).join('\n')
    expect(text).toContain('transaction_of_project')
    expect(text).not.toContain('Sort')
  })
})
