// A payment request and its state machines.
import type { Machine } from '#core/machine.ts'
import type {
  FraudCheckStatus,
  PayerState,
  PaymentChannel,
  PaymentMethod,
  PaymentState,
  PayoutState,
} from '#core/payment/words.ts'
import type { Fees } from './fees.ts'

/** A party that pays a share. Amounts are in the minor unit of the payment's currency. */
export type Payer = {
  /** Also the id of the charge at the back end. */
  payerId: string
  /** As the client sent it. */
  mobileNumber: string
  mobileNumberE164: string
  firstName: string
  lastName: string
  email: string
  paymentChannel: PaymentChannel
  paymentMethod: PaymentMethod
  amountMinor: bigint
  feeMinor: bigint
  tipMinor: bigint
  taxMinor: bigint
  convenienceFeeMinor: bigint
  state: PayerState
  refusedAttempts: number
  /** The attempt that is under way; set in state Processing only. */
  attemptId: string | undefined
  /** Id of the settlement of the payer's money; undefined until it is received. */
  receiptId: string | undefined
  expireTime: Date
  /** False when the fraud rules stopped the request. */
  hasLink: boolean
  /** Id of the key of link token and cash code; null for a payer without a link, or stored before keys had ids. */
  linkKeyId: string | null
  /** The connector that has the charge; null for the default connector, in rows from before routes. */
  connector: string | null
}

/** A party that receives a share. */
export type Payee = {
  /** Also the id of the payout at the back end. */
  payeeId: string
  mobileNumber: string
  mobileNumberE164: string
  amountMinor: bigint
  feeMinor: bigint
  /** The payout: the amount less every fee that is taken from it. */
  netMinor: bigint
  delayDays: number
  payoutState: PayoutState
  releaseTime: Date | undefined
  /** Id of the settlement by which the merchant owes this payout; undefined unless it is sent and the payment is refunded. */
  recoveryId: string | undefined
  /** The connector that the payout is handed over to; null until then, and for the default connector in rows from before routes. */
  connector: string | null
}

/** Browser and push targets; empty when not given. */
export type PaymentUrls = { success: string; error: string; notify: string; callback: string }

/** A payment request with its payers and payees. */
export type Payment = {
  paymentId: string
  projectId: string
  merchantId: string
  transactionId: string
  amountMinor: bigint
  currency: string
  description: string
  businessName: string
  state: PaymentState
  fraudCheckStatus: FraudCheckStatus
  fees: Fees
  urls: PaymentUrls
  /** Number of callbacks so far, which is the sequence number of the last one. */
  callbackSequence: number
  createTime: Date
  updateTime: Date
  /** When the first payer's time runs out. */
  expireTime: Date
  payers: Payer[]
  payees: Payee[]
}

/** Events of the state machine of a request. */
export type PaymentStep = 'pay_part' | 'pay_all' | 'cancel' | 'expire' | 'fail' | 'refund'

/** The request's states; services/payments/migrations repeats the table as a guard. */
export const paymentMachine: Machine<PaymentState, PaymentStep> = {
  Pending: {
    pay_part: 'Partially_paid',
    pay_all: 'paid',
    cancel: 'Cancelled',
    expire: 'Expired',
    fail: 'Failed',
  },
  Partially_paid: { pay_all: 'paid', expire: 'Expired', fail: 'Failed' },
  paid: { refund: 'Refunded' },
  Cancelled: {},
  Expired: {},
  Failed: {},
  Refunded: {},
}

/** Events of the state machine of a payer's share. */
export type PayerStep = 'begin' | 'pay' | 'refuse' | 'cancel' | 'expire' | 'fail' | 'refund'

/** A payer's states. */
export const payerMachine: Machine<PayerState, PayerStep> = {
  Pending: {
    begin: 'Processing',
    pay: 'paid',
    cancel: 'Cancelled',
    expire: 'Expired',
    fail: 'Failed',
  },
  Processing: { pay: 'paid', refuse: 'Pending', fail: 'Failed' },
  paid: { refund: 'Refunded' },
  Cancelled: { refund: 'Refunded' },
  Expired: { refund: 'Refunded' },
  Failed: {},
  Refunded: {},
}

/** Events of the state machine of a payout. */
export type PayoutStep = 'schedule' | 'send' | 'complete' | 'fail' | 'void'

/** A payout's states. */
export const payoutMachine: Machine<PayoutState, PayoutStep> = {
  waiting: { schedule: 'scheduled', send: 'sent' },
  scheduled: { send: 'sent', void: 'voided' },
  sent: { complete: 'completed', fail: 'failed' },
  completed: {},
  failed: {},
  voided: {},
}

/** Whether a request still takes payments. */
export function isOpen(payment: Payment): boolean {
  return payment.state === 'Pending' || payment.state === 'Partially_paid'
}

/** The fields of a payment that the message of a settlement contains. */
export type SettledPayment = Pick<
  Payment,
  'projectId' | 'paymentId' | 'merchantId' | 'transactionId' | 'currency'
>
