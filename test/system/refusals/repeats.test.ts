// The same transaction id again: the same request is one payment, another one is refused.
import { describe, expect, it } from 'vitest'
import {
  createdOf,
  detailsOf,
  distinct,
  eventTypes,
  merchant,
  order,
  payer,
  receiver,
  sharedMesh,
} from '../harness.ts'
import { expectRefused } from './refusal.ts'

const mesh = sharedMesh()
const shop = merchant(mesh)
const wholeStory = [
  'payment_completed',
  'payment_initiated',
  'payout_completed',
  'payout_scheduled',
]

describe('the same request again', () => {
  it('the same request again is one payment, and the answer is the first one', async () => {
    const inbox = receiver(mesh)
    const transaction = order({ payers: [payer(1)], urls: inbox.urls })
    const first = await shop.create(transaction)
    await shop.stateIs(first.id, 'paid')
    const again = await shop.create(transaction)
    expect(detailsOf(again.answer)).toEqual(detailsOf(first.answer))
    await inbox.awaitNotifies(wholeStory)
    await inbox.calledBack(1)
    expect(eventTypes(await inbox.notifies())).toEqual(wholeStory)
    expect(distinct(await inbox.callbacks())).toHaveLength(1)
  })

  it('the same request again sent thirty times at once is one payment with one set of pushes', async () => {
    const inbox = receiver(mesh)
    const transaction = order({ payers: [payer(1)], urls: inbox.urls })
    const answers = await Promise.all(Array.from({ length: 30 }, () => shop.request(transaction)))
    const details = answers.map((answer) => {
      expect(answer.status, answer.text).toBe(200)
      return JSON.stringify(detailsOf(answer))
    })
    expect(new Set(details).size).toBe(1)
    const { id } = createdOf(answers[0] as (typeof answers)[0])
    await shop.stateIs(id, 'paid')
    await inbox.awaitNotifies(wholeStory)
    await inbox.calledBack(1)
    expect(distinct(await inbox.notifies())).toHaveLength(4)
    expect(distinct(await inbox.callbacks())).toHaveLength(1)
    const stored = await mesh.rows(
      'select payment_id from payments.payment where transaction_id = $1',
      [transaction.id],
    )
    expect(stored).toEqual([{ payment_id: id }])
  })

  it('a repeat with reordered or unknown fields is still the same request', async () => {
    const transaction = order({ description: 'One' })
    const first = await shop.create(transaction)
    const turned = Object.fromEntries(Object.entries(transaction).toReversed())
    const again = await shop.create({ ...turned, note: 'unknown' }, { more: 1 })
    expect(again.id).toBe(first.id)
  })
})

describe('the same transaction id with another body', () => {
  it('the same transaction id with another body is refused and changes nothing', async () => {
    const inbox = receiver(mesh)
    const transaction = order({ description: 'One' })
    const first = await shop.create(transaction)
    const others = [
      { description: 'Two' },
      { amount: '100.01' },
      { amount: '100' },
      { currency: 'USD' },
      { fraud_check: 1 },
      { urls: inbox.urls },
      { payers: [payer(21)] },
      { payers: [payer(20, { email: 'a@example.com' })] },
    ]
    for (const other of others) {
      const answer = await shop.request({ ...transaction, ...other })
      expectRefused(answer, { status: 409, errorCode: 'DUPLICATE_TRANSACTION_ID' })
    }
    expect(detailsOf(await shop.status(first.id))).toMatchObject({
      amount: '100.00',
      currency: 'TTD',
      fraud_check_status: 'skipped',
    })
    expect(await inbox.notifies()).toEqual([])
  })

  it('the same transaction id with another body is one payment when many bodies race for it', async () => {
    const transaction = order()
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        shop.request({ ...transaction, description: `body ${index % 4}` }),
      ),
    )
    const statuses = answers.map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([200, 409]))
    const ids = answers.filter(({ status }) => status === 200).map((answer) => createdOf(answer).id)
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(1)
  })

  it('the same transaction id of another merchant is another payment', async () => {
    const transaction = order()
    const mine = await shop.create(transaction)
    const theirs = await merchant(mesh, 'other').create({ ...transaction, description: 'Theirs' })
    expect(theirs.id).not.toBe(mine.id)
  })
})
