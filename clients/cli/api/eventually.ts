// Polls until a condition is true or a deadline passes.
import { setTimeout as sleep } from 'node:timers/promises'

/** Thrown when the condition did not become true in time. */
class NotInTime extends Error {}

const firstPauseMs = 60
const maxPauseMs = 500

/**
 * Polls until `ask` returns something other than undefined. Rejects with NotInTime after `withinMs`, with an AbortError
 * when the signal aborts, and with what `ask` rejects with.
 */
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
