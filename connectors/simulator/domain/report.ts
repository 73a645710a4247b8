// The reports that are sent to other services, and which service receives each.
import type { AttemptOutcome, Refusal } from './charge.ts'
import type { ConsentAnswer, ReviewedLevel } from './review.ts'

/** A service that receives reports. */
export type Receiver = 'payments' | 'accounts' | 'institution'

/** A claimed report. */
export type Report = {
  /** The charge, payout, refund, review, challenge or transfer that it is about. */
  subjectId: string
  position: number
  /** Times that it was claimed, this time included. */
  attempts: number
} & Content

type Content =
  | {
      kind: 'charge'
      attemptId: string
      outcome: 'processing' | Exclude<AttemptOutcome, 'unknown'>
      paymentMethod: 'card' | null
      refusal: Refusal | null
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
