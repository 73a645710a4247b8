// Stands in for payments' checkout, merchants' branding and bills' receipts behind hosted pages; it must not hold assertions.
import { createHash } from 'node:crypto'
import { Failure } from '#core/errors/errors.ts'
import type { EdgeSettings, PageServices } from '../../../gateway/options.ts'
import { noBrand } from '../../../gateway/pages/brand/brands.ts'
import type { PaymentChanges } from '../../../gateway/pages/live-streams.ts'
import {
  noCardForms,
  receiptTokenOf,
  type Shown,
  sampleCheckout,
  samplePaymentId,
  sampleShare,
} from '../../../gateway/pages/preview/samples.ts'
import { fixedKeys } from '../../support/keys.ts'
import { startEdge } from '../harness.ts'
import { brandsOf } from './brands.ts'

export const cardOrigin = 'https://cards.example'
/** Of a payment whose connector takes no cards. */
export const withoutCards = 'no cards'
/** Makes the card form wait for `seen.slowForm`. */
export const slowCardForms = 'slow card forms'
/** The description of a payment that cannot be read for now. */
export const noAnswers = 'no answers'
/** The key of the tokens in forms. */
export const pageKey = Buffer.alloc(32, 1)

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

type CardFrame = { linkToken: string; language: string; theme: unknown }

/** A gateway whose page `/pay/<link>` shows what `show` was given last, and more pages made by `page`. */
export async function startPages(settings: Partial<EdgeSettings> = {}, receipt?: Buffer) {
  const seen = {
    pins: [] as string[],
    themes: [] as unknown[],
    reads: 0,
    slowForm: Promise.resolve(),
    /** What the wallet waits for before it answers; a rejection is an answer that is lost once the attempt has begun. */
    wallet: undefined as Promise<unknown> | undefined,
    /** Why a call to pay fails before an attempt has begun. */
    failure: undefined as Failure | undefined,
    /** Changes happen that no stream hears of. */
    isMute: false,
    isSubscribed: true,
    brand: noBrand,
    logo: undefined as Buffer | undefined,
  }
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
      if (shownAt(linkToken).description === noAnswers) {
        throw new Failure('SERVICE_UNAVAILABLE', 'no answer')
      }
      return { checkout: sampleCheckout(shownAt(linkToken), linkToken) }
    },
    async getReceipt({ receiptToken }: { receiptToken: string }) {
      const linkToken = receiptToken.slice(0, 43)
      const share = sampleShare(shownAt(linkToken), linkToken)
      if (share === undefined || receiptToken !== receiptTokenOf(linkToken)) {
        throw new Failure('PAYMENT_NOT_FOUND', 'no receipt')
      }
      return { share }
    },
    async payWithWallet({ linkToken, pin }: { linkToken: string; pin: string }) {
      seen.pins.push(pin)
      const shown = shownAt(linkToken)
      if (seen.failure !== undefined) throw seen.failure
      if (seen.wallet !== undefined) {
        change(linkToken, { ...shown, payer: 'Processing' })
        await seen.wallet
      }
      if (linkToken !== link) payments.set(linkToken, afterPin(shown, pin))
      return {
        checkout: sampleCheckout(shownAt(linkToken), linkToken),
        refused: pin === decliningPin,
      }
    },
    async openCardFrame({ linkToken, language, theme }: CardFrame) {
      seen.themes.push(theme)
      const { description } = shownAt(linkToken)
      if (description === noCardForms) throw new Failure('SERVICE_UNAVAILABLE', 'no form')
      if (description === withoutCards) throw new Failure('UNSUPPORTED_CHANNEL_METHOD', 'no cards')
      if (description === slowCardForms) await seen.slowForm
      return { frameUrl: `${cardOrigin}/form?lang=${language}` }
    },
    async cancelCheckout({ linkToken }: { linkToken: string }) {
      const shown = shownAt(linkToken)
      if ((shown.payer ?? 'Pending') !== 'Pending') {
        throw new Failure('PAYMENT_NOT_CANCELLABLE', 'too late')
      }
      payments.set(linkToken, { ...shown, payer: 'Cancelled', payment: 'Cancelled' })
      return { checkout: sampleCheckout(shownAt(linkToken), linkToken) }
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
    isLive: () => seen.isSubscribed,
    subscribe(onChange) {
      listeners.add(onChange)
      return () => void listeners.delete(onChange)
    },
  }
  const change = (linkToken: string, next: Shown) => {
    payments.set(linkToken, next)
    if (seen.isMute) return
    for (const onChange of listeners) onChange(samplePaymentId(next))
  }
  const pages = {
    checkout,
    receipts,
    changes,
    brands: brandsOf(seen),
    pageKeys: fixedKeys(pageKey),
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
