// Charges, attempts and credits as a connector knows them.
import type { PaymentMethod, RefusalReason } from '#core/payment/words.ts'

/** A charge to store. */
export type NewCharge = {
  chargeId: string
  currency: string
  amountMinor: bigint
  /** The payer's, E.164 with plus sign. */
  mobileNumber: string
  /** The merchant's name, to show to the payer. */
  businessName: string
  expireTime: Date
}

/** A charge as it is stored. One that was withdrawn before it was announced has only an id. */
export type Charge = Omit<NewCharge, 'expireTime'> & {
  state: 'open' | 'paid' | 'withdrawn'
  /** The time to pay is over by the database's clock. */
  isExpired: boolean
}

export type AttemptOutcome = 'processing' | 'paid' | 'refused' | 'unknown'

/** Result of an attempt. */
export type AttemptResult = {
  outcome: AttemptOutcome
  /** Why it was refused; null where the payer may not know. */
  refusal: RefusalReason | null
}

/** An attempt as it is stored; `chargeId` is null for one that was only enquired about. */
export type Attempt = AttemptResult & { chargeId: string | null; ageMs: number }

/** How an attempt ends. */
export type AttemptEnd =
  | {
      outcome: 'paid'
      /** What the payer paid with; absent: as requested. */
      method?: PaymentMethod
    }
  | { outcome: 'refused'; refusal: RefusalReason | null }

/** How far money that is sent out has come. */
export type CreditState = 'pending' | 'completed' | 'failed'

/** Money to send out. */
export type Credit = {
  reference: string
  kind: 'payout' | 'refund'
  /** What a refund returns; null for a payout, and for a refund that was accepted before this was stored. */
  chargeId: string | null
  currency: string
  amountMinor: bigint
  /** The receiver's, E.164 with plus sign. */
  mobileNumber: string
}
