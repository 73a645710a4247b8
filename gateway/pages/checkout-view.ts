// Decides what a payer's page says and offers, from the checkout as payments tells it. Pure; it must not know HTML or HTTP.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money.ts'
import {
  maxRefusedAttempts,
  type PayerState,
  type PaymentMethod,
  payerStates,
  paymentMethods,
  paymentStates,
  wordOf,
} from '#core/payment-words.ts'
import { formatDateTime, formatIso } from '#core/time.ts'
import { fill, type Language, languages, type Messages } from './language.ts'

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

/** What a page is about: something to pay, an attempt on its way, or an end. */
export type Phase = 'open' | 'processing' | 'ended'

/** Everything that the page's template shows. */
export type CheckoutView = {
  phase: Phase
  /** Changes whenever the page would say something else. Tells nothing that the page does not. */
  stamp: string
  /** True while the page can come to say something else. */
  isLive: boolean
  title: string
  /** What the title means for the payer, one sentence or two each. */
  notices: string[]
  /** True when a notice is about something that went wrong. */
  isAlert: boolean
  businessName: string
  description: string
  total: string
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

type Said = { title: keyof Messages; notice?: keyof Messages; isAlert?: boolean }

const said = {
  Pending: { title: 'openTitle' },
  Processing: { title: 'processingTitle', notice: 'processingText' },
  paid: { title: 'paidTitle', notice: 'paidText' },
  Cancelled: { title: 'cancelledTitle', notice: 'cancelledText', isAlert: true },
  Expired: { title: 'expiredTitle', notice: 'expiredText', isAlert: true },
  Failed: { title: 'failedTitle', notice: 'failedText', isAlert: true },
  Refunded: { title: 'refundedTitle', notice: 'refundedText' },
} as const satisfies Record<PayerState, Said>
const refused = { title: 'refusedTitle', notice: 'refusedText', isAlert: true } as const
const yourPartPaid = { title: 'yourPartPaidTitle', notice: 'yourPartPaidText' } as const

/** The means behind a method on this channel. */
function meansOf(method: PaymentMethod, hasCashCode: boolean): Means {
  if (hasCashCode) return 'cash_code'
  return method === 'wallet' || method === 'qr_code' ? 'wallet' : 'card'
}

/** A payer's own state. One that this gateway does not know yet offers nothing to pay. */
function stateOf({ payerState }: CheckoutMessage): PayerState {
  return wordOf(payerStates, payerState) ?? 'Failed'
}

function isPartlyPaid({ paymentState }: CheckoutMessage): boolean {
  return wordOf(paymentStates, paymentState) === 'Partially_paid'
}

/** This payer has paid, others have not. */
function isPartOfMore(checkout: CheckoutMessage): boolean {
  return stateOf(checkout) === 'paid' && isPartlyPaid(checkout)
}

/** What the page is about, and a stamp of it. Cheap: a watching page asks for it again and again. */
export function progressOf(checkout: CheckoutMessage): Pick<CheckoutView, 'phase' | 'stamp'> {
  const state = stateOf(checkout)
  const { payerState, paymentState, refusedAttempts } = checkout
  const phase = state === 'Pending' ? 'open' : state === 'Processing' ? 'processing' : 'ended'
  return { phase, stamp: `${payerState}-${paymentState}-${refusedAttempts}` }
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
  const money = (minor: bigint): string => `${formatAmount(minor, currency)} ${currency}`
  const deadline = isOpen && expireTime ? timestampDate(expireTime) : undefined
  return {
    ...progressOf(checkout),
    isLive: isOpen || state === 'Processing' || isPartOfMore(checkout),
    ...wordsOf(checkout, state, say),
    businessName: checkout.businessName,
    description: checkout.description,
    total: money(checkout.amountMinor + checkout.feeMinor),
    amount: money(checkout.amountMinor),
    fee: checkout.feeMinor > 0n ? money(checkout.feeMinor) : undefined,
    expires: deadline && { text: `${formatDateTime(deadline)} UTC`, iso: formatIso(deadline) },
    means,
    otherMeans: means ? alternatives(methods, means, cashCode !== '', say) : [],
    methodLabels: methods.map((method) => say[method]),
    showsQr: isOpen && methods.includes('qr_code'),
    cashCode: isOpen ? cashCode.replace(/(\d{4})(?=\d)/g, '$1 ') : '',
    returnUrl: state === 'paid' ? checkout.successUrl : isOpen ? '' : checkout.errorUrl,
  }
}

/** The state in words; that others have paid is told beside it. */
function wordsOf(
  checkout: CheckoutMessage,
  state: PayerState,
  say: Messages,
): Pick<CheckoutView, 'title' | 'notices' | 'isAlert'> {
  const { refusedAttempts } = checkout
  const isRefused = state === 'Pending' && refusedAttempts > 0
  const { title, notice, isAlert }: Said = isRefused
    ? refused
    : isPartOfMore(checkout)
      ? yourPartPaid
      : said[state]
  const notices = notice === undefined ? [] : [say[notice]]
  if (state === 'Pending' && isPartlyPaid(checkout)) notices.push(say.partlyPaidText)
  const count = String(maxRefusedAttempts - refusedAttempts)
  return {
    title: say[title],
    notices: notices.map((one) => fill(one, { count })),
    isAlert: isAlert ?? false,
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
