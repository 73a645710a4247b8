// Decides what a receipt says, on the page and in the PDF, from the paid share that payments returns. Pure: no HTML, no HTTP.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { paymentMethods, wordOf } from '#core/payment/words.ts'
import { type Language, localMoney } from '#core/text/language.ts'
import { languages } from '../language.ts'
import { type ShownAmount, type ShownTime, shownAmount, shownPayer, shownTime } from '../shown.ts'

/** A paid share as payweave.payments.v1.CheckoutService returns it. */
export type PaidShareMessage = {
  businessName: string
  description: string
  currency: string
  amountMinor: bigint
  feeMinor: bigint
  paymentMethod: number
  payerName: string
  payerNumberEnding: string
  transactionId: string
  receipt?: ReceiptMessage | undefined
  merchantId: string
  projectId: string
}

/** The proof of a payer's money. */
export type ReceiptMessage = {
  receiptId: string
  paidTime?: Timestamp | undefined
  refundTime?: Timestamp | undefined
  refundAmountMinor: bigint
  receiptToken: string
}

/** One line of a receipt. Money is read from left to right in every language. */
export type ReceiptRow = { label: string; text: string; time?: ShownTime; isMoney?: boolean }

/** What a receipt shows. */
export type ReceiptView = {
  businessName: string
  description: string
  /** What has become of the payer's money. */
  title: string
  mark: 'done' | 'back'
  totalLabel: string
  total: ShownAmount
  currency: string
  rows: ReceiptRow[]
  number: string
  /** When it last changed: paid, or refunded. */
  changeTime: Date
}

/** A share and its fee, where the payer bears one, and what proves it once it is paid; in the order of reading. */
export function shareRows(share: PaidShareMessage, language: Language): ReceiptRow[] {
  const { receipt, currency, amountMinor, feeMinor } = share
  const say = languages[language]
  const moneyRow = (label: string, minor: bigint): ReceiptRow => ({
    label,
    text: localMoney(minor, currency, language),
    isMoney: true,
  })
  const rows = feeMinor > 0n ? [moneyRow(say.amount, amountMinor), moneyRow(say.fee, feeMinor)] : []
  if (receipt === undefined) return rows
  const refundMinor = receipt.refundAmountMinor
  const method = wordOf(paymentMethods, share.paymentMethod)
  rows.push(
    timeRow(say.paidOn, receipt.paidTime, language),
    ...(refundMinor > 0n ? [moneyRow(say.refundedAmount, refundMinor)] : []),
    timeRow(say.refundedOn, receipt.refundTime, language),
    { label: say.paidWith, text: method === undefined ? '' : say[method] },
    { label: say.payer, text: shownPayer(share) },
    { label: say.reference, text: share.transactionId },
    { label: say.receiptNumber, text: receipt.receiptId },
  )
  return rows.filter(({ text }) => text !== '')
}

function timeRow(label: string, timestamp: Timestamp | undefined, language: Language): ReceiptRow {
  if (timestamp === undefined) return { label, text: '' }
  const time = shownTime(timestamp, language)
  return { label, text: time.text, time }
}

/** Builds the view. */
export function receiptView(share: PaidShareMessage, language: Language): ReceiptView {
  const { businessName, description, currency, receipt } = share
  const say = languages[language]
  const isRefunded = (receipt?.refundAmountMinor ?? 0n) > 0n
  const time = receipt?.refundTime ?? receipt?.paidTime
  return {
    businessName,
    description,
    title: isRefunded ? say.refundedTitle : say.paidTitle,
    mark: isRefunded ? 'back' : 'done',
    totalLabel: say.totalPaid,
    total: shownAmount(share.amountMinor + share.feeMinor, currency, language),
    currency,
    rows: shareRows(share, language),
    number: receipt?.receiptId ?? '',
    changeTime: time === undefined ? new Date(0) : timestampDate(time),
  }
}
