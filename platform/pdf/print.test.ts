// Tests that one receipt cannot take the room of all others that wait to be printed.
import { expect, it } from 'vitest'
import { printReceipt } from './print.ts'
import type { PrintedReceipt } from './receipt.ts'

const receipt: PrintedReceipt = {
  language: 'en',
  title: 'Receipt',
  issuer: 'Demo Store',
  state: 'Paid',
  total: { label: 'Total paid', text: '102.90 TTD' },
  rows: [],
  time: new Date('2026-01-02T03:04:05Z'),
}

it('four prints of one receipt wait at once, further ones are refused, and other receipts are printed', async () => {
  const ofOne = Promise.allSettled(Array.from({ length: 40 }, () => printReceipt('one', receipt)))
  const other = await printReceipt('other', receipt)
  expect(Buffer.from(other).subarray(0, 5).toString()).toBe('%PDF-')
  const settled = await ofOne
  const refusals = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  expect(refusals).toHaveLength(36)
  expect(new Set(refusals.map(({ reason }) => reason))).toEqual(new Set(['SERVICE_UNAVAILABLE']))
  await printReceipt('one', receipt)
})
