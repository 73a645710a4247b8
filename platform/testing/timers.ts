// Timers that a test moves, for loops that take their time from outside.
import type { Timers } from '#platform/process/loop.ts'

/** Timers that stand still until the test moves them. */
export type ManualTimers = Timers & {
  /** Moves the time by `ms` milliseconds; each timer that is due runs at its time, and what follows from it before the next one. */
  advance(ms: number): Promise<void>
}

/** Lets the promises settle that a timer resolved. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Timers that start at zero. */
export function createManualTimers(): ManualTimers {
  let nowMs = 0
  const timers = new Set<{ atMs: number; work: () => void }>()
  return {
    nowMs: () => nowMs,
    after(ms, work) {
      const timer = { atMs: nowMs + ms, work }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const endMs = nowMs + ms
      await settle()
      for (;;) {
        const [next] = [...timers].toSorted((one, other) => one.atMs - other.atMs)
        if (next === undefined || next.atMs > endMs) break
        timers.delete(next)
        nowMs = next.atMs
        next.work()
        await settle()
      }
      nowMs = endMs
    },
  }
}
