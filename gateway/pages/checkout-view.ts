// Decides what a payer's page says and offers, from the checkout as payments tells it. Pure; it must not know HTML or HTTP.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money.ts'
import {
  type PayerState,
  type PaymentMethod,
  payerStates,
  paymentMethods,
  wordOf,
} from '#core/payment-words.ts'
import { formatDateTime } from '#core/time.ts'

/** A checkout as payments.v1.CheckoutService tells it. */
export type CheckoutMessage = {
  businessName: string
  description: string
  currency: string
  amountMinor: bigint
  feeMinor: bigint
  paymentState: number
  payerState: number
  expireTime?: Timestamp | undefined
  paymentChannel: number
  paymentMethod: number
  allowedMethods: number[]
  refusedAttempts: number
  cashCode: string
  successUrl: string
  errorUrl: string
}

/** How a payer can pay on the page. */
export type Means = 'wallet' | 'card' | 'cash_code'

/** Everything that the page's template shows. */
export type CheckoutView = {
  title: string
  notice: string | undefined
  businessName: string
  description: string
  total: string
  amount: string
  /** Undefined when the payer bears no fee. */
  fee: string | undefined
  expires: string
  isOpen: boolean
  isProcessing: boolean
  /** The means that is shown opened; undefined when nothing can be paid. */
  means: Means | undefined
  /** The other means, with the method that selects each. */
  otherMeans: { label: string; method: PaymentMethod }[]
  methodLabels: string[]
  showsQr: boolean
  cashCode: string
  returnUrl: string
}

const methodLabels = {
  cash: 'Cash',
  card: 'Card',
  wallet: 'Mobile wallet',
  credit: 'Credit card',
  debit: 'Debit card',
  qr_code: 'QR code',
} as const satisfies Record<PaymentMethod, string>

const titles = {
  Pending: 'Payment request',
  Processing: 'Your payment is being processed',
  paid: 'Paid',
  Cancelled: 'This payment request was cancelled',
  Expired: 'This payment request has expired',
  Failed: 'This payment failed',
  Refunded: 'Your money is on its way back',
} as const satisfies Record<PayerState, string>

const notices = {
  Pending: undefined,
  Processing: 'Please wait. This page renews itself.',
  paid: 'Thank you. The merchant has been told.',
  Cancelled: 'The merchant cancelled it. Nothing can be paid here any more.',
  Expired: 'The time to pay has run out. Ask the merchant for a new link.',
  Failed: 'Nothing can be paid here any more. Ask the merchant for a new link.',
  Refunded: 'The payment was refunded.',
} as const satisfies Record<PayerState, string | undefined>

/** The means behind a method on this channel. */
function meansOf(method: PaymentMethod, hasCashCode: boolean): Means {
  if (hasCashCode) return 'cash_code'
  return method === 'wallet' || method === 'qr_code' ? 'wallet' : 'card'
}

/**
 * Builds the view. `wanted` is the method that the payer chose on the page; one that the channel does
 * not offer counts as not chosen.
 */
export function checkoutView(checkout: CheckoutMessage, wanted?: string): CheckoutView {
  const { currency, cashCode } = checkout
  const state = wordOf(payerStates, checkout.payerState) ?? 'Failed'
  const methods = checkout.allowedMethods.flatMap((number) => wordOf(paymentMethods, number) ?? [])
  const isOpen = state === 'Pending'
  const chosen = methods.find((method) => method === wanted) ?? methods[0]
  const means = isOpen && chosen ? meansOf(chosen, cashCode !== '') : undefined
  const money = (minor: bigint): string => `${formatAmount(minor, currency)} ${currency}`
  return {
    title: titles[state],
    notice:
      isOpen && checkout.refusedAttempts > 0
        ? 'The last attempt was refused. You can try again.'
        : notices[state],
    businessName: checkout.businessName,
    description: checkout.description,
    total: money(checkout.amountMinor + checkout.feeMinor),
    amount: money(checkout.amountMinor),
    fee: checkout.feeMinor > 0n ? money(checkout.feeMinor) : undefined,
    expires: checkout.expireTime ? `${formatDateTime(timestampDate(checkout.expireTime))} UTC` : '',
    isOpen,
    isProcessing: state === 'Processing',
    means,
    otherMeans: means ? alternatives(methods, means, cashCode !== '') : [],
    methodLabels: methods.map((method) => methodLabels[method]),
    showsQr: isOpen && methods.includes('qr_code'),
    cashCode: isOpen ? cashCode.replace(/(\d{4})(?=\d)/g, '$1 ') : '',
    returnUrl: state === 'paid' ? checkout.successUrl : isOpen ? '' : checkout.errorUrl,
  }
}

/** One method for each means that is not the shown one. */
function alternatives(
  methods: PaymentMethod[],
  shown: Means,
  hasCashCode: boolean,
): CheckoutView['otherMeans'] {
  const found = new Map<Means, PaymentMethod>()
  for (const method of methods) {
    const means = meansOf(method, hasCashCode)
    if (means !== shown && !found.has(means)) found.set(means, method)
  }
  return [...found.values()].map((method) => ({ label: methodLabels[method], method }))
}
