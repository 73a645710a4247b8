// How long a worker waits before it tries again. Pure.

const firstMs = 250
const maxDoublings = 20

/** Doubles from a quarter of a second to `maxMs`, spread by a fifth either way; `random` is from 0 to 1. */
export function delayAfter(attempts: number, maxMs: number, random: number): number {
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(attempts - 1, maxDoublings))
  return Math.round(delayMs * (0.8 + random * 0.4))
}
