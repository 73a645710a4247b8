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
export type Work = NewWork &
  ClaimedWork & {
    /** Tries that failed since the last one that did not. */
    failures: number
    /** How long every try has failed, in milliseconds; 0 when the last one did not. */
    failingMs: number
  }

/** Result of claimed work. */
export type WorkEnd = ClaimedWork & {
  outcome: 'done' | 'dead' | 'again'
  /** Why the try failed; null for one that did not. */
  reason: string | null
  /** Until the next try. */
  delayMs: number
}

/** What is not done of a kind. */
export type WorkCount = {
  kind: string
  waiting: number
  dead: number
  /** How long the tries of the oldest failing work have failed, in seconds; 0 when none fails. */
  failingS: number
}

/** Dead work, as it is listed for an operator. */
export type DeadWork = Omit<NewWork, 'payload'> & {
  position: bigint
  attempts: number
  /** Why it was refused. */
  reason: string | null
  writtenAt: Date
  deadAt: Date
}
