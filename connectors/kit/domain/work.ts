// Work that a connector owes: reports, webhooks, calls to its provider.

/** Work to store, in the transaction of the change that it follows from. */
export type NewWork = {
  /** Who does it, for example `report.payments`. */
  kind: string
  /** Names the fact among those of its kind, at most 200 characters: the same one is stored once. */
  key: string
  /** What it is about: work of one kind on one subject is done in the order of its arrival. */
  subject: string
  /** At most 1 MiB. */
  payload: Uint8Array
}

/** Names one claim of work: each further claim has another number of attempts. */
export type ClaimedWork = {
  position: bigint
  /** Times that it was claimed, this time included. */
  attempts: number
}

/** Work that a worker has claimed. */
export type Work = NewWork & ClaimedWork

/** What became of claimed work. */
export type WorkEnd = ClaimedWork & {
  outcome: 'done' | 'dead' | 'again'
  reason: string | null
  /** Until the next try. */
  delayMs: number
}
