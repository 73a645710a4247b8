// Decides what a payer's page says and offers, from the checkout that payments returns. Pure: no HTML, no HTTP.

import type { Timestamp } from '@bufbuild/protobuf/wkt'
import {
  maxRefusedAttempts,
  type PayerState,
  type PaymentMethod,
  payerStates,
  paymentMethods,
  paymentStates,
  refusalReasons,
  wordOf,
} from '#core/payment/words.ts'
import { type Language, localMoney } from '#core/text/language.ts'
import { refusals } from '#core/text/refusals.ts'
import { fill, languages } from './language.ts'
import type { Messages } from './messages/en.ts'
import {
  type MoneyState,
  moneyState,
  type PaidShareMessage,
  type ReceiptRow,
  shareRows,
} from './receipts/receipt-view.ts'
import { type ShownAmount, type ShownTime, shownAmount, shownPayer, shownTime } from './shown.ts'

/** A checkout as payweave.payments.v1.CheckoutService returns it; `receipt` is undefined until the share is paid. */
export type CheckoutMessage = PaidShareMessage & {
  paymentState: number
  payerState: number
  expireTime?: Timestamp | undefined
  paymentChannel: number
  allowedMethods: number[]
  refusedAttempts: number
  cashCode: string
  successUrl: string
  errorUrl: string
  requestAmountMinor: bigint
  paidAmountMinor: bigint
  paymentId: string
  cancellable: boolean
  refusalReason: number
}

/** How a payer can pay on the page. */
export type PaymentOption = 'wallet' | 'card' | 'cash_code'

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
  /** What the total is: to pay, paid, or neither. */
  totalLabel: string
  total: ShownAmount
  currency: string
  /** Amount and fee, empty when the payer bears none; of a share that was paid, all that proves it. */
  rows: ReceiptRow[]
  /** The deadline. Undefined when nothing can be paid. */
  expires: ShownTime | undefined
  /** Whether the time that is left is counted down. */
  countsDown: boolean
  /** The payer as far as they can recognize themselves, such as "Kofi B., ••• 0101". */
  payer: string
  /** The payment option that is shown opened; undefined when nothing can be paid, or on the display of a point of sale. */
  option: PaymentOption | undefined
  /** The other options, with the method that selects each. */
  otherOptions: { label: string; method: PaymentMethod }[]
  methodLabels: string
  /** The merchant's display at a point of sale, which payers scan. */
  isDisplay: boolean
  cashCode: string
  /** How to pay at an agent; empty elsewhere. */
  agentText: string
  isCancellable: boolean
  isCancelled: boolean
  /** Token of the receipt's link; empty until the payer's money was received. */
  receiptToken: string
  /** Where the payer goes after a final state; empty in every other. */
  returnUrl: string
}

/** What the payer chose on the page, as far as the channel offers it. */
export type PageRequest = {
  /** The payment method. */
  method?: string | undefined
  /** The payer scanned the code of a point of sale. */
  isScanned?: boolean
}

type Said = {
  title: keyof Messages
  notice?: keyof Messages
  total?: keyof Messages
  isAlert?: boolean
  mark?: Mark
}

const said = {
  Pending: { title: 'openTitle', total: 'toPay' },
  Processing: { title: 'processingTitle', notice: 'processingText', mark: 'wait' },
  paid: { title: 'paidTitle', notice: 'paidText', total: 'totalPaid', mark: 'done' },
  Cancelled: { title: 'cancelledTitle', notice: 'cancelledText', isAlert: true, mark: 'stop' },
  Expired: { title: 'expiredTitle', notice: 'expiredText', isAlert: true, mark: 'wait' },
  Failed: { title: 'failedTitle', notice: 'failedText', isAlert: true, mark: 'stop' },
  Refunded: { title: 'refundedTitle', mark: 'back' },
} as const satisfies Record<PayerState, Said>
const refused = {
  title: 'refusedTitle',
  notice: 'refusedText',
  total: 'toPay',
  isAlert: true,
  mark: 'stop',
} as const
const refundHeld = { title: 'refundHeldTitle', isAlert: true, mark: 'stop' } as const
/** The money arrived after the share had failed: it was taken, and goes back. */
const failedAndPaid = {
  title: 'failedTitle',
  notice: 'lateMoneyText',
  total: 'totalPaid',
  isAlert: true,
  mark: 'back',
} as const
const yourPartPaid = {
  title: 'yourPartPaidTitle',
  notice: 'yourPartPaidText',
  total: 'totalPaid',
  mark: 'done',
} as const

/** The payment option of a method on this channel. */
function optionOf(method: PaymentMethod, hasCashCode: boolean): PaymentOption {
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

/** Where the payer's money is; undefined until it was received. */
function moneyStateOf({ receipt }: CheckoutMessage): MoneyState | undefined {
  return receipt && moneyState(receipt)
}

/** What the page is about, and a stamp of it. Cheap: a watching page asks for it again and again. */
export function progressOf(checkout: CheckoutMessage): Pick<CheckoutView, 'phase' | 'stamp'> {
  const state = stateOf(checkout)
  const { payerState, paymentState, refusedAttempts, paidAmountMinor } = checkout
  const phase = state === 'Pending' ? 'open' : state === 'Processing' ? 'processing' : 'ended'
  const parts = [payerState, paymentState, refusedAttempts, paidAmountMinor]
  return { phase, stamp: [...parts, moneyStateOf(checkout) ?? 0].join('-') }
}

/** Builds the view. */
export function checkoutView(
  checkout: CheckoutMessage,
  language: Language,
  { method: wanted, isScanned = false }: PageRequest = {},
): CheckoutView {
  const { currency, cashCode, expireTime } = checkout
  const say = languages[language]
  const state = stateOf(checkout)
  const methods = checkout.allowedMethods.flatMap((number) => wordOf(paymentMethods, number) ?? [])
  const isOpen = state === 'Pending'
  const isAtPointOfSale = methods.includes('qr_code')
  const isDisplay = isOpen && isAtPointOfSale && !isScanned
  const chosen = methods.find((method) => method === wanted) ?? methods[0]
  const option = isOpen && !isDisplay && chosen ? optionOf(chosen, cashCode !== '') : undefined
  const totalMinor = checkout.amountMinor + checkout.feeMinor
  const money = (minor: bigint) => localMoney(minor, currency, language)
  return {
    ...progressOf(checkout),
    isLive: isOpen || state === 'Processing' || isPartOfMore(checkout),
    ...wordsOf(checkout, state, language),
    share: shareOf(checkout, state, language),
    businessName: checkout.businessName,
    description: checkout.description,
    total: shownAmount(totalMinor, currency, language),
    currency,
    rows: shareRows(checkout, language),
    expires: isOpen && expireTime ? shownTime(expireTime, language) : undefined,
    countsDown: isAtPointOfSale,
    payer: shownPayer(checkout),
    option,
    otherOptions: option ? alternatives(methods, option, cashCode !== '', say) : [],
    methodLabels: listOf(
      methods.map((method) => say[method]),
      language,
    ),
    isDisplay,
    // No line break parts the code.
    cashCode: isOpen ? cashCode.replace(/(\d{4})(?=\d)/g, '$1\u00a0') : '',
    agentText: fill(chosen === 'card' ? say.agentCardText : say.agentText, {
      total: money(totalMinor),
    }),
    isCancellable: checkout.cancellable && isOpen,
    isCancelled: state === 'Cancelled',
    receiptToken: checkout.receipt?.receiptToken ?? '',
    returnUrl: returnUrlOf(checkout, state),
  }
}

/** The labels as one sentence: those after the first begin with a small letter, unless it is an abbreviation's. */
function listOf(labels: string[], language: Language): string {
  const parts = labels.map((label, at) => {
    if (at === 0 || /^\p{Lu}{2}/u.test(label)) return label
    return label.charAt(0).toLocaleLowerCase(language) + label.slice(1)
  })
  return new Intl.ListFormat(language, { type: 'disjunction' }).format(parts)
}

/** Money may still come in every state but the final ones, and then nothing leads to the URL for errors. */
function returnUrlOf({ successUrl, errorUrl }: CheckoutMessage, state: PayerState): string {
  if (state === 'Pending' || state === 'Processing') return ''
  return state === 'paid' ? successUrl : errorUrl
}

/** Values of the placeholders of sentences: attempts left, and how far a request of several payers has come. */
function valuesOf(checkout: CheckoutMessage, language: Language): Record<string, string> {
  const { amountMinor, feeMinor, paidAmountMinor, requestAmountMinor, currency } = checkout
  const money = (minor: bigint) => localMoney(minor, currency, language)
  return {
    count: String(attemptsLeft(checkout)),
    merchant: checkout.businessName,
    total: money(amountMinor + feeMinor),
    amount: money(amountMinor),
    paid: money(paidAmountMinor),
    whole: money(requestAmountMinor),
    rest: money(requestAmountMinor - paidAmountMinor),
  }
}

function attemptsLeft({ refusedAttempts }: CheckoutMessage): number {
  return maxRefusedAttempts - refusedAttempts
}

function isFailedAndPaid({ receipt }: CheckoutMessage, state: PayerState): boolean {
  return state === 'Failed' && receipt !== undefined
}

function saidOf(checkout: CheckoutMessage, state: PayerState): Said {
  if (state === 'Pending' && checkout.refusedAttempts > 0) return refused
  if (isPartOfMore(checkout)) return yourPartPaid
  if (isFailedAndPaid(checkout, state)) return failedAndPaid
  return state === 'Refunded' && moneyStateOf(checkout) === 'held' ? refundHeld : said[state]
}

/** The state in words; what others have paid is shown beside it. */
function wordsOf(
  checkout: CheckoutMessage,
  state: PayerState,
  language: Language,
): Pick<CheckoutView, 'title' | 'notices' | 'isAlert' | 'mark' | 'totalLabel'> {
  const say = languages[language]
  const isRefused = state === 'Pending' && checkout.refusedAttempts > 0
  const { title, notice, total, isAlert, mark } = saidOf(checkout, state)
  const keys: (keyof Messages)[] = notice === undefined ? [] : [notice]
  if (state === 'Refunded' || isFailedAndPaid(checkout, state)) keys.push(refundedTo(checkout))
  const why = whyRefused(checkout, state, language)
  // The first refusal is not yet a reason to count.
  if (isRefused && attemptsLeft(checkout) === 1) keys.push('lastAttempt')
  else if (isRefused && checkout.refusedAttempts > 1) keys.push('attemptsLeft')
  if (isShared(checkout) && (state === 'Pending' || state === 'Processing')) {
    keys.push(isPartlyPaid(checkout) ? 'partlyPaidText' : 'partOfText')
  }
  const values = valuesOf(checkout, language)
  return {
    title: say[title],
    totalLabel: say[total ?? 'total'],
    notices: [...why, ...keys.map((key) => fill(say[key], values))],
    isAlert: isAlert ?? false,
    mark,
  }
}

/** Why the last attempt was refused, and while there may be another what to do about it. */
function whyRefused(checkout: CheckoutMessage, state: PayerState, language: Language): string[] {
  const reason = wordOf(refusalReasons, checkout.refusalReason)
  if (reason === undefined) return []
  const { why, advice } = refusals[language][reason]
  if (state === 'Pending') return [`${why} ${advice}`]
  // Another payer's attempts may have been used up; or money arrived after all.
  const isReason = attemptsLeft(checkout) === 0 && !isFailedAndPaid(checkout, state)
  return state === 'Failed' && isReason ? [why] : []
}

/** Where the money goes back to: what the payer paid with, if it can. */
function refundedTo(checkout: CheckoutMessage): keyof Messages {
  const { paymentMethod, cashCode } = checkout
  const money = moneyStateOf(checkout)
  if (money === 'held') return 'refundHeldText'
  const method = wordOf(paymentMethods, paymentMethod)
  const isByHand = money === 'by_hand'
  if (isByHand || method === undefined || method === 'cash') return 'refundedToYou'
  return optionOf(method, cashCode !== '') === 'wallet' ? 'refundedToWallet' : 'refundedToCard'
}

/** How much of the whole is paid, as long as more is to come. */
function shareOf(
  checkout: CheckoutMessage,
  state: PayerState,
  language: Language,
): CheckoutView['share'] {
  const isGoingOn = state === 'Pending' || state === 'Processing' || isPartOfMore(checkout)
  if (!isPartlyPaid(checkout) || !isGoingOn) return undefined
  const { paidAmountMinor, requestAmountMinor } = checkout
  return {
    label: fill(languages[language].paidOfWhole, valuesOf(checkout, language)),
    percent: Number((paidAmountMinor * 100n) / requestAmountMinor),
  }
}

/** One method for each payment option that is not the shown one. */
function alternatives(
  methods: PaymentMethod[],
  shown: PaymentOption,
  hasCashCode: boolean,
  say: Messages,
): CheckoutView['otherOptions'] {
  const found = new Map<PaymentOption, PaymentMethod>()
  for (const method of methods) {
    const option = optionOf(method, hasCashCode)
    if (option !== shown && !found.has(option)) found.set(option, method)
  }
  return [...found].map(([option, method]) => ({
    label: option === 'wallet' ? say.walletInstead : say.cardInstead,
    method,
  }))
}
