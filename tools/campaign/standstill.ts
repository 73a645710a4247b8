// Notes when this machine stands still, as a virtual machine does that is paused: deadlines of the product pass meanwhile.
import type { Window } from './check/answers.ts'

const tickMs = 100
/** A process that gets its turns pauses for no longer: a longer pause is a standstill. */
const maxPauseMs = 1_500
/** Until requests that waited meanwhile are answered. */
const limitS = 15

/** Watches until it is stopped; `slack` multiplies the limit of recovery. */
export function watchStandstills(slack = 1): { windows: Window[]; stop(): void } {
  const windows: Window[] = []
  let lastMs = Date.now()
  const ticking = setInterval(() => {
    const nowMs = Date.now()
    if (nowMs - lastMs > maxPauseMs)
      windows.push({ beganMs: lastMs, overMs: nowMs, limitS: limitS * slack })
    lastMs = nowMs
  }, tickMs)
  return { windows, stop: () => clearInterval(ticking) }
}
