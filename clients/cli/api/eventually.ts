// Polls until a condition is true or a deadline passes.
import { setTimeout as sleep } from 'node:timers/promises'

/** Thrown when the wait was in vain. */
export class NotInTime extends Error {}

const firstPauseMs = 60
const maxPauseMs = 500

/** Asks until the answer is there; `undefined` means not yet. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  { withinMs = 30_000, signal }: { withinMs?: number; signal?: AbortSignal | undefined } = {},
): Promise<T> {
  const deadlineMs = Date.now() + withinMs
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.4, maxPauseMs)) {
    const found = await ask()
    if (found !== undefined) return found
    if (Date.now() > deadlineMs) {
      throw new NotInTime(`${what}: not within ${Math.round(withinMs / 1_000)} s`)
    }
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal })
  }
}
