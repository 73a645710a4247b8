// What others are told, and who is told it; it must not touch a store or a wire.
import type { AttemptOutcome } from './charge.ts'
import type { ConsentAnswer, ReviewedLevel } from './review.ts'

/** A service that takes reports in. */
export type Receiver = 'payments' | 'accounts' | 'institution'

/** A report in hand. */
export type Report = {
  /** The charge, payout, refund, review, question or transfer that it is about. */
  subjectId: string
  position: number
  /** Times that it was taken in hand, this time included. */
  attempts: number
} & Content

type Content =
  | {
      kind: 'charge'
      attemptId: string
      outcome: 'processing' | Exclude<AttemptOutcome, 'unknown'>
      paymentMethod: 'card' | null
    }
  | { kind: 'payout' | 'refund'; outcome: 'completed' }
  | { kind: 'onboarding'; outcome: 'completed'; accountLevel: ReviewedLevel }
  | { kind: 'onboarding'; outcome: 'rejected'; reason: string }
  | { kind: 'consent'; outcome: ConsentAnswer }
  | { kind: 'transfer'; outcome: 'completed' | 'failed' | 'cancelled'; reason: string | null }

/** The kinds of reports that each receiver takes. */
export const kindsOf = {
  payments: ['charge', 'payout', 'refund'],
  accounts: ['onboarding', 'consent'],
  institution: ['transfer'],
} as const satisfies Record<Receiver, readonly Report['kind'][]>

/** A report of a kind that its receiver takes. */
export type ReportTo<R extends Receiver> = Extract<Report, { kind: (typeof kindsOf)[R][number] }>

/** Every receiver, in no order that matters. */
export const receivers = Object.keys(kindsOf) as Receiver[]
