// Charges, attempts and credits as this connector knows them.

/** A charge as Payweave announced it. */
export type Charge = {
  chargeId: string
  state: 'open' | 'paid' | 'withdrawn'
  currency: string
  amountMinor: bigint
  mobileNumber: string
}

export type AttemptOutcome = 'processing' | 'paid' | 'refused' | 'unknown'

/** An attempt with its age. */
export type Attempt = { chargeId: string | null; outcome: AttemptOutcome; ageMs: number }

/** Money to send out. */
export type Credit = {
  reference: string
  kind: 'payout' | 'refund'
  currency: string
  amountMinor: bigint
  mobileNumber: string
}
