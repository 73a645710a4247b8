// A payment request as the JSON contract shows it, read from the payweave.payments.v1 message; does not import gen.
import {
  type FraudCheckStatus,
  fraudCheckStatuses,
  type PayerState,
  type PaymentChannel,
  type PaymentMethod,
  type PaymentState,
  payerStates,
  paymentChannels,
  paymentMethods,
  paymentStates,
  type Words,
  wordOf,
} from '#core/payment/words.ts'

/** A party that pays a share; amounts in minor units. */
export type PayerView = {
  mobileNumber: string
  firstName: string
  lastName: string
  paymentChannel: PaymentChannel
  paymentMethod: PaymentMethod
  amountMinor: bigint
  feeMinor: bigint
  tipMinor: bigint
  taxMinor: bigint
  convenienceFeeMinor: bigint
  state: PayerState
  expireTime: Date
  /** Empty for a payer without a link, and always in events. */
  linkToken: string
}

/** A party that receives a share; amounts in minor units. */
export type PayeeView = {
  mobileNumber: string
  amountMinor: bigint
  feeMinor: bigint
  delayDays: number
  feesCovered: boolean
}

/** Fees in minor units, by purpose and by the party that bears them. */
export type FeesView = {
  totalMinor: bigint
  cardProcessingMinor: bigint
  platformProcessingMinor: bigint
  agentProcessingMinor: bigint
  convenienceMinor: bigint
  payerPaysMinor: bigint
  payeePaysMinor: bigint
  merchantPaysMinor: bigint
}

/** A payment request. */
export type PaymentView = {
  paymentId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  state: PaymentState
  fraudCheckStatus: FraudCheckStatus
  fees: FeesView
  createTime: Date
  updateTime: Date
  expireTime: Date
  payers: PayerView[]
  payees: PayeeView[]
}

type TimestampMessage = { seconds: bigint; nanos: number }

type PayerMessage = Omit<PayerView, 'paymentChannel' | 'paymentMethod' | 'state' | 'expireTime'> & {
  paymentChannel: number
  paymentMethod: number
  state: number
  expireTime?: TimestampMessage
}

/** The fields of the generated payweave.payments.v1.Payment that are read here. */
export type PaymentMessage = {
  paymentId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  state: number
  fraudCheckStatus: number
  fees?: FeesView
  createTime?: TimestampMessage
  updateTime?: TimestampMessage
  expireTime?: TimestampMessage
  payers: PayerMessage[]
  payees: PayeeView[]
}

/**
 * Reads a `payweave.payments.v1.Payment`. `unsetTime` stands for times that the message lacks: those of a CREATED event, where
 * it is the event's own time. Throws RangeError for a message without fees, with an enum number that this version does
 * not know, or without times when there is no `unsetTime`: only another version of the contract sends those.
 */
export function readPayment(message: PaymentMessage, unsetTime?: Date): PaymentView {
  const { fees } = message
  if (fees === undefined) throw new RangeError('the payment has no fees')
  return {
    paymentId: message.paymentId,
    transactionId: message.transactionId,
    amountMinor: message.amountMinor,
    currency: message.currency,
    state: known(paymentStates, message.state),
    fraudCheckStatus: known(fraudCheckStatuses, message.fraudCheckStatus),
    fees,
    createTime: readTime(message.createTime, unsetTime),
    updateTime: readTime(message.updateTime, unsetTime),
    expireTime: readTime(message.expireTime, unsetTime),
    payers: message.payers.map((payer) => readPayer(payer, unsetTime)),
    payees: message.payees,
  }
}

function readPayer(payer: PayerMessage, unsetTime: Date | undefined): PayerView {
  return {
    mobileNumber: payer.mobileNumber,
    firstName: payer.firstName,
    lastName: payer.lastName,
    paymentChannel: known(paymentChannels, payer.paymentChannel),
    paymentMethod: known(paymentMethods, payer.paymentMethod),
    amountMinor: payer.amountMinor,
    feeMinor: payer.feeMinor,
    tipMinor: payer.tipMinor,
    taxMinor: payer.taxMinor,
    convenienceFeeMinor: payer.convenienceFeeMinor,
    state: known(payerStates, payer.state),
    expireTime: readTime(payer.expireTime, unsetTime),
    linkToken: payer.linkToken,
  }
}

function known<W extends string>(words: Words<W>, number: number): W {
  const word = wordOf(words, number)
  if (word === undefined) throw new RangeError('the payment has a value of another contract')
  return word
}

function readTime(time: TimestampMessage | undefined, unsetTime: Date | undefined): Date {
  if (time !== undefined) return new Date(Number(time.seconds) * 1_000 + time.nanos / 1e6)
  if (unsetTime === undefined) throw new RangeError('the payment has no times')
  return unsetTime
}
