// The times of requests made one after the other, and what is said of them.

/** Milliseconds of requests, sorted. */
export type Times = number[]

/** Makes requests one at a time; rejects as they do. */
export async function timesOf(count: number, request: () => Promise<unknown>): Promise<Times> {
  const times: Times = []
  for (let n = 0; n < count; n += 1) {
    const begunMs = performance.now()
    await request()
    times.push(performance.now() - begunMs)
  }
  return sorted(times)
}

/** The times of several rounds as those of one. */
export function all(rounds: Times[]): Times {
  return sorted(rounds.flat())
}

/** The time within which a share of the requests, 0 to 1, was answered; NaN when there were none. */
export function quantile(times: Times, share: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
}

/** Median, p95 and p99 in milliseconds, with `decimals` decimals. */
export function shown(times: Times, decimals = 0): string {
  return [0.5, 0.95, 0.99].map((share) => quantile(times, share).toFixed(decimals)).join(' / ')
}

/** How the record says whether a goal was reached. */
export function verdict(isReached: boolean): string {
  return isReached ? 'reached' : 'missed'
}

function sorted(times: Times): Times {
  return times.toSorted((a, b) => a - b)
}
