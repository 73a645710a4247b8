// Maps payments to the messages of payweave.payments.v1.
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import {
  fraudCheckStatuses,
  type NoticeKind,
  noticeKinds,
  numberOf,
  type PayerState,
  type PaymentMethod,
  type PayoutState,
  payerStates,
  paymentChannels,
  paymentMethods,
  paymentStates,
  payoutStates,
  type RefusalReason,
  refundStates,
  refusalReasons,
  type Words,
} from '#core/payment/words.ts'
import type { CheckoutSchema, PaidShareSchema } from '#gen/payweave/payments/v1/checkout_pb.js'
import {
  type PaymentEvent,
  PaymentEventSchema,
  PaymentTransition,
} from '#gen/payweave/payments/v1/payment_event_pb.js'
import type {
  Payee as PayeeMessage,
  Payer as PayerMessage,
  PayerState as PayerStateNumber,
  Payment as PaymentMessage,
  PayoutState as PayoutStateNumber,
} from '#gen/payweave/payments/v1/payments_pb.js'
import { SettlementSchema } from '#gen/payweave/payments/v1/settlement_pb.js'
import { receiptToken } from '../domain/links.ts'
import type { DraftPayer, DraftPayment } from '../domain/new-payment.ts'
import type { Payee, Payer, Payment } from '../domain/payment.ts'
import { isCancellableByPayer } from '../domain/request-end.ts'
import type { Fact, TransitionKind } from '../domain/transition.ts'
import type { PaidShare } from '../store/receipt-store.ts'

type TimestampInit = Pick<Timestamp, 'seconds' | 'nanos'> & { $typeName: Timestamp['$typeName'] }

/** A time, cut to milliseconds, as a Timestamp. */
export function timestampOf(time: Date): TimestampInit {
  const ms = time.getTime()
  const seconds = Math.floor(ms / 1_000)
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(seconds),
    nanos: (ms - seconds * 1_000) * 1_000_000,
  }
}

/** A payment, or a draft whose times are not known yet. */
type PaymentOrDraft =
  | Payment
  | (DraftPayment & Partial<Pick<Payment, 'createTime' | 'updateTime' | 'expireTime'>>)

/** Returns the token of a payer's link. May throw a RangeError for a payer id that is not a UUID. */
export type TokenOf = (payer: Pick<Payer, 'payerId' | 'linkKeyId'>) => string

/**
 * A payment as a message, amounts in minor units, complete with type names: the library copies messages without one.
 * `tokenOf` returns the payers' link tokens; leave it out for events and for people who may not have them.
 */
export function paymentMessage(payment: PaymentOrDraft, tokenOf?: TokenOf): PaymentMessage {
  return {
    $typeName: 'payweave.payments.v1.Payment',
    paymentId: payment.paymentId,
    projectId: payment.projectId,
    merchantId: payment.merchantId,
    transactionId: payment.transactionId,
    amountMinor: payment.amountMinor,
    currency: payment.currency,
    description: payment.description,
    state: enumOf(paymentStates, payment.state),
    fraudCheckStatus: enumOf(fraudCheckStatuses, payment.fraudCheckStatus),
    fees: { $typeName: 'payweave.payments.v1.Fees', ...payment.fees },
    ...timesOf(payment),
    payers: payment.payers.map((payer: Payer | DraftPayer) => payerMessage(payer, tokenOf)),
    payees: payment.payees.map(payeeMessage),
    urls: { $typeName: 'payweave.payments.v1.PaymentUrls', ...payment.urls },
  }
}

function timesOf({ createTime, updateTime, expireTime }: PaymentOrDraft) {
  if (createTime === undefined || updateTime === undefined || expireTime === undefined) return {}
  return {
    createTime: timestampOf(createTime),
    updateTime: timestampOf(updateTime),
    expireTime: timestampOf(expireTime),
  }
}

function payerMessage(payer: Payer | DraftPayer, tokenOf: TokenOf | undefined): PayerMessage {
  return {
    $typeName: 'payweave.payments.v1.Payer',
    payerId: payer.payerId,
    mobileNumber: payer.mobileNumber,
    mobileNumberE164: payer.mobileNumberE164,
    firstName: payer.firstName,
    lastName: payer.lastName,
    email: payer.email,
    paymentChannel: enumOf(paymentChannels, payer.paymentChannel),
    paymentMethod: enumOf(paymentMethods, payer.paymentMethod),
    amountMinor: payer.amountMinor,
    feeMinor: payer.feeMinor,
    tipMinor: payer.tipMinor,
    taxMinor: payer.taxMinor,
    convenienceFeeMinor: payer.convenienceFeeMinor,
    state: enumOf(payerStates, payer.state),
    ...('expireTime' in payer ? { expireTime: timestampOf(payer.expireTime) } : {}),
    refusedAttempts: payer.refusedAttempts,
    linkToken: payer.hasLink && tokenOf !== undefined ? tokenOf(payer) : '',
  }
}

function payeeMessage(payee: Payee): PayeeMessage {
  return {
    $typeName: 'payweave.payments.v1.Payee',
    payeeId: payee.payeeId,
    mobileNumber: payee.mobileNumber,
    mobileNumberE164: payee.mobileNumberE164,
    amountMinor: payee.amountMinor,
    delayDays: payee.delayDays,
    feeMinor: payee.feeMinor,
    payoutState: enumOf(payoutStates, payee.payoutState),
    ...(payee.releaseTime === undefined ? {} : { releaseTime: timestampOf(payee.releaseTime) }),
    feesCovered: payee.feeMinor === 0n,
  }
}

/** What a payer's page shows, amounts in minor units. */
export function checkoutMessage(
  payment: Payment,
  payer: Payer,
  {
    allowedMethods,
    cashCode,
    receipt,
    refusalReason,
  }: {
    allowedMethods: PaymentMethod[]
    cashCode: string
    receipt: PaidShare | undefined
    refusalReason: RefusalReason | undefined
  },
): MessageInitShape<typeof CheckoutSchema> {
  return {
    businessName: payment.businessName,
    description: payment.description,
    currency: payment.currency,
    amountMinor: payer.amountMinor,
    feeMinor: payer.feeMinor,
    paymentState: enumOf(paymentStates, payment.state),
    payerState: enumOf(payerStates, payer.state),
    expireTime: timestampOf(payer.expireTime),
    paymentChannel: enumOf(paymentChannels, payer.paymentChannel),
    paymentMethod: enumOf(paymentMethods, payer.paymentMethod),
    allowedMethods: allowedMethods.map((method) => enumOf(paymentMethods, method)),
    refusedAttempts: payer.refusedAttempts,
    cashCode,
    successUrl: payment.urls.success,
    errorUrl: payment.urls.error,
    requestAmountMinor: payment.amountMinor,
    paidAmountMinor: paidSharesMinor(payment),
    payerName: recognizableName(payer),
    payerNumberEnding: payer.mobileNumberE164.slice(-4),
    paymentId: payment.paymentId,
    cancellable: isCancellableByPayer(payment),
    transactionId: payment.transactionId,
    ...(receipt && { receipt: receiptMessage(receipt) }),
    merchantId: payment.merchantId,
    projectId: payment.projectId,
    ...(refusalReason && { refusalReason: enumOf(refusalReasons, refusalReason) }),
  }
}

/** What a receipt shows, amounts in minor units. */
export function paidShareMessage(share: PaidShare): MessageInitShape<typeof PaidShareSchema> {
  return {
    businessName: share.businessName,
    description: share.description,
    currency: share.currency,
    amountMinor: share.amountMinor,
    feeMinor: share.feeMinor,
    paymentMethod: enumOf(paymentMethods, share.paymentMethod),
    payerName: recognizableName(share),
    payerNumberEnding: share.mobileNumberE164.slice(-4),
    transactionId: share.transactionId,
    receipt: receiptMessage(share),
    merchantId: share.merchantId,
    projectId: share.projectId,
  }
}

function receiptMessage({
  receiptId,
  paidTime,
  refundTime,
  refundMinor,
  refundState,
  linkTokenHash,
}: PaidShare) {
  return {
    receiptId,
    paidTime: timestampOf(paidTime),
    ...(refundTime && { refundTime: timestampOf(refundTime) }),
    refundAmountMinor: refundMinor ?? 0n,
    ...(refundState && { refundState: enumOf(refundStates, refundState) }),
    receiptToken: receiptToken(receiptId, linkTokenHash),
  }
}

/** A shortened name that its owner recognizes, such as "Kofi B."; empty without a first name. */
function recognizableName({ firstName, lastName }: Pick<Payer, 'firstName' | 'lastName'>): string {
  const [initial] = new Intl.Segmenter().segment(lastName.trim())
  const first = firstName.trim()
  return first === '' || initial === undefined ? first : `${first} ${initial.segment}.`
}

/** What the payers have paid, without fees. */
function paidSharesMinor({ payers }: Payment): bigint {
  return payers
    .filter(({ state }) => state === 'paid')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}

/** The enum number of a payer's state. */
export function payerStateNumber(state: PayerState): PayerStateNumber {
  return enumOf(payerStates, state)
}

/** The enum number of a payout's state. */
export function payoutStateNumber(state: PayoutState): PayoutStateNumber {
  return enumOf(payoutStates, state)
}

const transitions = {
  CREATED: PaymentTransition.CREATED,
  PAYER_PROCESSING: PaymentTransition.PAYER_PROCESSING,
  PAYER_REFUSED: PaymentTransition.PAYER_REFUSED,
  PAYER_PAID: PaymentTransition.PAYER_PAID,
  CANCELLED: PaymentTransition.CANCELLED,
  EXPIRED: PaymentTransition.EXPIRED,
  FAILED: PaymentTransition.FAILED,
  REFUNDED: PaymentTransition.REFUNDED,
  LATE_MONEY: PaymentTransition.LATE_MONEY,
  PAYOUT_COMPLETED: PaymentTransition.PAYOUT_COMPLETED,
  PAYOUT_FAILED: PaymentTransition.PAYOUT_FAILED,
  MONEY_MOVED: PaymentTransition.MONEY_MOVED,
} as const satisfies Record<TransitionKind, PaymentTransition>

/** The event of a transition, serialized for the outbox. */
export function paymentEventBytes(
  payment: PaymentOrDraft,
  fact: Fact,
  settlements: MessageInitShape<typeof SettlementSchema>[] = [],
): Uint8Array {
  const event: PaymentEvent = {
    $typeName: 'payweave.payments.v1.PaymentEvent',
    transition: transitions[fact.kind],
    payment: paymentMessage(payment),
    notices: fact.notices.map(({ kind, index }) => ({
      $typeName: 'payweave.payments.v1.Notice',
      kind: enumOf(noticeKinds, kind),
      about: aboutOf(kind, index),
    })),
    callbackSequence: fact.callbackSequence,
    settlements: settlements.map((one) => create(SettlementSchema, one)),
  }
  return toBinary(PaymentEventSchema, event)
}

function aboutOf(kind: NoticeKind, value: number) {
  const isPayee = kind.startsWith('payout')
  return isPayee
    ? ({ case: 'payeeIndex', value } as const)
    : ({ case: 'payerIndex', value } as const)
}

/** The enum number of a word, with the type of its field. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- E is inferred from the expected type
function enumOf<W extends string, E extends number>(words: Words<W>, word: W): E {
  return numberOf(words, word) as E
}
