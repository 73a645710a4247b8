// Resolves the addresses of a service, and resolves them again when they are old.

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

/**
 * Returns every address of a host name; a headless service has one for each of its pods. Rejects with the resolver's
 * error.
 */
export type Resolve = (hostname: string) => Promise<string[]>

/** Uses the resolver of the system, because only that one reads the hosts file and the search domains. */
const systemResolve: Resolve = async (hostname) => {
  const found = await lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** How addresses are looked up. */
export interface AddressOptions {
  resolve?: Resolve
  /** How long a result is used, ±20 %, so that callers do not all look up at once. */
  ttlMs?: number
  /** Milliseconds of a monotonic clock. */
  now?: () => number
}

/** The addresses of some origins, as `host:port`. */
export interface Addresses {
  /**
   * The last known addresses, undefined before the first look-up; when they are old, looks up again in the background.
   */
  current(): readonly string[] | undefined
  /**
   * Looks up again now (single flight), unless the last look-up is recent. Never rejects: a failure keeps the known
   * addresses.
   */
  refresh(): Promise<readonly string[]>
  /** Why the last look-up failed; undefined when it did not. */
  failure(): Error | undefined
}

const defaultTtlMs = 5_000
const jitter = 0.2
/** Minimum age of a result before it is looked up again: many failed connects at once cause one look-up. */
const minAgeMs = 100

/**
 * Looks up the hosts of some origins of one scheme, again and again. `onChange` is called for each result that differs
 * from the last.
 */
export function watchAddresses(
  origins: readonly URL[],
  onChange: (addresses: readonly string[]) => void,
  options: AddressOptions = {},
): Addresses {
  const { resolve = systemResolve, ttlMs = defaultTtlMs, now = () => performance.now() } = options
  let known: readonly string[] | undefined
  let error: Error | undefined
  let lookedUpMs = Number.NEGATIVE_INFINITY
  let expiresMs = Number.NEGATIVE_INFINITY
  let pending: Promise<readonly string[]> | undefined

  async function lookUpNow(): Promise<readonly string[]> {
    try {
      const all = await lookUp(origins, resolve, known === undefined)
      error = undefined
      if (all.join() !== known?.join()) {
        known = all
        onChange(all)
      }
    } catch (cause) {
      // Keeps the known addresses: a failed name server does not remove them.
      error = cause instanceof Error ? cause : new Error(String(cause))
    }
    lookedUpMs = now()
    expiresMs = lookedUpMs + ttlMs * (1 - jitter + 2 * jitter * Math.random())
    pending = undefined
    return known ?? []
  }

  function refresh(): Promise<readonly string[]> {
    if (known !== undefined && now() - lookedUpMs < minAgeMs) return Promise.resolve(known)
    pending ??= lookUpNow()
    return pending
  }

  return {
    current() {
      if (known !== undefined && now() > expiresMs) void refresh()
      return known
    },
    refresh,
    failure: () => error,
  }
}

/** With `partly`, a host that cannot be looked up does not hide the others. */
async function lookUp(
  origins: readonly URL[],
  resolve: Resolve,
  partly: boolean,
): Promise<readonly string[]> {
  const asked = await Promise.allSettled(origins.map((origin) => addressesOf(origin, resolve)))
  const found = asked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
  const failed = asked.find((one) => one.status === 'rejected')
  if (failed !== undefined && (!partly || found.length === 0)) throw failed.reason
  if (found.length === 0) throw new Error('the name has no address')
  return [...new Set(found)].toSorted()
}

async function addressesOf(origin: URL, resolve: Resolve): Promise<string[]> {
  const port = origin.port || (origin.protocol === 'https:' ? '443' : '80')
  const host = origin.hostname.replace(/^\[|\]$/g, '')
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  return addresses.map((address) => `${isIP(address) === 6 ? `[${address}]` : address}:${port}`)
}
