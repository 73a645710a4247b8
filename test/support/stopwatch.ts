// Measures time limits fairly: a standstill of the whole machine does not count. No limits are asserted here.

const tickMs = 25
/** Longer than any pause of a process that gets its turns: what is above it, nobody on this machine has had. */
const maxTickMs = 250

/** A stopwatch that runs. */
export type Stopwatch = {
  /** Milliseconds since the start in which this process, and so all that it waits for, was scheduled. */
  elapsedMs(): number
  stop(): void
}

/** Starts one; unless it is stopped, it ends with the process. */
export function startStopwatch(): Stopwatch {
  let lastMs = performance.now()
  let countedMs = 0
  const count = () => {
    const nowMs = performance.now()
    countedMs += Math.min(nowMs - lastMs, maxTickMs)
    lastMs = nowMs
  }
  const ticking = setInterval(count, tickMs).unref()
  return {
    elapsedMs() {
      count()
      return countedMs
    },
    stop: () => clearInterval(ticking),
  }
}
