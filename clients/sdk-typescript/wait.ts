// Reads a state again and again until it is the wanted one.
import { WaitError } from './error.ts'
import { type CallOptions, pause } from './transport.ts'

/** How a wait goes on. */
export type WaitOptions = CallOptions & {
  /** How long to wait in all, in milliseconds; default 60,000. */
  withinMs?: number
  /** The pause between two reads, in milliseconds; default 1,000. */
  everyMs?: number
}

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
  for (;;) {
    const found = await read(options)
    const { is, isWanted, isFinal } = look(found)
    if (isWanted) return found
    if (isFinal) throw new WaitError(`it is ${is}, which is final`)
    if (performance.now() + everyMs > endMs) {
      throw new WaitError(`it is still ${is} after ${withinMs} ms`)
    }
    await pause(everyMs, options.signal)
  }
}
