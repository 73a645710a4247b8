// What balances and histories say after money has moved: pages, holds, and what another project may read of it.
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { dateTimePattern, type Json, person, sharedMesh } from '../harness.ts'
import { seal, transferClient } from '../money/transfer-client.ts'
import { accountClient, dataOf, newProfile, tokenOf } from './account-client.ts'

const mesh = sharedMesh()
const demo = accountClient(mesh)
const payments = transferClient(mesh)
const profile = newProfile()
const { mobile_number } = profile
const lookup = { lookup_type: 'MOBILE', lookup_value: mobile_number }

/** Sends money of person 00 to the new customer. */
async function receive(amount: string, more: Json = {}): Promise<unknown> {
  const credit_party = { mobile_number }
  const order = await payments.order(0, 1, { amount, credit_party, ...more })
  const answer = await payments.post(order)
  expect(answer.status, answer.text).toBe(200)
  return order['transaction_id']
}

const historyOf = async (client: typeof demo, more: Json = {}) => {
  const answer = await client.history({ mobile_number, ...more })
  expect(answer.status, answer.text).toBe(200)
  return dataOf(answer) as Json & { transactions: Json[]; next_cursor: string | null }
}

const received: unknown[] = []

beforeAll(async () => {
  await demo.personal(profile)
  await eventually(async () => tokenOf(await demo.session(lookup)))
  received.push(await receive('1.00'), await receive('2.00', { description: 'Second' }))
  received.push(await receive('3.00', { fees: { recipient_pays: '2.00' } }))
})

describe('a history', () => {
  it('a history is turned page by page, newest first, each movement once', async () => {
    const first = await historyOf(demo, { limit: 2 })
    expect(first).toMatchObject({ count: 2, has_more: true, next_cursor: expect.any(String) })
    // What comes between two pages changes neither.
    const later = await receive('0.50')
    const second = await historyOf(demo, { limit: 2, cursor: first.next_cursor })
    expect(second).toMatchObject({ count: 1, has_more: false, next_cursor: null })
    const ids = [...first.transactions, ...second.transactions].map((one) => one['transaction_id'])
    expect(ids).toEqual(received.toReversed())
    expect((await historyOf(demo)).transactions[0]).toMatchObject({ transaction_id: later })
  })

  it('a history lists amounts with their fees and the purpose of each', async () => {
    const { transactions } = await historyOf(demo)
    const byId = (id: unknown) => transactions.find((one) => one['transaction_id'] === id)
    expect(byId(received[2])).toMatchObject({
      type: 'credit',
      amount: '1.00',
      fees: '2.00',
      currency: 'USD',
      status: 'completed',
      transaction_method: 'p2p',
      posted_date: expect.stringMatching(dateTimePattern),
      cleared_date: expect.stringMatching(dateTimePattern),
    })
    expect(byId(received[1])).toMatchObject({ amount: '2.00', fees: '0.00', description: 'Second' })
  })

  it('a history shows another project that money moved, and none of our words', async () => {
    const { transactions } = await historyOf(accountClient(mesh, 'other'))
    expect(transactions.map(({ amount }) => amount)).toContain('1.00')
    for (const { transaction_id, description, metadata } of transactions) {
      expect(received).not.toContain(transaction_id)
      expect([description, metadata]).toEqual(['', {}])
    }
  })

  it('a history refuses the cursor of another number and of another project', async () => {
    const { next_cursor: cursor } = await historyOf(demo, { limit: 1 })
    for (const answer of [
      await demo.history({ mobile_number: person(0), cursor }),
      await accountClient(mesh, 'other').history({ mobile_number, cursor }),
    ]) {
      expect(answer.body).toMatchObject({ code: 400, errorCode: 'INVALID_PARAMETER' })
    }
  })
})

describe('a balance', () => {
  it('a balance keeps back what a pending transaction may take, and the history shows it as pending', async () => {
    const before = dataOf(await demo.balance(mobile_number))
    const token = tokenOf(await demo.session(lookup))
    const order = await payments.order(0, 1, {
      session_token_enc: seal(mesh, token),
      transaction_type: 'cashout',
      debit_party: { mobile_number },
      credit_party: { account_number: 'FAR0504' },
    })
    const answer = await payments.post(order)
    expect(answer.status, answer.text).toBe(200)
    const after = dataOf(await demo.balance(mobile_number))
    expect(after).toMatchObject({
      current_balance: before['current_balance'],
      reserved_balance: '1.00',
      available_balance: (Number(before['available_balance']) - 1).toFixed(2),
    })
    const { transactions } = await historyOf(demo)
    expect(transactions[0]).toMatchObject({
      transaction_id: order['transaction_id'],
      type: 'debit',
      amount: '1.00',
      status: 'pending',
      transaction_method: 'cashout',
      cleared_date: null,
    })
  })
})
