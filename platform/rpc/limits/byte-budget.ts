// Counts the bytes of requests that are buffered at once.

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
