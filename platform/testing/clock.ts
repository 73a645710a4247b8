// A clock that tests shift and that a Database then applies to its SQL. No setting of the product reaches it.
import { systemTimers, type Timers } from '../process/loop.ts'

/** Distance of the tested system's time from the real one. */
export type TestClock = {
  readonly offsetMs: number
  /** Moves time forward by `ms`. Pauses of polling loops in this process are that much shorter. */
  advance(ms: number): void
  /** The shifted time, for code that takes a clock. */
  now(): Date
}

/** Longer pauses are of maintenance, which tests call themselves. */
const maxPauseMs = 5_000
/** A round that was under way may have read the time before: a pause that begins so soon after a move is shortened too. */
const roundMs = 50
const shorten = shortenable(systemTimers)

/** A clock that starts at the real time. */
export function createTestClock(): TestClock {
  let offsetMs = 0
  return {
    get offsetMs() {
      return offsetMs
    },
    advance(ms) {
      offsetMs += ms
      if (ms > 0) shorten(ms)
    },
    now: () => new Date(Date.now() + offsetMs),
  }
}

/** Makes timers whose pauses under way can be shortened, and returns what shortens them, by milliseconds. */
function shortenable(timers: Timers): (ms: number) => void {
  const after = timers.after.bind(timers)
  const underWay = new Set<(ms: number) => void>()
  let last = { atMs: -roundMs, ms: 0 }
  timers.after = (ms, work) => {
    if (ms > maxPauseMs) return after(ms, work)
    const nowMs = timers.nowMs()
    const leftMs = Math.max(0, nowMs - last.atMs < roundMs ? ms - last.ms : ms)
    let dueMs = nowMs + leftMs
    const end = () => {
      underWay.delete(shortenBy)
      work()
    }
    const shortenBy = (lessMs: number) => {
      dueMs -= lessMs
      cancel()
      cancel = after(Math.max(0, dueMs - timers.nowMs()), end)
    }
    let cancel = after(leftMs, end)
    underWay.add(shortenBy)
    return () => {
      underWay.delete(shortenBy)
      cancel()
    }
  }
  return (ms) => {
    last = { atMs: timers.nowMs(), ms }
    for (const shortenBy of underWay) shortenBy(ms)
  }
}
