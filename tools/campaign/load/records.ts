// What the load notes of each operation and each push; the checks and the report are made from it.

type Json = Record<string, unknown>

/** One request and its answer. Times are milliseconds since 1970. */
export type Try = {
  /** Method and path. */
  route: string
  sentMs: number
  endMs: number
  /** Of HTTP; 0 when no answer came. */
  status: number
  /** `errorCode` of the answer, or why no answer came. */
  error?: string
  /** Why the answer is not one that the documents show. */
  undocumented?: string
}

/** How a payment ends. */
export type PaymentOutcome = {
  state: string
  /** The states of its payers in order. */
  payers: string[]
  /** Event types of the notifies, and `callback <sequence> <status>`, sorted. */
  pushes: string[]
  /** Settlements of a payer's money, in minor units by kind. */
  money: Record<string, number>
}

/** What was promised to the client of a bill payment: the body of the answer. */
export type BillPromise = { body: Json; answer: Json; amountMinor: number }

/** What was promised to the client of a transaction: its end, and by how much it changes whose balance, in minor units. */
export type TransferPromise = {
  id: string
  body: Json
  receiptId: string
  state: string
  /** By mobile number. */
  changes: Record<string, number>
}

/** What was promised to the client of a quote. */
export type QuotePromise = { id: string; answer: Json }

/** What an operation may be. */
export const kinds = [
  'paid',
  'by hand',
  'by card',
  'by cash',
  'cancelled',
  'cancelled while paying',
  'expired',
  'refunded',
  'declined',
  'late money',
  'two payers',
  'bill',
  'quote',
  'transfer',
  'race',
  'account',
  'business',
  'consent',
  'look-up',
  'deliveries',
] as const
export type Kind = (typeof kinds)[number]

/** One operation, repeated with the same ids until its outcome is known, as an integrator does. */
export type Operation = {
  kind: Kind
  /** The client's own id: transaction id or idempotency key. */
  id: string
  begunMs: number
  tries: Try[]
  /** When its outcome was known to the client. */
  doneMs?: number
  /** The id that the system gave it. */
  resultId?: string
  /** The request, `payment_details` of the answer, and the outcomes that all answers allow. */
  payment?: { body: Json; answer: Json; outcomes: PaymentOutcome[] }
  bill?: BillPromise
  transfers?: TransferPromise[]
  /**
   * The callbacks of an account or consent: its request id, each `onboarding_status` or `request_status` that they may have, and
   * how many may come: each request that was executed has one.
   */
  onboarding?: { requestId: string; outcomes: string[]; max: number }
  quote?: QuotePromise
  /** API key of the merchant that it made. */
  merchantKey?: string
  /** What went against the contract. */
  broken?: string
}

/** A push as a receiver of the merchant got it. */
export type Push = {
  deliveryId: string
  /** The merchant's id of the payment, or the request id of an onboarding. */
  subject: string
  /** Event type of a notify, `callback <sequence> <status>`, or the outcome of an onboarding. */
  what: string
  /** SHA-256 of the body. */
  digest: string
  receivedMs: number
  /** Whether it was answered by 2xx. */
  accepted: boolean
  /** Why the body or its signature is not what the documents say. */
  undocumented?: string
}

/** Everything of one run. */
export type Records = { operations: Operation[]; pushes: Push[] }
