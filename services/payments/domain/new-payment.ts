// Turns a validated request into a payment with its ids, fees and states. Pure.

import { Failure } from '#core/errors/errors.ts'
import { newId } from '#core/identity/id.ts'
import type { PaymentChannel, PaymentMethod } from '#core/payment/words.ts'
import type { FeeSchedule } from '#platform/config/config.ts'
import { computeFees, type FeeTerms } from './fees.ts'
import type { Payee, Payer, Payment, PaymentUrls } from './payment.ts'

/** A payer of a new request. */
export type NewPayer = {
  /** Number to echo. */
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

/** What is asked for. */
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

/** Seconds that a payer has, by channel. */
export type TimesToPay = Readonly<Record<PaymentChannel, number>>

/** A payer whose deadline is still a distance from the time of creation. */
export type DraftPayer = Omit<Payer, 'expireTime'> & { ttlS: number }

/** A payment that lacks nothing but its times, which the database decides. */
export type DraftPayment = Omit<Payment, 'createTime' | 'updateTime' | 'expireTime' | 'payers'> & {
  fingerprint: Uint8Array
  payers: DraftPayer[]
}

/** Makes the draft of a checked request. INVALID_PARAMETER when the fees would eat the amount. */
export function draftPayment(
  request: NewPayment,
  merchant: Merchant,
  settings: { feeSchedule: FeeSchedule; timesToPayS: TimesToPay; linkKeyId: string },
): DraftPayment {
  const payers = request.payers.map((payer) => settled(payer, request.amountMinor))
  const payees = request.payees.length > 0 ? request.payees : [defaultPayee(request, merchant)]
  const split = computeFees(settings.feeSchedule, request.feeTerms, { payers, payees })
  // The merchant's fees can be withheld only from money that is the merchant's.
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
      ttlS: settings.timesToPayS[payer.paymentChannel],
    })),
    payees: payees.map((payee, index) =>
      draftPayee(payee, split.perPayeeMinor[index] ?? 0n, withheldMinor),
    ),
  }
}

/** The same draft, stopped by the fraud rules: failed from the start and without links. */
export function stopped(draft: DraftPayment): DraftPayment {
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

/** The payment that a draft became at a time. */
export function created(draft: DraftPayment, time: Date): Payment {
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

function settled(payer: NewPayer, amountMinor: bigint) {
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
  }
}
