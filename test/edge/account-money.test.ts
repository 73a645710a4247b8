// Balance and history at the edge: amounts, dates, windows and pages.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Failure, type Reason } from '#core/errors/errors.ts'
import { call, type EdgeFixture, startEdge } from './harness.ts'
import { forget, get, post, projectId, version } from './stand-ins/account-calls.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())
beforeEach(() => forget(edge))

describe('GET /account/balance', () => {
  it('GET /account/balance answers the available balance at top level and all of them in data', async () => {
    const seen = await call(
      edge.url,
      'GET',
      `/account/balance?version=${version}&mobile_number=+18683501234`,
    )
    expect(seen.body).toMatchObject({
      code: 200,
      balance: '9999.50',
      data: {
        mobile_number: '+18683501234',
        currency: 'USD',
        current_balance: '10000.50',
        available_balance: '9999.50',
        reserved_balance: '1.00',
        uncleared_balance: '0.00',
        account_status: 'available',
        as_of: '2026-01-02T12:00:00.250Z',
      },
    })
    expect(edge.seen.accounts.balances[0]).toMatchObject({
      projectId,
      mobileNumber: '+18683501234',
    })
  })

  it.each<[Reason, number]>([
    ['ACCOUNT_NOT_FOUND', 404],
    ['AMBIGUOUS_MATCH', 409],
  ])('a balance query returns %s at top level', async (reason, code) => {
    edge.seen.accounts.refuseWith = reason
    const seen = await get(edge, 'balance', { mobile_number: '+18683501234' })
    expect(seen.body).toMatchObject({ code, errorCode: reason })
    expect(seen.body['data']).toBeUndefined()
  })
})

describe('POST /account/transaction_history', () => {
  const mobile_number = '868 350-1234'
  const secondsOf = () => {
    const { startTime, endTime } = edge.seen.accounts.histories.at(-1) ?? {}
    return [startTime?.seconds, endTime?.seconds].map((at) =>
      at === undefined ? undefined : new Date(Number(at) * 1_000).toISOString().slice(0, 19),
    )
  }

  it('POST /account/transaction_history answers what moved with amounts, directions and dates', async () => {
    const seen = await post(edge, 'transaction_history', { mobile_number })
    const common = {
      currency: 'USD',
      description: 'Lunch',
      transaction_method: 'p2p',
      posted_date: '2026-01-02 12:00:00',
    }
    expect(seen.body).toMatchObject({
      code: 200,
      data: {
        mobile_number,
        transactions: [
          {
            ...common,
            transaction_id: 'transfer-2',
            type: 'debit',
            amount: '12.50',
            fees: '0.05',
            status: 'pending',
            cleared_date: null,
            metadata: { quote_id: 'quote-1' },
          },
          {
            ...common,
            transaction_id: 'transfer-1',
            type: 'credit',
            amount: '20.00',
            fees: '0.00',
            status: 'completed',
            cleared_date: '2026-01-02 12:00:00',
            metadata: {},
          },
        ],
        count: 2,
        has_more: false,
        next_cursor: null,
      },
    })
    expect(edge.seen.accounts.histories[0]).toMatchObject({ pageSize: 0, pageToken: '' })
    expect(secondsOf()).toEqual([undefined, undefined])
  })

  it('POST /account/transaction_history turns pages', async () => {
    edge.seen.accounts.nextPageToken = 'page-2'
    const seen = await post(edge, 'transaction_history', {
      mobile_number,
      limit: 2,
      cursor: 'page-1',
    })
    expect(seen.body['data']).toMatchObject({ has_more: true, next_cursor: 'page-2' })
    expect(edge.seen.accounts.histories[0]).toMatchObject({ pageSize: 2, pageToken: 'page-1' })
  })

  it('POST /account/transaction_history widens a day to the whole of it and a time to its second', async () => {
    await post(edge, 'transaction_history', {
      mobile_number,
      start_date: '2026-01-01',
      end_date: '2026-01-01',
    })
    expect(secondsOf()).toEqual(['2026-01-01T00:00:00', '2026-01-02T00:00:00'])
    await post(edge, 'transaction_history', { mobile_number, end_date: '2026-12-31 23:59:59' })
    expect(secondsOf()).toEqual([undefined, '2027-01-01T00:00:00'])
  })

  it('POST /account/transaction_history ends a window no later than the last day that there is', async () => {
    await post(edge, 'transaction_history', { mobile_number, end_date: '9999-12-31' })
    expect(secondsOf()).toEqual([undefined, '9999-12-31T23:59:59'])
  })

  it('POST /account/transaction_history refuses a window that ends before it starts', async () => {
    const seen = await post(edge, 'transaction_history', {
      mobile_number,
      start_date: '2026-01-02',
      end_date: '2026-01-01 12:00:00',
    })
    expect(seen.body).toMatchObject({
      code: 400,
      message: 'start_date must not be after end_date.',
    })
  })

  it('POST /account/transaction_history names the field that the service refuses', async () => {
    edge.seen.accounts.refuseWith = new Failure('INVALID_PARAMETER', 'page_token must be ours', {
      details: { field: 'page_token' },
    })
    const seen = await post(edge, 'transaction_history', { mobile_number, cursor: 'x' })
    expect(seen.body).toMatchObject({
      code: 400,
      errorCode: 'INVALID_PARAMETER',
      message: 'cursor must be the next_cursor of the page before, with its dates.',
    })
    edge.seen.accounts.refuseWith = new Failure('INVALID_PARAMETER', 'start_time must be', {
      details: { field: 'start_time' },
    })
    const late = await post(edge, 'transaction_history', {
      mobile_number,
      start_date: '2999-01-01',
    })
    expect(late.body['message']).toBe('start_date must not be in the future.')
  })
})
