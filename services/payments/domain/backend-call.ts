// The calls that a payment owes to the back end; each has a row in `task` until it was made.
import type { PaymentChannel, PaymentState } from '#core/payment/words.ts'
import { chargeMinor, type Payer, type Payment } from './payment.ts'
import type { Transition } from './transition.ts'

/** A share that may be paid. */
export type Charge = {
  amountMinor: bigint
  currency: string
  mobileNumberE164: string
  paymentChannel: PaymentChannel
  businessName: string
  expireTime: Date
  /** The key of its cash code; null for one from before key ids. */
  linkKeyId: string | null
}

/** A call with its content; `subjectId` is that of its task. */
export type BackendCall = { subjectId: string; attempts: number } & (
  | { kind: 'announce'; charge: Charge }
  | { kind: 'withdraw'; reason: PaymentState }
  | { kind: 'refund'; payerId: string; amountMinor: bigint; currency: string }
  | { kind: 'payout'; mobileNumberE164: string; amountMinor: bigint; currency: string }
)

/** A call of one kind. */
export type CallOf<K extends BackendCall['kind']> = Extract<BackendCall, { kind: K }>

/** The calls of a new payment: its charges, unless the fraud rules stopped it. */
export function announcementsOf(payment: Payment): BackendCall[] {
  if (payment.state !== 'Pending') return []
  return payment.payers.map((payer) => ({
    subjectId: payer.payerId,
    attempts: 1,
    kind: 'announce',
    charge: chargeOf(payment, payer),
  }))
}

function chargeOf({ currency, businessName }: Payment, payer: Payer): Charge {
  const { mobileNumberE164, paymentChannel, expireTime, linkKeyId } = payer
  const amountMinor = chargeMinor(payer)
  const common = { amountMinor, currency, businessName, expireTime, linkKeyId }
  return { ...common, mobileNumberE164, paymentChannel }
}

/** The calls of a transition. */
export function callsOf({ payment, tasks, refunds }: Transition): BackendCall[] {
  const { currency } = payment
  return tasks.map(({ subjectId, kind, reason }): BackendCall => {
    const common = { subjectId, attempts: 1 }
    if (kind === 'withdraw' && reason !== undefined) return { ...common, kind, reason }
    if (kind === 'refund') {
      const refund = refunds.find(({ refundId }) => refundId === subjectId)
      if (refund !== undefined) return { ...common, kind, currency, ...amountOf(refund) }
    }
    if (kind === 'payout') {
      const payee = payment.payees.find(({ payeeId }) => payeeId === subjectId)
      if (payee !== undefined) {
        const { mobileNumberE164, netMinor: amountMinor } = payee
        return { ...common, kind, currency, mobileNumberE164, amountMinor }
      }
    }
    throw new Error(`a task ${kind} has no content`)
  })
}

function amountOf({ payerId, amountMinor }: { payerId: string; amountMinor: bigint }) {
  return { payerId, amountMinor }
}
