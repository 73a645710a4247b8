// What the load generator notes of each operation and each push; the report and the invariants are computed from it.

/** What clients do. */
export const kinds = ['create', 'bill', 'quote', 'transfer'] as const
export type Kind = (typeof kinds)[number]

/** One request on its way and its answer. Times are milliseconds since 1970. */
export type Try = {
  sentMs: number
  endMs: number
  /** Of HTTP; 0 when no answer came. */
  status: number
  /** Why no answer came. */
  error?: string
}

/** One operation, repeated with the same ids until its outcome is known, as an integrator does. */
export type Operation = {
  kind: Kind
  /** The client's own id: transaction id or idempotency key. */
  id: string
  tries: Try[]
  /** The id that the system gave it; undefined until its outcome is known. */
  resultId?: string
}

/** A push as the merchant's server received it. */
export type Push = {
  deliveryId: string
  /** The merchant's id of the payment. */
  transactionId: string
  /** `callback`, or the event type of a notify. */
  what: string
  /** SHA-256 of the body. */
  digest: string
  receivedMs: number
}

/** Everything of one load. */
export type Records = { operations: Operation[]; pushes: Push[] }

/** The first request of an operation; there is one as soon as the operation is known. */
export function firstTry({ tries }: Operation): Try | undefined {
  return tries[0]
}

/** The request whose answer said the outcome. */
export function lastTry({ tries, resultId }: Operation): Try | undefined {
  return resultId === undefined ? undefined : tries.at(-1)
}

export function isGood({ status }: Try): boolean {
  return status >= 200 && status < 300
}
