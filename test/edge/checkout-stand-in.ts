// Stands in for payments' checkout and bills' receipts behind hosted pages; it must not hold assertions.
import { create } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { Failure } from '#core/errors.ts'
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
} from '#core/payment-words.ts'
import { type Checkout, CheckoutSchema } from '#gen/payments/v1/checkout_pb.js'
import type { EdgeSettings, PageServices } from '../../gateway/options.ts'
import { startEdge } from './fixture.ts'

/** What a test says about a payment; everything else is usual. */
export type Shown = {
  payer?: PayerState
  payment?: PaymentState
  channel?: PaymentChannel
  method?: PaymentMethod
  currency?: string
  amountMinor?: bigint
  feeMinor?: bigint
  refusedAttempts?: number
  businessName?: string
  description?: string
}

export const successUrl = 'https://shop.example/thanks?order=1&x=2'
export const errorUrl = 'https://shop.example/sorry'
export const cardOrigin = 'https://cards.example'
/** Makes the card form fail to open. */
export const noCardForms = 'no card forms'

function checkoutOf(shown: Shown): Checkout {
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
    expireTime: timestampFromDate(new Date('2026-01-02T03:04:05Z')),
    paymentChannel: numberOf(paymentChannels, channel),
    paymentMethod: numberOf(paymentMethods, method),
    allowedMethods: [method, ...others].map((one) => numberOf(paymentMethods, one)),
    refusedAttempts: shown.refusedAttempts ?? 0,
    cashCode: channel === 'agent' ? '123456789012' : '',
    successUrl,
    errorUrl,
  })
}

/** A gateway whose pages show what `show` was given last, at `/pay/<link>`. */
export async function startPages(settings: Partial<EdgeSettings> = {}) {
  const seen = { pins: [] as string[], reads: 0 }
  let shown: Shown = {}
  const link = 'A'.repeat(43)
  const checkout = {
    getCheckout({ linkToken }: { linkToken: string }) {
      seen.reads += 1
      if (linkToken !== link) return Promise.reject(new Failure('PAYMENT_NOT_FOUND', 'no link'))
      return Promise.resolve({ checkout: checkoutOf(shown) })
    },
    payWithWallet({ pin }: { pin: string }) {
      seen.pins.push(pin)
      return Promise.resolve({ checkout: checkoutOf(shown), refused: false })
    },
    openCardFrame() {
      if (shown.description === noCardForms) {
        return Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'no form'))
      }
      return Promise.resolve({ frameUrl: `${cardOrigin}/form?session=1` })
    },
  }
  const receipts = { readReceipt: () => Promise.reject(new Error('never asked')) }
  const pages = { checkout, receipts, pageKey: Buffer.alloc(32, 1) } as unknown as PageServices
  const edge = await startEdge(settings, { pages })
  return {
    link,
    seen,
    url: `${edge.url}/pay/${link}`,
    origin: edge.url,
    show(next: Shown) {
      shown = next
    },
    close: edge.close,
  }
}
