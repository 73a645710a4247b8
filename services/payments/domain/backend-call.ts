// The calls to the back end that follow from a payment. Each has a row in `task` until the back end has accepted it.
import type { PaymentChannel, PaymentMethod, PaymentState } from '#core/payment/words.ts'
import { chargeMinor } from './fees.ts'
import type { Payer, Payment } from './payment.ts'
import type { Transition } from './transition.ts'

/** A share that may be paid. */
export type Charge = {
  projectId: string
  amountMinor: bigint
  currency: string
  mobileNumberE164: string
  paymentChannel: PaymentChannel
  paymentMethod: PaymentMethod
  businessName: string
  expireTime: Date
  /** Id of the key of its cash code; null if it was stored before keys had ids. */
  linkKeyId: string | null
}

/** A call with its content; `subjectId` is that of its task. */
export type BackendCall = {
  subjectId: string
  /** The connector that it goes to; null for the default connector. */
  connector: string | null
  /** Attempts so far, this one included. */
  attempts: number
  /** Attempts that certainly reached no connector. */
  unsentAttempts: number
} & (
  | { kind: 'announce'; charge: Charge }
  | { kind: 'withdraw'; reason: PaymentState }
  | { kind: 'refund'; payerId: string; amountMinor: bigint; currency: string }
  | {
      kind: 'payout'
      projectId: string
      mobileNumberE164: string
      amountMinor: bigint
      currency: string
    }
)

/** Whether no connector can have received the call before this attempt. */
export function isUnsent({ attempts, unsentAttempts }: BackendCall): boolean {
  return unsentAttempts === attempts - 1
}

/** A call of one kind. */
export type CallOf<K extends BackendCall['kind']> = Extract<BackendCall, { kind: K }>

/** The calls of a new payment: its charges, unless the fraud rules stopped it. */
export function announcementsOf(payment: Payment): BackendCall[] {
  if (payment.state !== 'Pending') return []
  return payment.payers.map((payer) => ({
    subjectId: payer.payerId,
    connector: payer.connector,
    ...firstAttempt,
    kind: 'announce',
    charge: chargeOf(payment, payer),
  }))
}

const firstAttempt = { attempts: 1, unsentAttempts: 0 }

function chargeOf({ projectId, currency, businessName }: Payment, payer: Payer): Charge {
  const { mobileNumberE164, paymentChannel, paymentMethod, expireTime, linkKeyId } = payer
  const amountMinor = chargeMinor(payer)
  const common = { projectId, amountMinor, currency, businessName, expireTime, linkKeyId }
  return { ...common, mobileNumberE164, paymentChannel, paymentMethod }
}

/** The calls of a transition. */
export function callsOf({ payment, tasks, refunds }: Transition): BackendCall[] {
  const { projectId, currency } = payment
  // A refund and a withdrawal go to the connector that has the charge.
  const connectorOf = (id: string) =>
    payment.payers.find(({ payerId }) => payerId === id)?.connector ?? null
  return tasks.map(({ subjectId, kind, reason }): BackendCall => {
    const common = { subjectId, ...firstAttempt }
    if (kind === 'withdraw' && reason !== undefined) {
      return { ...common, kind, connector: connectorOf(subjectId), reason }
    }
    if (kind === 'refund') {
      const refund = refunds.find(({ refundId }) => refundId === subjectId)
      if (refund !== undefined) {
        const connector = connectorOf(refund.payerId)
        const { payerId, amountMinor } = refund
        return { ...common, kind, connector, currency, payerId, amountMinor }
      }
    }
    if (kind === 'payout') {
      const payee = payment.payees.find(({ payeeId }) => payeeId === subjectId)
      if (payee !== undefined) {
        const { connector, mobileNumberE164, netMinor: amountMinor } = payee
        return { ...common, kind, connector, projectId, currency, mobileNumberE164, amountMinor }
      }
    }
    throw new Error(`a task ${kind} has no content`)
  })
}
