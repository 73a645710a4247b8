// The one way in which tests wait: it looks again until what is expected holds. A fixed sleep is not a way to wait.
import { setTimeout as sleep } from 'node:timers/promises'
import { startStopwatch } from './stopwatch.ts'

/** Generous: it bounds how long a failure takes, and claims nothing about how fast anything is. */
const defaultMs = 30_000
const firstPauseMs = 5
const maxPauseMs = 50

type Look<T> = () => T | false | Promise<T | false>
/** A look that may find nothing and says so by `undefined` does not compile: it would end the wait. */
type Definite<T> = undefined extends T ? ([T] extends [void] ? unknown : never) : unknown
type Check<T> = (value: T | false) => void

/**
 * Looks until it neither throws nor returns false, and returns what it saw. What a look finds or not ends in `?? false`.
 * @throws the last failure, once `withinMs` have passed in which this process was scheduled
 */
export async function eventually<T>(look: Look<T> & Definite<T>, withinMs?: number): Promise<T>
/**
 * Reads until the check of what it read does not throw, and returns that.
 * @throws the last failure, once `withinMs` have passed in which this process was scheduled
 */
export async function eventually<T>(
  read: () => T | Promise<T>,
  check: (value: T) => void,
  withinMs?: number,
): Promise<T>
export async function eventually<T>(
  look: Look<T>,
  second?: Check<T> | number,
  third?: number,
): Promise<T | false> {
  const [check, withinMs = defaultMs] =
    typeof second === 'function' ? [second, third] : [undefined, second]
  const unmet = new Error(`not within ${withinMs} ms: ${look.toString().replaceAll(/\s+/g, ' ')}`)
  Error.captureStackTrace(unmet, eventually)
  const watch = startStopwatch()
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.25, maxPauseMs)) {
      // Read before the look: what holds only after the limit is still seen, what does not is not looked at once more.
      const isLast = watch.elapsedMs() > withinMs
      try {
        const value = await look()
        if (check === undefined && value === false) throw unmet
        check?.(value)
        return value
      } catch (error) {
        if (isLast) throw error
      }
      await sleep(pauseMs)
    }
  } finally {
    watch.stop()
  }
}
