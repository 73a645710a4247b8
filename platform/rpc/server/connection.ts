// The state of each connection of the port: whether an authenticated caller uses it, and its calls and watches.

import { ByteBudget, type ByteLimits, Lease } from '../limits/limits.ts'

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
  /** From one address, without a credential. */
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
      found = new Connection(this, addressOf() ?? '')
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

  /** Notes a call with a valid credential; true for the first one of the connection. */
  noteCredential(): boolean {
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
