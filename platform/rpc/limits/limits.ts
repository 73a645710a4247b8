// How large messages may be, how long calls may take, how many bytes of requests, calls and watches a connection and the server
// may hold at once, and the refusals of calls beyond these limits.

import { Failure } from '#core/errors/errors.ts'
import { limitKeyOf } from '#core/text/address.ts'

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

  /** Reserves `bytes` more; false, reserving nothing, when the budget does not allow it. */
  take(bytes: number, isLarge: boolean): boolean {
    const { maxBytes, maxLargeBytes } = this.#limits
    if (this.#heldBytes + bytes > (isLarge ? maxLargeBytes : maxBytes)) return false
    if (this.#whole !== undefined && !this.#whole.take(bytes, isLarge)) return false
    this.#heldBytes += bytes
    return true
  }

  /** Releases `bytes`. */
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

  /** Sets the reservation to `bytes`; false, and unchanged, when the budget does not allow it or the lease is released. */
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

const kib = 1_024
const mib = 1_024 * kib

/** Request bytes of authenticated callers. A message has at most 4 MiB; one connection leaves room for another's. */
const knownInAll: ByteLimits = { maxBytes: 18 * mib, maxLargeBytes: 12_800 * kib }
const knownOnOne: ByteLimits = { maxBytes: 4_608 * kib, maxLargeBytes: 4_096 * kib }
/** Request bytes of all other callers, whose messages have 4 KiB at most. */
const anonymousInAll: ByteLimits = { maxBytes: 2 * mib, maxLargeBytes: 0 }
const anonymousOnOne: ByteLimits = { maxBytes: 64 * kib, maxLargeBytes: 0 }

/** Calls without a credential that may be in flight on one connection. */
const maxAnonymousCalls = 16

/** Limits on watches of health, each of which takes a slot until its caller ends it. */
export const watchLimits = {
  connection: 4,
  /** From one address (IPv6: one /64 network), without a credential. */
  address: 16,
  /** In all, without a credential: the remainder is for authenticated callers. */
  anonymous: 192,
  all: 256,
} as const

/** The connections of one server, and the limits that they share. */
export class Connections {
  readonly known = new ByteBudget(knownInAll)
  readonly anonymous = new ByteBudget(anonymousInAll)
  readonly #byCarrier = new WeakMap<object, Connection>()
  readonly #watchesByAddress = new Map<string, number>()
  #watches = 0
  #anonymousWatches = 0

  /** The connection of a socket or session; `addressOf` is called once for each. */
  of(carrier: object, addressOf: () => string | undefined): Connection {
    let found = this.#byCarrier.get(carrier)
    if (found === undefined) {
      found = new Connection(this, limitKeyOf(addressOf() ?? ''))
      this.#byCarrier.set(carrier, found)
    }
    return found
  }

  /** Takes a slot for a watch; false when there is none for such a caller. */
  takeWatch(address: string, isKnown: boolean): boolean {
    if (this.#watches >= watchLimits.all) return false
    if (!isKnown) {
      const fromThere = this.#watchesByAddress.get(address) ?? 0
      if (fromThere >= watchLimits.address) return false
      if (this.#anonymousWatches >= watchLimits.anonymous) return false
      this.#watchesByAddress.set(address, fromThere + 1)
      this.#anonymousWatches += 1
    }
    this.#watches += 1
    return true
  }

  /** Gives back a slot that `takeWatch` took. */
  giveWatch(address: string, isKnown: boolean): void {
    this.#watches -= 1
    if (isKnown) return
    this.#anonymousWatches -= 1
    const left = (this.#watchesByAddress.get(address) ?? 0) - 1
    if (left > 0) this.#watchesByAddress.set(address, left)
    else this.#watchesByAddress.delete(address)
  }
}

/** One connection. */
export class Connection {
  readonly #all: Connections
  readonly #address: string
  readonly #known: ByteBudget
  readonly #anonymous: ByteBudget
  #anonymousCalls = 0
  #watches = 0
  #isKnown = false

  constructor(all: Connections, address: string) {
    this.#all = all
    this.#address = address
    this.#known = new ByteBudget(knownOnOne, all.known)
    this.#anonymous = new ByteBudget(anonymousOnOne, all.anonymous)
  }

  /** Records a call with a valid credential; true for the first one of the connection. */
  recordCredential(): boolean {
    const isFirst = !this.#isKnown
    this.#isKnown = true
    return isFirst
  }

  /**
   * Admits a call, whose lease is to be released when it has ended; undefined when too many calls without a credential
   * are in flight.
   */
  admit(isKnown: boolean): Lease | undefined {
    if (isKnown) return new Lease(this.#known)
    if (this.#anonymousCalls >= maxAnonymousCalls) return undefined
    this.#anonymousCalls += 1
    return new Lease(this.#anonymous, () => {
      this.#anonymousCalls -= 1
    })
  }

  /**
   * Takes a slot for a watch; returns the function that gives it back, or undefined when there is none for this caller.
   */
  watch(isKnown: boolean): (() => void) | undefined {
    if (this.#watches >= watchLimits.connection) return undefined
    if (!this.#all.takeWatch(this.#address, isKnown)) return undefined
    this.#watches += 1
    return () => {
      this.#watches -= 1
      this.#all.giveWatch(this.#address, isKnown)
    }
  }
}
