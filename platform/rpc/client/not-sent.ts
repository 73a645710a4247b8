// Distinguishes calls that never left this process from those whose outcome is unknown.

/** A cause, at some depth, of the error of a call that the callee cannot have seen. */
export class NotSent extends Error {
  constructor(cause?: unknown) {
    super('the call was not sent', { cause })
  }
}

/**
 * Whether the callee cannot have received the call that failed with this error: no connection was made, or the deadline passed
 * before there was one. False also when that is not known, so a caller that repeats a call on true never executes it twice.
 */
export function wasNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof NotSent) return true
  }
  return false
}
