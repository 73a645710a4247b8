// Polls a health check and reports when it begins to fail and when it passes again.
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Why something that runs since `startedMs` does not work, in a few words; undefined while it does, or while it may still come
 * to. Times are those of `performance`. Rejects never.
 */
export type Check = (startedMs: number) => Promise<string | undefined>

/** Poll interval, and the callback for changes. */
export type HealthWatchOptions = {
  everyMs: number
  /** Called once for problems in a row. */
  onFailing: (problem: string) => void
  /** Called when it works again after that. */
  onWorking?: () => void
  /** Ends the watch. */
  signal: AbortSignal
}

/** Watches until the signal. */
export async function watchHealth(
  check: Check,
  { everyMs, onFailing, onWorking, signal }: HealthWatchOptions,
): Promise<void> {
  const startedMs = performance.now()
  let fails = false
  for (;;) {
    await sleep(everyMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    const problem = await check(startedMs)
    if (signal.aborted) return
    if (problem !== undefined && !fails) onFailing(problem)
    if (problem === undefined && fails) onWorking?.()
    fails = problem !== undefined
  }
}
