// Tests what the receipt of a bill payment says beside its fields.
import { expect, it } from 'vitest'
import { drawReceipt } from '#platform/pdf/receipt.ts'
import { readPdf } from '../../../test/support/files/pdf.ts'
import { receiptOfBill } from './receipt.ts'

const bill = {
  receiptId: 'PWBP-ABCD1234',
  transactionId: '0198c000-0000-7000-8000-0000000000aa',
  amountMinor: 2_500n,
  currency: 'USD',
  billerName: 'Demo Water',
  productName: 'Bill',
  customerReference: 'W1234567',
  externalReference: undefined,
  clientReceiptId: undefined,
  endTime: new Date('2026-01-02T03:04:05Z'),
}

it.each([
  ['of a sandbox says', true],
  ['of production does not say', false],
])('the receipt of a bill %s that no real money moved', async (_, isSandbox) => {
  const { letters } = await readPdf(await drawReceipt(receiptOfBill(bill, isSandbox)))
  expect(letters).toContain('PWBP-ABCD1234')
  expect(letters.includes('norealmoneymoves')).toBe(isSandbox)
})
