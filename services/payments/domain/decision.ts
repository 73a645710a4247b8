// What a change of a payment is decided from, and what the decision writes.
import type { RefusalReason } from '#core/payment/words.ts'
import type { AttemptOutcome } from './charge-report.ts'
import type { Payment } from './payment.ts'
import type { TransferOutcome } from './payout.ts'
import type { Refund, Transition } from './transition.ts'

/** An attempt to pay a share. */
export type AttemptKey = { payerId: string; attemptId: string }

/** A refund, and whether the back end has reported its outcome. */
export type StoredRefund = Refund & { state: 'sent' | TransferOutcome }

/** A locked payment with what its change asked for. */
export type Found = {
  payment: Payment
  /** By the database clock. */
  now: Date
  /** Outcomes that were reported of the attempt that the change names. */
  reported: readonly AttemptOutcome[]
  /** The refund that the change names; undefined when it names none. */
  refund: StoredRefund | undefined
}

/** What a back end reports of an attempt. */
export type ReportedOutcome = {
  outcome: Exclude<AttemptOutcome, 'unknown'>
  /** Why it was refused; undefined for any other outcome, and when the back end gives no reason. */
  refusalReason?: RefusalReason | undefined
}

/** What a change writes; an empty one writes nothing. */
export type Decision = {
  transition?: Transition | undefined
  /** A report of the back end, which counts once. */
  report?: (AttemptKey & ReportedOutcome) | undefined
  /** An attempt of ours at its connector, whose outcome is enquired there after `leaseMs`. */
  begins?:
    | (AttemptKey & {
        projectId: string
        paymentId: string
        connector: string | null
        leaseMs: number
      })
    | undefined
  /** An attempt whose outcome is known; only one of ours has a row. */
  ends?: AttemptKey | undefined
  /** A refund whose outcome was reported. */
  refunded?: { refundId: string; outcome: TransferOutcome } | undefined
  /** Why the merchant refunds the payment. */
  reason?: { projectId: string; paymentId: string; reason: string } | undefined
}

/** Decides on a locked payment. Throws a Failure for what cannot be. */
export type Decide = (found: Found) => Decision
