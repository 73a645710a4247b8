// A clock that tests shift and that a Database then applies to its SQL. No setting of the product reaches it.

/** Distance of the tested system's time from the real one. */
export type TestClock = {
  readonly offsetMs: number
  /** Moves time forward by so many milliseconds. */
  advance(ms: number): void
  /** The shifted time, for code that takes a clock. */
  now(): Date
}

/** A clock that starts at the real time. */
export function createTestClock(): TestClock {
  let offsetMs = 0
  return {
    get offsetMs() {
      return offsetMs
    },
    advance(ms) {
      offsetMs += ms
    },
    now: () => new Date(Date.now() + offsetMs),
  }
}
