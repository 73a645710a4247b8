// Reads a state again and again until it is the wanted one.
import { WaitError } from './error.ts'
import { type CallOptions, pause } from './transport.ts'

/** How a wait goes on. */
export type WaitOptions = CallOptions & {
  /** How long to wait in all, reads and their retries included, in milliseconds; default 60,000. */
  withinMs?: number
  /** The pause between two reads, in milliseconds; default 1,000. */
  everyMs?: number
}

/** A timer takes no more. */
const maxTimerMs = 2 ** 31 - 1

/** A state as a wait sees it. */
export type Seen = { is: string; isWanted: boolean; isFinal: boolean }

/**
 * Reads until the state is the wanted one, and returns what was read. Throws a WaitError when another final state was
 * reached or the time is over; rejects as `read` does.
 */
export async function waitUntil<T>(
  read: (options: CallOptions) => Promise<T>,
  look: (found: T) => Seen,
  { withinMs = 60_000, everyMs = 1_000, ...options }: WaitOptions,
): Promise<T> {
  const endMs = performance.now() + withinMs
  const late = AbortSignal.timeout(Math.min(Math.max(0, Math.ceil(withinMs)), maxTimerMs))
  const { signal: leaving } = options
  const signal = leaving === undefined ? late : AbortSignal.any([leaving, late])
  const isStill = (state: string) => `the state is still ${state} after ${withinMs} ms`
  let state = 'unknown'
  for (;;) {
    const found = await read({ ...options, signal }).catch((error: unknown) => {
      if (!late.aborted || leaving?.aborted === true) throw error
      throw new WaitError(isStill(state), { cause: error })
    })
    const { is, isWanted, isFinal } = look(found)
    if (isWanted) return found
    if (isFinal) throw new WaitError(`the state is ${is}, which is final`)
    if (performance.now() + everyMs > endMs) throw new WaitError(isStill(is))
    state = is
    await pause(everyMs, leaving)
  }
}
