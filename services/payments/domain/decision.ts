// The input and the output of a decision about a change of a payment.
import type { RefusalReason } from '#core/payment/words.ts'
import type { AttemptOutcome } from './charge-report.ts'
import type { Payment } from './payment.ts'
import type { TransferOutcome } from './payout.ts'
import type { Refund, Transition } from './transition.ts'

/** An attempt to pay a share. */
export type AttemptKey = { payerId: string; attemptId: string }

/** A refund, and whether the back end has reported its outcome. */
export type StoredRefund = Refund & { state: 'sent' | TransferOutcome }

/** The input: a locked payment, and the reports or the refund that the change names. */
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
  /** When it was decided on. */
  time: Date
  outcome: Exclude<AttemptOutcome, 'unknown'>
  /** Why it was refused; undefined for any other outcome, and when the back end gives no reason. */
  refusalReason?: RefusalReason | undefined
}

/** The output: what the change writes; an empty one writes nothing. */
export type Decision = {
  transition?: Transition | undefined
  /** A report of the back end, which counts once. */
  report?: (AttemptKey & ReportedOutcome) | undefined
  /** An attempt that we start at a connector. A worker enquires about its outcome after `leaseMs`. */
  begins?:
    | (AttemptKey & {
        projectId: string
        paymentId: string
        connector: string | null
        leaseMs: number
        time: Date
      })
    | undefined
  /** An attempt whose outcome is known. Only an attempt that we started has a row to end. */
  ends?: AttemptKey | undefined
  /** A refund whose outcome was reported. */
  refunded?: { refundId: string; outcome: TransferOutcome; time: Date } | undefined
  /** Why the merchant refunds the payment. */
  reason?: { projectId: string; paymentId: string; reason: string } | undefined
}

/** Decides on a locked payment. Throws a Failure to refuse the change. */
export type Decide = (found: Found) => Decision
