// Reads payment requests from payweave.payments.v1 messages without importing gen, and renders them in the forms of the JSON
// contract, for responses and callbacks alike.
import { formatAmount } from '#core/money/money.ts'
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
import { formatDateTime, formatIso } from '#core/text/time.ts'

/**
 * Renders `payment_details` of the create response: amounts as decimal text in major units. The same for every repeat:
 * it reads nothing that later transitions change. Throws RangeError for an unknown currency.
 */
export function renderCreated(payment: PaymentView, publicBaseUrl: string) {
  const status = payment.fraudCheckStatus === 'failed' ? 'Failed' : 'Pending'
  return {
    id: payment.paymentId,
    transaction_id: payment.transactionId,
    amount: formatAmount(payment.amountMinor, payment.currency),
    fraud_check_status: payment.fraudCheckStatus,
    payers: payment.payers.map((payer) => ({
      amount: formatAmount(payer.amountMinor, payment.currency),
      status,
      url: linkOf(payer, publicBaseUrl),
    })),
  }
}

/**
 * Renders `payment_details` in full, as the cancel response has it: amounts as decimal text in major units, times in
 * UTC. Throws RangeError for an unknown currency.
 */
export function renderDetails(payment: PaymentView, publicBaseUrl: string) {
  return {
    ...renderReducedDetails(payment),
    payers: payment.payers.map((payer) => ({
      mobile_number: payer.mobileNumber,
      amount: formatAmount(payer.amountMinor, payment.currency),
      payment_channel: payer.paymentChannel,
      payment_method: payer.paymentMethod,
      fee: formatAmount(payer.feeMinor, payment.currency),
      tip: formatAmount(payer.tipMinor, payment.currency),
      tax: formatAmount(payer.taxMinor, payment.currency),
      convenience_fee: formatAmount(payer.convenienceFeeMinor, payment.currency),
      status: payer.state,
      expire_time: formatDateTime(payer.expireTime),
      metadata: '',
      url: linkOf(payer, publicBaseUrl),
      expire_date_time: formatIso(payer.expireTime),
    })),
  }
}

/**
 * Renders `transaction_request`, `payment_details` and `payers` of the status response: amounts as decimal text in
 * major units, times in UTC. Throws RangeError for an unknown currency.
 */
export function renderStatus(payment: PaymentView) {
  return {
    transaction_request: { id: payment.transactionId, status: requestStatus(payment) },
    payment_details: renderReducedDetails(payment),
    payers: payment.payers.map((payer) => ({
      mobile_number: payer.mobileNumber,
      payment_channel: payer.paymentChannel,
      payment_method: payer.paymentMethod,
      status: payer.state,
    })),
  }
}

/**
 * Renders the body of a callback: the status response as it was right after the transition, with a sequence number that
 * lets the receiver put callbacks in order. Throws RangeError for an unknown currency.
 */
export function renderCallback(payment: PaymentView, sequence: number, occurredTime: Date) {
  const status = renderStatus(payment)
  const { payments_status, fees, timestamps, payees } = status.payment_details
  return {
    status: payment.state,
    sequence,
    timestamp: formatIso(occurredTime),
    ...status,
    payments_status,
    fees,
    timestamps,
    payees,
  }
}

function renderReducedDetails(payment: PaymentView) {
  const { currency } = payment
  const money = (amountMinor: bigint): string => formatAmount(amountMinor, currency)
  return {
    id: payment.paymentId,
    transaction_id: payment.transactionId,
    amount: money(payment.amountMinor),
    currency,
    status: payment.state,
    fraud_check_status: payment.fraudCheckStatus,
    payments_status: renderPaid(payment),
    fees: renderFees(payment.fees, currency),
    timestamps: {
      created_time: formatDateTime(payment.createTime),
      updated_time: formatDateTime(payment.updateTime),
      expire_time: formatDateTime(payment.expireTime),
    },
    payees: payment.payees.map((payee) => ({
      mobile_number: payee.mobileNumber,
      amount: money(payee.amountMinor),
      delay_days: payee.delayDays,
      fees_covered: payee.feesCovered ? 1 : 0,
      fee: money(payee.feeMinor),
    })),
  }
}

function renderPaid({ payers, amountMinor, currency }: PaymentView) {
  const paidMinor = payers
    .filter((payer) => payer.state === 'paid')
    .reduce((sum, payer) => sum + payer.amountMinor, 0n)
  const metadata: string[] = []
  return {
    paid: `${formatAmount(paidMinor, currency)} ${currency}`,
    remaining: `${formatAmount(amountMinor - paidMinor, currency)} ${currency}`,
    metadata,
  }
}

function renderFees(fees: FeesView, currency: string) {
  const money = (amountMinor: bigint): string => formatAmount(amountMinor, currency)
  return {
    total: money(fees.totalMinor),
    card_processing: money(fees.cardProcessingMinor),
    platform_processing: money(fees.platformProcessingMinor),
    agent_processing: money(fees.agentProcessingMinor),
    payer_pays: money(fees.payerPaysMinor),
    payee_pays: money(fees.payeePaysMinor),
    merchant_pays: money(fees.merchantPaysMinor),
    convenience: money(fees.convenienceMinor),
  }
}

const requestStatuses = {
  Pending: 'pending',
  Partially_paid: 'processing',
  paid: 'succeeded',
  Cancelled: 'cancelled',
  Expired: 'expired',
  Failed: 'failed',
  Refunded: 'refunded',
} as const

/** `transaction_request.status`: also "processing" while the first payer is paying. */
function requestStatus({ state, payers }: PaymentView) {
  const isPaying = state === 'Pending' && payers.some((payer) => payer.state === 'Processing')
  return isPaying ? 'processing' : requestStatuses[state]
}

function linkOf(payer: PayerView, publicBaseUrl: string): string | null {
  return payer.linkToken === '' ? null : `${publicBaseUrl}/pay/${payer.linkToken}`
}

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
