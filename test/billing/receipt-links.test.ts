// Shows that the link of a receipt stays the same while link.key rotates, and stops working when its key is retired.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sql } from '#platform/db/db.ts'
import { countPage } from '#platform/keys/dependants.ts'
import type { Bill } from '../../services/billing/domain/bill.ts'
import { receiptTokenOf } from '../../services/billing/operations/receipt-link.ts'
import { findByLink, findByTransaction } from '../../services/billing/store/bill-store.ts'
import { linkDependants } from '../../services/billing/store/link-key-store.ts'
import { testKeys } from '../support/keys.ts'
import { type Harness, startHarness } from './harness.ts'

const linkKeys = testKeys('untimed')
let harness: Harness
beforeAll(async () => {
  harness = await startHarness({ linkKeys })
})
afterAll(() => harness.stop())

const forgetKeyId = sql(
  'test_no_key_id',
  'update bill_payment set link_key_id = null where bill_payment_id = $1',
)

async function current({ projectId, transactionId }: Bill): Promise<Bill> {
  const bill = await findByTransaction(harness.db, projectId, transactionId)
  if (bill === undefined) throw new Error('the payment is gone')
  return bill
}

/** The token in the link that a print shows now. */
const printed = async (bill: Bill, keys = linkKeys) =>
  receiptTokenOf({ db: harness.db, linkKeys: keys }, await current(bill))

/** The payment behind a link. */
const opened = async (token: string) =>
  (await findByLink(harness.db, createHash('sha256').update(token).digest()))?.billPaymentId

it('a receipt shows the same link again after later rotations', async () => {
  const { bill: ofRelease } = await harness.pay()
  await harness.db.run(forgetKeyId, [ofRelease.billPaymentId])
  const { bill: old } = await harness.pay()
  const before = [await printed(ofRelease), await printed(old)]
  linkKeys.rotate()
  const { bill: fresh } = await harness.pay()
  const ofNew = await printed(fresh)
  linkKeys.rotate()
  expect([await printed(ofRelease), await printed(old)]).toEqual(before)
  expect(await printed(fresh)).toBe(ofNew)
  for (const [token, bill] of [
    [before[0], ofRelease],
    [before[1], old],
    [ofNew, fresh],
  ] as const) {
    expect(await opened(token ?? '')).toBe(bill.billPaymentId)
  }
})

it('every receipt is counted as needing its key', async () => {
  linkKeys.rotate()
  const { bill } = await harness.pay()
  const page = await countPage(linkDependants(harness.db)['link.key'] ?? [], linkKeys(), '')
  const { keyId } = linkKeys().current
  expect(page.dependants.find((one) => one.keyId === keyId)).toMatchObject({
    count: 1,
    ids: [bill.transactionId],
  })
  expect(page.dependants.reduce((all, { count }) => all + count, 0)).toBe(
    (await harness.rows()).filter(({ receiptId }) => receiptId !== null).length,
  )
})

it('printing a receipt of a retired key makes one new link for all, and the old link ends', async () => {
  const { bill } = await harness.pay()
  const before = await printed(bill)
  const retired = linkKeys().current.keyId
  linkKeys.rotate()
  linkKeys.retire(retired)
  expect(await opened(before)).toBe(bill.billPaymentId)
  const tokens = await Promise.all(Array.from({ length: 8 }, () => printed(bill)))
  expect(new Set(tokens).size).toBe(1)
  const [token = ''] = tokens
  expect(token).not.toBe(before)
  expect(await opened(token)).toBe(bill.billPaymentId)
  expect(await opened(before)).toBeUndefined()
})
