// Says what the receipt of a bill payment shows: the fields of the contract's receipt only.
import { formatAmount } from '#core/money/money.ts'
import { formatIso } from '#core/text/time.ts'
import type { PrintedReceipt } from '#platform/pdf/receipt.ts'

/** A bill payment that succeeded, with the names of the catalogue. */
export type PaidBill = {
  receiptId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  billerName: string
  productName: string
  customerReference: string
  externalReference: string | undefined
  clientReceiptId: string | undefined
  endTime: Date
}

/** The receipt of a bill payment. */
export function receiptOfBill(bill: PaidBill): PrintedReceipt {
  const { receiptId, currency, amountMinor, externalReference = '', clientReceiptId = '' } = bill
  const rows: [string, string][] = [
    ['Receipt', receiptId],
    ['Product', bill.productName],
    ['Customer reference', bill.customerReference],
    ['Paid at (UTC)', formatIso(bill.endTime)],
    ['Transaction', bill.transactionId],
    ['Order reference', externalReference],
    ['Client receipt', clientReceiptId],
  ]
  return {
    language: 'en',
    title: 'Payment receipt',
    issuer: bill.billerName,
    state: 'Paid',
    total: { label: 'Amount', text: `${formatAmount(amountMinor, currency)} ${currency}` },
    rows: rows.filter(([, text]) => text !== '').map(([label, text]) => ({ label, text })),
    time: bill.endTime,
  }
}
