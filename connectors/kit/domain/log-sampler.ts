// Bounds how often a line is logged whose cause repeats, or that others can cause.

const everyMs = 60_000

/**
 * Calls `write` for the first of its kind at once, and then at most once a minute, with the count of those since the last line,
 * this one included.
 */
export type LogSampler = (kind: string, write: (count: number) => void) => void

/** Makes a sampler for a bounded number of kinds. */
export function createLogSampler(nowMs: () => number = () => performance.now()): LogSampler {
  const lines = new Map<string, { nextMs: number; count: number }>()
  return (kind, write) => {
    const { nextMs, count } = lines.get(kind) ?? { nextMs: -Infinity, count: 0 }
    if (nowMs() < nextMs) {
      lines.set(kind, { nextMs, count: count + 1 })
      return
    }
    lines.set(kind, { nextMs: nowMs() + everyMs, count: 0 })
    write(count + 1)
  }
}
