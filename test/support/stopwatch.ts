// Measures promises of time fairly: a standstill of the whole machine does not count. It must not judge what is late.

const tickMs = 25
/** Longer than any pause of a process that gets its turns: what is above it, nobody on this machine has had. */
const longestTickMs = 250

/** A stopwatch that runs. */
export type Stopwatch = {
  /** Milliseconds since the start in which this process, and so whatever it waits for, got its turns. */
  elapsedMs(): number
}

/** Starts one; it ends with the process. */
export function startStopwatch(): Stopwatch {
  let lastMs = performance.now()
  let countedMs = 0
  const count = () => {
    const nowMs = performance.now()
    countedMs += Math.min(nowMs - lastMs, longestTickMs)
    lastMs = nowMs
  }
  setInterval(count, tickMs).unref()
  return {
    elapsedMs() {
      count()
      return countedMs
    },
  }
}
