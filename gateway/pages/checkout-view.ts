// Decides what a payer's page says and offers, from the checkout that payments returns. Pure: no HTML, no HTTP.

import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import {
  maxRefusedAttempts,
  type PayerState,
  type PaymentMethod,
  payerStates,
  paymentMethods,
  paymentStates,
  wordOf,
} from '#core/payment/words.ts'
import { formatDateTime, formatIso } from '#core/text/time.ts'
import { fill, type Language, languages } from './language.ts'
import type { Messages } from './messages/en.ts'

/** A checkout as payments.v1.CheckoutService returns it. */
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
  requestAmountMinor: bigint
  paidAmountMinor: bigint
}

/** How a payer can pay on the page. */
export type Means = 'wallet' | 'card' | 'cash_code'

/** What a page is about: something to pay, an attempt on its way, or an end. */
export type Phase = 'open' | 'processing' | 'ended'

/** The picture beside the title. It adds no information to the words. */
export type Mark = 'wait' | 'done' | 'stop' | 'back'

/** How much of a request of several payers is paid. */
export type Share = { label: string; percent: number }

/** Everything that the page's template shows. */
export type CheckoutView = {
  phase: Phase
  /** Changes whenever the content of the page does. Reveals nothing that the page does not. */
  stamp: string
  /** True while the page can come to say something else. */
  isLive: boolean
  title: string
  /** What the title means for the payer, one sentence or two each. */
  notices: string[]
  /** True when a notice is about something that went wrong. */
  isAlert: boolean
  mark: Mark | undefined
  /** Undefined where the payer is the only one, or nothing is paid yet. */
  share: Share | undefined
  businessName: string
  description: string
  /** The exact figure; the currency is a field of its own. */
  total: string
  currency: string
  amount: string
  /** Undefined when the payer bears no fee. */
  fee: string | undefined
  /** The deadline as it is read, and for machines. Undefined when nothing can be paid. */
  expires: { text: string; iso: string } | undefined
  /** The means that is shown opened; undefined when nothing can be paid. */
  means: Means | undefined
  /** The other means, with the method that selects each. */
  otherMeans: { label: string; method: PaymentMethod }[]
  methodLabels: string[]
  showsQr: boolean
  cashCode: string
  returnUrl: string
}

type Said = { title: keyof Messages; notice?: keyof Messages; isAlert?: boolean; mark?: Mark }

const said = {
  Pending: { title: 'openTitle' },
  Processing: { title: 'processingTitle', notice: 'processingText', mark: 'wait' },
  paid: { title: 'paidTitle', notice: 'paidText', mark: 'done' },
  Cancelled: { title: 'cancelledTitle', notice: 'cancelledText', isAlert: true, mark: 'stop' },
  Expired: { title: 'expiredTitle', notice: 'expiredText', isAlert: true, mark: 'wait' },
  Failed: { title: 'failedTitle', notice: 'failedText', isAlert: true, mark: 'stop' },
  Refunded: { title: 'refundedTitle', notice: 'refundedText', mark: 'back' },
} as const satisfies Record<PayerState, Said>
const refused = {
  title: 'refusedTitle',
  notice: 'refusedText',
  isAlert: true,
  mark: 'stop',
} as const
const yourPartPaid = {
  title: 'yourPartPaidTitle',
  notice: 'yourPartPaidText',
  mark: 'done',
} as const

/** The means behind a method on this channel. */
function meansOf(method: PaymentMethod, hasCashCode: boolean): Means {
  if (hasCashCode) return 'cash_code'
  return method === 'wallet' || method === 'qr_code' ? 'wallet' : 'card'
}

/** A payer's own state. One that this gateway does not know yet offers nothing to pay. */
function stateOf({ payerState }: CheckoutMessage): PayerState {
  return wordOf(payerStates, payerState) ?? 'Failed'
}

/** Several pay: what this payer pays is less than the whole. */
function isShared({ amountMinor, requestAmountMinor }: CheckoutMessage): boolean {
  return requestAmountMinor > amountMinor
}

function isPartlyPaid(checkout: CheckoutMessage): boolean {
  return isShared(checkout) && wordOf(paymentStates, checkout.paymentState) === 'Partially_paid'
}

/** This payer has paid, others have not. */
function isPartOfMore(checkout: CheckoutMessage): boolean {
  return stateOf(checkout) === 'paid' && isPartlyPaid(checkout)
}

/** What the page is about, and a stamp of it. Cheap: a watching page asks for it again and again. */
export function progressOf(checkout: CheckoutMessage): Pick<CheckoutView, 'phase' | 'stamp'> {
  const state = stateOf(checkout)
  const { payerState, paymentState, refusedAttempts, paidAmountMinor } = checkout
  const phase = state === 'Pending' ? 'open' : state === 'Processing' ? 'processing' : 'ended'
  return { phase, stamp: [payerState, paymentState, refusedAttempts, paidAmountMinor].join('-') }
}

/**
 * Builds the view. `wanted` is the method that the payer chose on the page; one that the channel does
 * not offer counts as not chosen.
 */
export function checkoutView(
  checkout: CheckoutMessage,
  language: Language,
  wanted?: string,
): CheckoutView {
  const { currency, cashCode, expireTime } = checkout
  const say = languages[language]
  const state = stateOf(checkout)
  const methods = checkout.allowedMethods.flatMap((number) => wordOf(paymentMethods, number) ?? [])
  const isOpen = state === 'Pending'
  const chosen = methods.find((method) => method === wanted) ?? methods[0]
  const means = isOpen && chosen ? meansOf(chosen, cashCode !== '') : undefined
  const deadline = isOpen && expireTime ? timestampDate(expireTime) : undefined
  return {
    ...progressOf(checkout),
    isLive: isOpen || state === 'Processing' || isPartOfMore(checkout),
    ...wordsOf(checkout, state, say),
    share: shareOf(checkout, state, say),
    businessName: checkout.businessName,
    description: checkout.description,
    total: formatAmount(checkout.amountMinor + checkout.feeMinor, currency),
    currency,
    amount: moneyOf(checkout.amountMinor, currency),
    fee: checkout.feeMinor > 0n ? moneyOf(checkout.feeMinor, currency) : undefined,
    expires: deadline && { text: `${formatDateTime(deadline)} UTC`, iso: formatIso(deadline) },
    means,
    otherMeans: means ? alternatives(methods, means, cashCode !== '', say) : [],
    methodLabels: methods.map((method) => say[method]),
    showsQr: isOpen && methods.includes('qr_code'),
    cashCode: isOpen ? cashCode.replace(/(\d{4})(?=\d)/g, '$1 ') : '',
    returnUrl: state === 'paid' ? checkout.successUrl : isOpen ? '' : checkout.errorUrl,
  }
}

function moneyOf(minor: bigint, currency: string): string {
  return `${formatAmount(minor, currency)} ${currency}`
}

/** What stands in the places of sentences: attempts left, and how far a request of several payers has come. */
function valuesOf(checkout: CheckoutMessage): Record<string, string> {
  const { amountMinor, paidAmountMinor, requestAmountMinor, currency } = checkout
  return {
    count: String(maxRefusedAttempts - checkout.refusedAttempts),
    amount: moneyOf(amountMinor, currency),
    paid: moneyOf(paidAmountMinor, currency),
    whole: moneyOf(requestAmountMinor, currency),
    rest: moneyOf(requestAmountMinor - paidAmountMinor, currency),
  }
}

/** The state in words; what others have paid is shown beside it. */
function wordsOf(
  checkout: CheckoutMessage,
  state: PayerState,
  say: Messages,
): Pick<CheckoutView, 'title' | 'notices' | 'isAlert' | 'mark'> {
  const isRefused = state === 'Pending' && checkout.refusedAttempts > 0
  const { title, notice, isAlert, mark }: Said = isRefused
    ? refused
    : isPartOfMore(checkout)
      ? yourPartPaid
      : said[state]
  const notices = notice === undefined ? [] : [say[notice]]
  if (isShared(checkout) && (state === 'Pending' || state === 'Processing')) {
    notices.push(isPartlyPaid(checkout) ? say.partlyPaidText : say.partOfText)
  }
  const values = valuesOf(checkout)
  return {
    title: say[title],
    notices: notices.map((one) => fill(one, values)),
    isAlert: isAlert ?? false,
    mark,
  }
}

/** How much of the whole is paid, as long as more is to come. */
function shareOf(
  checkout: CheckoutMessage,
  state: PayerState,
  say: Messages,
): CheckoutView['share'] {
  const isGoingOn = state === 'Pending' || state === 'Processing' || isPartOfMore(checkout)
  if (!isPartlyPaid(checkout) || !isGoingOn) return undefined
  const { paidAmountMinor, requestAmountMinor } = checkout
  return {
    label: fill(say.paidOfWhole, valuesOf(checkout)),
    percent: Number((paidAmountMinor * 100n) / requestAmountMinor),
  }
}

/** One method for each means that is not the shown one. */
function alternatives(
  methods: PaymentMethod[],
  shown: Means,
  hasCashCode: boolean,
  say: Messages,
): CheckoutView['otherMeans'] {
  const found = new Map<Means, PaymentMethod>()
  for (const method of methods) {
    const means = meansOf(method, hasCashCode)
    if (means !== shown && !found.has(means)) found.set(means, method)
  }
  return [...found.values()].map((method) => ({ label: say[method], method }))
}
