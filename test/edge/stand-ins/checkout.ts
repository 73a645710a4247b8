// Stands in for payments' checkout and bills' receipts behind hosted pages; it must not hold assertions.
import { createHash } from 'node:crypto'
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors/errors.ts'
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
} from '#core/payment/words.ts'
import {
  type Checkout,
  CheckoutSchema,
  type PaidShare,
  PaidShareSchema,
} from '#gen/payweave/payments/v1/checkout_pb.js'
import type { EdgeSettings, PageServices } from '../../../gateway/options.ts'
import type { PaymentChanges } from '../../../gateway/pages/live-streams.ts'
import { fixedKeys } from '../../support/keys.ts'
import { startEdge } from '../harness.ts'

/** What a test says about a payment; everything else is usual. */
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
  businessName?: string
  payerName?: string
  description?: string
  expireTime?: Date
}

export const successUrl = 'https://shop.example/thanks?order=1&x=2'
export const errorUrl = 'https://shop.example/sorry'
export const cardOrigin = 'https://cards.example'
/** Makes the card form fail to open. */
export const noCardForms = 'no card forms'
/** Makes the card form wait for `seen.slowForm`. */
export const slowCardForms = 'slow card forms'

function checkoutOf(shown: Shown, linkToken: string): Checkout {
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
    cashCode: channel === 'agent' ? '123456789012' : '',
    successUrl,
    errorUrl,
    requestAmountMinor: amountMinor + (shown.othersMinor ?? 0n),
    paidAmountMinor: (shown.othersPaidMinor ?? 0n) + (shown.payer === 'paid' ? amountMinor : 0n),
    payerName: shown.payerName ?? 'Kofi B.',
    payerNumberEnding: '0101',
    paymentId: paymentIdOf(shown),
    transactionId: 'order-1001',
    ...(hasPaid.has(shown.payer ?? 'Pending') && { receipt: receiptOf(shown, linkToken) }),
    cancellable: (shown.payer ?? 'Pending') === 'Pending' && shown.othersMinor === undefined,
  })
}

const hasPaid = new Set<PayerState>(['paid', 'Refunded'])

function receiptOf({ payer, amountMinor = 10_000n, feeMinor = 290n }: Shown, linkToken: string) {
  const paidTime = timestampFromDate(new Date('2026-01-02T02:00:00Z'))
  const refundTime = timestampFromDate(new Date('2026-01-02T02:30:00Z'))
  const receiptId = '0198c000-0000-7000-8000-0000000000ee'
  const receiptToken = receiptTokenOf(linkToken)
  const refund = { refundTime, refundAmountMinor: amountMinor + feeMinor }
  return { receiptId, paidTime, receiptToken, ...(payer === 'Refunded' && refund) }
}

const receiptTokenOf = (linkToken: string) => `${linkToken}-paid-`

/** What payments says of the receipt of a page. */
function shareOf(shown: Shown, linkToken: string): PaidShare {
  const { $typeName: _, ...checkout } = checkoutOf(shown, linkToken)
  return create(PaidShareSchema, checkout)
}

/** One payment for each description. */
function paymentIdOf({ description = '' }: Shown): string {
  return `payment ${description}`
}

/** A PIN that the wallet declines; every other one pays. */
export const decliningPin = '000002'
/** The link of the only receipt. */
export const receiptLink = 'R'.repeat(43)

/** What a payment shows once its payer has sent a PIN. */
function afterPin(shown: Shown, pin: string): Shown {
  if (pin === decliningPin) return { ...shown, refusedAttempts: (shown.refusedAttempts ?? 0) + 1 }
  const isLast = (shown.othersPaidMinor ?? 0n) === (shown.othersMinor ?? 0n)
  return { ...shown, payer: 'paid', payment: isLast ? 'paid' : 'Partially_paid' }
}

/** A gateway whose page `/pay/<link>` shows what `show` was given last, and more pages made by `page`. */
export async function startPages(settings: Partial<EdgeSettings> = {}, receipt?: Buffer) {
  const seen = { pins: [] as string[], reads: 0, slowForm: Promise.resolve(), hearsChanges: true }
  const link = 'A'.repeat(43)
  const payments = new Map<string, Shown>([[link, {}]])
  const shownAt = (linkToken: string): Shown => {
    const shown = payments.get(linkToken)
    if (shown === undefined) throw new Failure('PAYMENT_NOT_FOUND', 'no link')
    return shown
  }
  const checkout = {
    async getCheckout({ linkToken }: { linkToken: string }) {
      seen.reads += 1
      return { checkout: checkoutOf(shownAt(linkToken), linkToken) }
    },
    async getReceipt({ receiptToken }: { receiptToken: string }) {
      const linkToken = receiptToken.slice(0, 43)
      const shown = shownAt(linkToken)
      if (!hasPaid.has(shown.payer ?? 'Pending') || receiptToken !== receiptTokenOf(linkToken)) {
        throw new Failure('PAYMENT_NOT_FOUND', 'no receipt')
      }
      return { share: shareOf(shown, linkToken) }
    },
    async payWithWallet({ linkToken, pin }: { linkToken: string; pin: string }) {
      seen.pins.push(pin)
      const shown = shownAt(linkToken)
      if (linkToken !== link) payments.set(linkToken, afterPin(shown, pin))
      return { checkout: checkoutOf(shownAt(linkToken), linkToken), refused: pin === decliningPin }
    },
    async openCardFrame({ linkToken, language }: { linkToken: string; language: string }) {
      const { description } = shownAt(linkToken)
      if (description === noCardForms) throw new Failure('SERVICE_UNAVAILABLE', 'no form')
      if (description === slowCardForms) await seen.slowForm
      return { frameUrl: `${cardOrigin}/form?lang=${language}` }
    },
    async cancelCheckout({ linkToken }: { linkToken: string }) {
      const shown = shownAt(linkToken)
      if ((shown.payer ?? 'Pending') !== 'Pending') {
        throw new Failure('PAYMENT_NOT_CANCELLABLE', 'too late')
      }
      payments.set(linkToken, { ...shown, payer: 'Cancelled', payment: 'Cancelled' })
      return { checkout: checkoutOf(shownAt(linkToken), linkToken) }
    },
  }
  const receipts = {
    async readReceipt({ token }: { token: string }) {
      if (token !== receiptLink) throw new Failure('BILL_PAYMENT_NOT_FOUND', 'no receipt')
      return { pdf: receipt, receiptId: '123456789012' }
    },
  }
  const listeners = new Set<(paymentId: string) => void>()
  const changes: PaymentChanges = {
    isLive: () => seen.hearsChanges,
    subscribe(onChange) {
      listeners.add(onChange)
      return () => void listeners.delete(onChange)
    },
  }
  const change = (linkToken: string, next: Shown) => {
    payments.set(linkToken, next)
    for (const onChange of listeners) onChange(paymentIdOf(next))
  }
  const pages = {
    checkout,
    receipts,
    changes,
    pageKeys: fixedKeys(Buffer.alloc(32, 1)),
  } as unknown as PageServices
  const edge = await startEdge(settings, { pages })
  return {
    link,
    seen,
    url: `${edge.url}/pay/${link}`,
    origin: edge.url,
    show: (next: Shown) => change(link, next),
    /** A page of its own, where a PIN pays or is declined. */
    page(shown: Shown) {
      // The same in every run, so that a picture of the page does not change.
      const own = createHash('sha256').update(String(payments.size)).digest('base64url')
      payments.set(own, shown)
      return {
        url: `${edge.url}/pay/${own}`,
        receiptUrl: `${edge.url}/receipts/${receiptTokenOf(own)}`,
        show: (next: Shown) => change(own, next),
      }
    },
    close: edge.close,
  }
}
