// How large messages may be, how long calls may take, how many bytes of requests may be buffered at once, and the
// refusals of calls beyond these limits.

import { Failure } from '#core/errors/errors.ts'

/** Maximum bytes of a message. */
export const maxMessageBytes = 4 * 1024 * 1024
/** Maximum bytes of a request message of health and reflection, which have only a name. */
export const maxNameMessageBytes = 4 * 1024

/** Maximum time that a caller may ask for, in ms; a longer time-out is cut to it. */
export const maxTimeoutMs = 60_000
/** Maximum time of a stream that lasts, in ms: a watch, a tail. */
export const maxStreamMs = 24 * 3_600_000

/** Makes (does not throw) the MESSAGE_TOO_LARGE for a message over the limit of its method. */
export function messageTooLarge(maxBytes: number): Failure {
  return new Failure('MESSAGE_TOO_LARGE', `message is over ${maxBytes} bytes`)
}

/** Makes (does not throw) the SERVER_OVERLOADED for a call whose bytes the server has no room for. */
export function tooManyBytes(): Failure {
  return new Failure(
    'SERVER_OVERLOADED',
    'too many request bytes are in flight on this connection or server, retry later',
  )
}

/** Makes (does not throw) the SERVER_OVERLOADED for a call beyond those that may be in flight without a credential. */
export function tooManyCalls(): Failure {
  return new Failure(
    'SERVER_OVERLOADED',
    'too many calls without a credential are in flight on this connection, retry later',
  )
}

/** How many bytes may be held. */
export interface ByteLimits {
  maxBytes: number
  /**
   * Limit for messages over `largeMessageBytes`, lower so that small ones still pass while large ones fill the budget.
   */
  maxLargeBytes: number
}

/** Bytes above which a message counts as large: more than a chunk of an upload with its envelope. */
export const largeMessageBytes = 80 * 1024

/** Counts held bytes against limits, and against those of the larger budget that this one belongs to. */
export class ByteBudget {
  readonly #limits: ByteLimits
  readonly #whole: ByteBudget | undefined
  #heldBytes = 0

  constructor(limits: ByteLimits, whole?: ByteBudget) {
    this.#limits = limits
    this.#whole = whole
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Holds so many bytes more; false, holding none of them, when there is no room. */
  take(bytes: number, isLarge: boolean): boolean {
    const { maxBytes, maxLargeBytes } = this.#limits
    if (this.#heldBytes + bytes > (isLarge ? maxLargeBytes : maxBytes)) return false
    if (this.#whole !== undefined && !this.#whole.take(bytes, isLarge)) return false
    this.#heldBytes += bytes
    return true
  }

  /** Holds so many bytes less. */
  give(bytes: number): void {
    this.#heldBytes -= bytes
    this.#whole?.give(bytes)
  }
}

/** What one call holds of a budget; a class, since each call makes one. */
export class Lease {
  readonly #budget: ByteBudget
  readonly #onRelease: (() => void) | undefined
  #heldBytes = 0
  #isReleased = false
  #wasRefused = false

  constructor(budget: ByteBudget, onRelease?: () => void) {
    this.#budget = budget
    this.#onRelease = onRelease
  }

  /** Whether a request for more bytes was ever refused. */
  get wasRefused(): boolean {
    return this.#wasRefused
  }

  /** Holds exactly so many bytes from now on; false, and unchanged, when there is no room or the lease is released. */
  resize(bytes: number): boolean {
    const more = bytes - this.#heldBytes
    // A call that has ended reads no more.
    if (this.#isReleased) return false
    if (more > 0 && !this.#budget.take(more, bytes > largeMessageBytes)) {
      this.#wasRefused = true
      return false
    }
    if (more < 0) this.#budget.give(-more)
    this.#heldBytes = bytes
    return true
  }

  /** Releases everything, permanently. Safe to call again. */
  readonly release = (): void => {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#budget.give(this.#heldBytes)
    this.#heldBytes = 0
    this.#onRelease?.()
  }
}
