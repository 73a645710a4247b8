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

const sandboxBanner = 'TEST · Sandbox: this is a test, no real money moves.'

/** The receipt of a bill payment. That of a sandbox says that no real money moved. */
export function receiptOfBill(bill: PaidBill, isSandbox: boolean): PrintedReceipt {
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
    ...(isSandbox && { banner: sandboxBanner }),
    issuer: bill.billerName,
    state: 'Paid',
    total: { label: 'Amount', text: `${formatAmount(amountMinor, currency)} ${currency}` },
    rows: rows.filter(([, text]) => text !== '').map(([label, text]) => ({ label, text })),
    time: bill.endTime,
  }
}
