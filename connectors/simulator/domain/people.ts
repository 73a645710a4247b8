// The scripted behaviour of payers, by mobile number.

/** An act that a person repeats from a moment on. */
export type Behaviour = {
  act: 'pay' | 'refuse'
  /** Counted from the announcement of the charge, or from its withdrawal as cancelled (late money). */
  starts: 'announced' | 'cancelled'
  /** Until the first act, and between acts. */
  everyMs: number
  times: number
}

/**
 * Payers who are not listed act by hand. +12025550108 is left out on purpose: that payer never acts.
 */
const people: Readonly<Record<string, Behaviour>> = {
  // Pays after 1 s.
  '+12025550101': { act: 'pay', starts: 'announced', everyMs: 1_000, times: 1 },
  // Refuses once a second, until the five attempts are used up.
  '+12025550102': { act: 'refuse', starts: 'announced', everyMs: 1_000, times: 5 },
  // Pays after 5 s.
  '+12025550105': { act: 'pay', starts: 'announced', everyMs: 5_000, times: 1 },
  // Pays 2 s after the request was cancelled: late money.
  '+12025550112': { act: 'pay', starts: 'cancelled', everyMs: 2_000, times: 1 },
}

/** The scripted behaviour of a number (E.164 with plus sign). */
export function behaviourOf(mobileNumber: string): Behaviour | undefined {
  return Object.hasOwn(people, mobileNumber) ? people[mobileNumber] : undefined
}
