// When a read-only call is also sent to a second replica, and how many calls may be.

import type { Dispatcher } from 'undici'

/**
 * Wait after which a read-only call without a response is sent to a second replica as well; the first response counts.
 */
export const hedgeAfterMs = 300

/** A call that was sent to one replica. */
export interface SentCall {
  /** Sends it to another replica as well. False when there is none to try, or when the budget is used up. */
  hedge(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean
}

/** Sends calls that change nothing, so that they may be sent twice. */
export interface HedgingDispatcher {
  /** Sends a call that changes nothing; errors go to its handler. */
  dispatchReadOnly(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): SentCall
}

/** The reason with which the slower request of a hedged call is cancelled. */
export class OtherAnswered extends Error {}

/** Outcomes of hedges since the process began; `over_budget` counts those that were not sent. */
export const hedgeCounts = { won: 0, lost: 0, failed: 0, over_budget: 0 }

/** Hedges for each read-only call, in the long run. */
const share = 0.1
/** So that a service with few calls can hedge past a frozen replica too. */
const perSecond = 1
/** Maximum of hedges at once, after a while without any. */
const maxTokens = 20

/**
 * Hedges that may be made: one for ten read-only calls and one a second, 20 at once. They never double the load of a
 * slow service.
 */
export class HedgeBudget {
  #tokens = maxTokens
  #filledMs: number
  readonly #nowMs: () => number

  /** `nowMs` is a clock that never goes back. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
    this.#filledMs = nowMs()
  }

  /** Counts a call that may be hedged. */
  earn(): void {
    if (this.#tokens < maxTokens) this.#tokens += share
  }

  /** Whether one hedge may be made now; if so, it is counted. */
  spend(): boolean {
    const nowMs = this.#nowMs()
    const earned = ((nowMs - this.#filledMs) / 1_000) * perSecond
    this.#filledMs = nowMs
    this.#tokens = Math.min(maxTokens, this.#tokens + earned)
    if (this.#tokens < 1) return false
    this.#tokens -= 1
    return true
  }
}
