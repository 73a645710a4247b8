// Decides what a receipt says, on the page and in the PDF, from the paid share that payments returns. Pure: no HTML, no HTTP.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { paymentMethods, refundStates, wordOf } from '#core/payment/words.ts'
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
  refundState: number
  receiptToken: string
}

/** The state of a payer's money: with the merchant, refunded or about to be, refunded by hand, or held by us because the refund failed. */
export type MoneyState = 'merchant' | 'back' | 'by_hand' | 'held'

/** One line of a receipt. Money is read from left to right in every language. */
export type ReceiptRow = { label: string; text: string; time?: ShownTime; isMoney?: boolean }

/** What a receipt shows. */
export type ReceiptView = {
  businessName: string
  description: string
  /** Says whether the money was paid, returned or not taken. */
  title: string
  mark: 'done' | 'back' | 'stop'
  totalLabel: string
  total: ShownAmount
  currency: string
  rows: ReceiptRow[]
  number: string
  /** When it last changed: paid, or refunded. */
  changeTime: Date
}

/** The state of the money of a paid share. */
export function moneyState({ refundAmountMinor, refundState }: ReceiptMessage): MoneyState {
  const state = wordOf(refundStates, refundState)
  if (state === 'failed') return 'held'
  if (state === 'settled') return 'by_hand'
  return refundAmountMinor > 0n ? 'back' : 'merchant'
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
  const state = moneyState(receipt)
  const isHeld = state === 'held'
  const isBack = refundMinor > 0n && !isHeld
  const method = wordOf(paymentMethods, share.paymentMethod)
  rows.push(
    timeRow(say.paidOn, receipt.paidTime, language),
    ...(isHeld ? [moneyRow(say.refundDue, refundMinor)] : []),
    ...(isBack ? [moneyRow(say.refundedAmount, refundMinor)] : []),
    timeRow(say.refundedOn, isBack ? receipt.refundTime : undefined, language),
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

const saidOf = {
  merchant: { title: 'paidTitle', mark: 'done' },
  back: { title: 'refundedTitle', mark: 'back' },
  by_hand: { title: 'refundedTitle', mark: 'back' },
  held: { title: 'refundHeldTitle', mark: 'stop' },
} as const satisfies Record<MoneyState, object>

/** Builds the view. */
export function receiptView(share: PaidShareMessage, language: Language): ReceiptView {
  const { businessName, description, currency, receipt } = share
  const say = languages[language]
  const { title, mark } = saidOf[receipt === undefined ? 'merchant' : moneyState(receipt)]
  const time = receipt?.refundTime ?? receipt?.paidTime
  return {
    businessName,
    description,
    title: say[title],
    mark,
    totalLabel: say.totalPaid,
    total: shownAmount(share.amountMinor + share.feeMinor, currency, language),
    currency,
    rows: shareRows(share, language),
    number: receipt?.receiptId ?? '',
    changeTime: time === undefined ? new Date(0) : timestampDate(time),
  }
}
