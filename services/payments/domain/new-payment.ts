// Turns a validated request into a payment with its ids, fees and states. Pure.
import { Failure, type Reason } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import { isCurrency } from '#core/money/money.ts'
import { channelMethods, type PaymentChannel, type PaymentMethod } from '#core/payment/words.ts'
import { checkPushUrl } from '#core/text/push-url.ts'
import type { FeeSchedule } from '#platform/config/config.ts'
import { computeFees, type FeeTerms } from './fees.ts'
import type { Payee, Payer, Payment, PaymentUrls } from './payment.ts'

/** A payer of a new request. */
export type NewPayer = {
  /** As the client wrote it; responses and pushes echo it. */
  mobileNumber: string
  mobileNumberE164: string
  firstName: string
  lastName: string
  email: string
  paymentChannel: PaymentChannel
  paymentMethod: PaymentMethod
  /** Zero when not given. */
  amountMinor: bigint
}

/** A payee of a new request. */
export type NewPayee = {
  mobileNumber: string
  mobileNumberE164: string
  amountMinor: bigint
  delayDays: number
}

/** The content of a create request. */
export type NewPayment = {
  projectId: string
  merchantId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  description: string
  fraudCheck: boolean
  feeTerms: FeeTerms
  payers: NewPayer[]
  payees: NewPayee[]
  urls: PaymentUrls
  /** SHA-256 that distinguishes a repeat from a conflict. */
  fingerprint: Uint8Array
}

/** The owner of the API key. */
export type Merchant = {
  merchantId: string
  businessName: string
  /** E.164. */
  mobileNumber: string
}

/** Seconds that a payer has to pay, by channel. */
export type TimesToPay = Readonly<Record<PaymentChannel, number>>

/** A payer whose deadline is known only relative to the time of creation, which the database decides. */
export type DraftPayer = Omit<Payer, 'expireTime'> & { ttlS: number }

/** A payment without its times, which the database decides. */
export type DraftPayment = Omit<Payment, 'createTime' | 'updateTime' | 'expireTime' | 'payers'> & {
  fingerprint: Uint8Array
  payers: DraftPayer[]
}

/** Makes the draft of a checked request. INVALID_PARAMETER when the fees are higher than the amount. */
export function draftPayment(
  request: NewPayment,
  merchant: Merchant,
  settings: { feeSchedule: FeeSchedule; timesToPayS: TimesToPay; linkKeyId: string },
): DraftPayment {
  const payers = request.payers.map((payer) => withAmount(payer, request.amountMinor))
  const payees = request.payees.length > 0 ? request.payees : [defaultPayee(request, merchant)]
  const split = computeFees(settings.feeSchedule, request.feeTerms, { payers, payees })
  // The merchant's fees are withheld from the payout only if the merchant is the payee; otherwise the merchant is billed for them.
  const withheldMinor = request.payees.length > 0 ? 0n : split.fees.merchantPaysMinor
  if (split.fees.totalMinor > request.amountMinor) {
    throw new Failure('INVALID_PARAMETER', 'amount must be more than its fees', {
      details: { field: 'amount' },
    })
  }
  return {
    paymentId: newId(),
    projectId: request.projectId,
    merchantId: request.merchantId,
    transactionId: request.transactionId,
    fingerprint: request.fingerprint,
    amountMinor: request.amountMinor,
    currency: request.currency,
    description: request.description,
    businessName: merchant.businessName,
    state: 'Pending',
    fraudCheckStatus: request.fraudCheck ? 'passed' : 'skipped',
    fees: split.fees,
    urls: request.urls,
    callbackSequence: 0,
    payers: payers.map((payer, index) => ({
      ...payer,
      payerId: newId(),
      feeMinor: split.perPayerMinor[index] ?? 0n,
      tipMinor: 0n,
      taxMinor: 0n,
      convenienceFeeMinor: 0n,
      state: 'Pending',
      refusedAttempts: 0,
      attemptId: undefined,
      receiptId: undefined,
      hasLink: true,
      linkKeyId: settings.linkKeyId,
      connector: null,
      ttlS: settings.timesToPayS[payer.paymentChannel],
    })),
    payees: payees.map((payee, index) =>
      draftPayee(payee, split.perPayeeMinor[index] ?? 0n, withheldMinor),
    ),
  }
}

/** The same draft, stopped by the fraud rules: failed from the start and without links. */
export function failedDraft(draft: DraftPayment): DraftPayment {
  return {
    ...draft,
    state: 'Failed',
    fraudCheckStatus: 'failed',
    callbackSequence: 1,
    payers: draft.payers.map((payer) => ({
      ...payer,
      state: 'Failed',
      hasLink: false,
      linkKeyId: null,
    })),
  }
}

/** The payment of a draft that was stored at `time`. */
export function toPayment(draft: DraftPayment, time: Date): Payment {
  const { fingerprint: _, ...payment } = draft
  const payers = draft.payers.map(({ ttlS, ...payer }) => ({
    ...payer,
    expireTime: new Date(time.getTime() + ttlS * 1_000),
  }))
  const firstDeadline = Math.min(...payers.map((payer) => payer.expireTime.getTime()))
  return {
    ...payment,
    payers,
    createTime: time,
    updateTime: time,
    expireTime: new Date(firstDeadline),
  }
}

function withAmount(payer: NewPayer, amountMinor: bigint) {
  return {
    ...payer,
    amountMinor: payer.amountMinor === 0n ? amountMinor : payer.amountMinor,
  }
}

function defaultPayee(request: NewPayment, merchant: Merchant): NewPayee {
  return {
    mobileNumber: merchant.mobileNumber,
    mobileNumberE164: merchant.mobileNumber,
    amountMinor: request.amountMinor,
    delayDays: 0,
  }
}

function draftPayee(payee: NewPayee, feeMinor: bigint, withheldMinor: bigint): Payee {
  return {
    payeeId: newId(),
    ...payee,
    feeMinor,
    netMinor: payee.amountMinor - feeMinor - withheldMinor,
    payoutState: 'waiting',
    releaseTime: undefined,
    recoveryId: undefined,
    connector: null,
  }
}

/**
 * Throws a Failure for the first rule over several fields that the request breaks; the rules of the proto have checked each field
 * alone. `details.field` is the field's path, and the message starts with it.
 */
export function checkNewPayment(request: NewPayment, rule: { allowLoopback: boolean }): void {
  if (!isCurrency(request.currency)) invalid('currency', 'must be an ISO 4217 code')
  request.payers.forEach((payer, index) =>
    checkPayer(`payers[${index}]`, payer, request.payers.length > 1),
  )
  checkSums(request)
  for (const [name, url] of Object.entries(request.urls)) {
    const problem = url === '' ? undefined : checkPushUrl(url, rule)
    if (problem !== undefined) invalid(`urls.${name}`, problem)
  }
}

function checkPayer(path: string, payer: NewPayer, isOneOfSeveral: boolean): void {
  if (!channelMethods[payer.paymentChannel].includes(payer.paymentMethod)) {
    const problem = `is not offered by payment_channel ${payer.paymentChannel}`
    refuse('UNSUPPORTED_CHANNEL_METHOD', `${path}.payment_method`, problem)
  }
  if (isOneOfSeveral && payer.amountMinor === 0n) {
    refuse('MISSING_PARAMETER', `${path}.amount_minor`, 'is required')
  }
}

function checkSums({ amountMinor, payers, payees }: NewPayment): void {
  const [only] = payers
  const isImplied = payers.length === 1 && only?.amountMinor === 0n
  if (!isImplied) checkSum('payers', payers, amountMinor)
  if (payees.length > 0) checkSum('payees', payees, amountMinor)
}

function checkSum(field: string, shares: { amountMinor: bigint }[], amountMinor: bigint): void {
  const sum = shares.reduce((sofar, share) => sofar + share.amountMinor, 0n)
  if (sum !== amountMinor) refuse('AMOUNT_MISMATCH', field, 'must have amounts that sum to amount')
}

function invalid(field: string, problem: string): never {
  return refuse('INVALID_PARAMETER', field, problem)
}

function refuse(reason: Reason, field: string, problem: string): never {
  throw new Failure(reason, `${field} ${problem}`, { details: { field } })
}
