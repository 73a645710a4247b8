// Sample payments in every state of a payer's page and of a receipt: for previews of a merchant's branding, for tests and screenshots.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  channelMethods,
  numberOf,
  type PayerState,
  type PaymentChannel,
  type PaymentMethod,
  type PaymentState,
  payerStates,
  paymentChannels,
  paymentMethods,
  paymentStates,
  type RefundState,
  type RefusalReason,
  refundStates,
  refusalReasons,
} from '#core/payment/words.ts'
import {
  type Checkout,
  CheckoutSchema,
  type PaidShare,
  PaidShareSchema,
} from '#gen/payweave/payments/v1/checkout_pb.js'
import type { MessageKind } from '../render.ts'

/** What is said about a payment; everything else is usual. */
export type Shown = {
  payer?: PayerState
  payment?: PaymentState
  channel?: PaymentChannel
  method?: PaymentMethod
  currency?: string
  amountMinor?: bigint
  feeMinor?: bigint
  /** The shares of the other payers, and what they have paid. */
  othersMinor?: bigint
  othersPaidMinor?: bigint
  refusedAttempts?: number
  refusalReason?: RefusalReason
  /** Of money that came: in state Refunded `sent`, in others none. */
  refund?: RefundState
  businessName?: string
  payerName?: string
  description?: string
  expireTime?: Date
}

/** The checkout of a payment, as payments would return it. */
export function sampleCheckout(shown: Shown, linkToken: string): Checkout {
  const { channel = 'payment_link', method = 'wallet', amountMinor = 10_000n } = shown
  const others = channelMethods[channel].filter((other) => other !== method)
  return create(CheckoutSchema, {
    businessName: shown.businessName ?? 'Demo Store',
    description: shown.description ?? 'Order 1001',
    currency: shown.currency ?? 'TTD',
    amountMinor,
    feeMinor: shown.feeMinor ?? 290n,
    paymentState: numberOf(paymentStates, shown.payment ?? 'Pending'),
    payerState: numberOf(payerStates, shown.payer ?? 'Pending'),
    expireTime: timestampFromDate(shown.expireTime ?? new Date('2026-01-02T03:04:05Z')),
    paymentChannel: numberOf(paymentChannels, channel),
    paymentMethod: numberOf(paymentMethods, method),
    allowedMethods: [method, ...others].map((one) => numberOf(paymentMethods, one)),
    refusedAttempts: shown.refusedAttempts ?? 0,
    ...(shown.refusalReason && {
      refusalReason: numberOf(refusalReasons, shown.refusalReason),
    }),
    cashCode: channel === 'agent' ? '123456789012' : '',
    successUrl,
    errorUrl,
    requestAmountMinor: amountMinor + (shown.othersMinor ?? 0n),
    paidAmountMinor: (shown.othersPaidMinor ?? 0n) + (shown.payer === 'paid' ? amountMinor : 0n),
    payerName: shown.payerName ?? 'Kofi B.',
    payerNumberEnding: '0101',
    paymentId: samplePaymentId(shown),
    transactionId: 'order-1001',
    ...(hasMoney(shown) && { receipt: receiptOf(shown, linkToken) }),
    cancellable: (shown.payer ?? 'Pending') === 'Pending' && shown.othersMinor === undefined,
  })
}

function hasMoney({ payer, refund }: Shown): boolean {
  return payer === 'paid' || payer === 'Refunded' || refund !== undefined
}

function receiptOf(shown: Shown, linkToken: string) {
  const { payer, amountMinor = 10_000n, feeMinor = 290n } = shown
  const { refund: state = payer === 'Refunded' ? 'sent' : undefined } = shown
  const paidTime = timestampFromDate(new Date('2026-01-02T02:00:00Z'))
  const refundTime = timestampFromDate(new Date('2026-01-02T02:30:00Z'))
  const receiptId = '0198c000-0000-7000-8000-0000000000ee'
  const receiptToken = receiptTokenOf(linkToken)
  const refundAmountMinor = amountMinor + feeMinor
  return {
    receiptId,
    paidTime,
    receiptToken,
    ...(state && { refundTime, refundAmountMinor, refundState: numberOf(refundStates, state) }),
  }
}

/** The token of the receipt of a payment. */
export function receiptTokenOf(linkToken: string): string {
  return `${linkToken}-paid-`
}

/** The share that the receipt of a payment shows; undefined when it was not paid. */
export function sampleShare(shown: Shown, linkToken: string): PaidShare | undefined {
  const { $typeName: _, ...checkout } = sampleCheckout(shown, linkToken)
  return checkout.receipt && create(PaidShareSchema, checkout)
}

/** One payment for each description. */
export function samplePaymentId({ description = '' }: Shown): string {
  return `payment ${description}`
}

/** Where the shop of the samples is. */
export const successUrl = 'https://shop.example/thanks?order=1&x=2'
export const errorUrl = 'https://shop.example/sorry'
/** The description of a payment whose card form cannot be opened. */
export const noCardForms = 'no card forms'

const shared = { payment: 'Partially_paid', othersMinor: 6_000n, othersPaidMinor: 2_000n } as const

/** A state's name, what the payment behind it is like, and the query of the page. */
export const states: Array<[name: string, shown: Shown, query?: string]> = [
  ['open', {}],
  ['open by card', { method: 'card' }],
  ['open without a card form', { method: 'card', description: noCardForms }],
  ['open at a point of sale', { channel: 'direct_pos', method: 'qr_code' }],
  ['open on the phone that scanned', { channel: 'direct_pos', method: 'qr_code' }, '?scanned=1'],
  ['open at an agent', { channel: 'agent', method: 'cash' }],
  ['open to one of several', { othersMinor: 6_000n }],
  ['partly paid by others', shared],
  ['refused', { refusedAttempts: 2, refusalReason: 'insufficient_funds' }],
  ['refused, one attempt left', { refusedAttempts: 4, refusalReason: 'wrong_credentials' }],
  ['processing', { payer: 'Processing' }],
  ['paid', { payer: 'paid', payment: 'paid' }],
  ['paid, others not', { ...shared, payer: 'paid' }],
  ['cancelled', { payer: 'Cancelled', payment: 'Cancelled' }],
  ['expired', { payer: 'Expired', payment: 'Expired' }],
  ['failed', { payer: 'Failed', payment: 'Failed', refusedAttempts: 5, refusalReason: 'declined' }],
  ['failed, money came late', { payer: 'Failed', payment: 'Failed', refund: 'sent' }],
  ['refunded', { payer: 'Refunded', payment: 'Refunded' }],
  ['refund delayed', { payer: 'Refunded', payment: 'Refunded', refund: 'failed' }],
]

/** Every state of a receipt. */
export const receiptStates: Array<[name: string, shown: Shown]> = [
  ['receipt', { payer: 'paid', payment: 'paid' }],
  ['receipt, refunded', { payer: 'Refunded', payment: 'Refunded' }],
  ['receipt, refund delayed', { payer: 'Refunded', payment: 'Refunded', refund: 'failed' }],
]

/** Pages of an open payment that are no states of it. */
const questionPages = ['cancel', 'mistaken PIN'] as const

/** Pages that say one thing, by their names in a preview. */
export const messagePages = {
  'link not found': 'notFound',
  'receipt not found': 'receiptNotFound',
  'page unavailable': 'unavailable',
  'payment not confirmed': 'notConfirmed',
  'payment not sent': 'notSent',
  'wallet not offered': 'walletNotOffered',
  'open for too long': 'foreignForm',
  'too many requests': 'tooMany',
} as const satisfies Record<string, MessageKind>

/** The pages that a preview shows: every state of a payment and of a receipt, and every other page of them. */
export const previewNames: readonly string[] = [
  ...states.map(([name]) => name),
  ...receiptStates.map(([name]) => name),
  ...questionPages,
  ...Object.keys(messagePages),
]
