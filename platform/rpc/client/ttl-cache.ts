// A TTL cache with single flight, invalidation and stale-if-error (RFC 5861).
//
// An expired answer is loaded again. While the service is unavailable or slow, the expired answer may be used for some time
// longer, so that a short stall of the service delays no request. After a `drop`, or once the service has refused, it is not used.
//
// Refusals have a map of their own: callers who send many wrong keys take no room from answers.
import { Failure } from '#core/errors/errors.ts'

/** Answers by key; a key is a digest, never the secret that it was made of. */
export type TtlCache<T> = {
  /** The cached answer, or what `load` returns. A cached refusal is thrown again. */
  get(key: string, load: () => Promise<T>): T | Promise<T>
  /** The answer that the cache holds for the key, unless it is a refusal. */
  peek(key: string): T | undefined
  /** Drops all entries, also those being loaded now; of the answers only those for which `isAffected`, when it is given. */
  drop(isAffected?: (key: string, answer: T) => boolean): void
}

/** The result of a look-up; `stale` is an expired answer that was used because no new one came in time. */
export type Lookup = 'hit' | 'miss' | 'stale'

export type TtlCacheOptions<T> = {
  /** Time to live of an answer, in milliseconds. */
  ttlMs: (answer: T) => number
  /** How long an expired answer may be used while the service is unavailable or slow, in milliseconds; 0 by default. */
  staleIfErrorMs?: (answer: T) => number
  /** Whether invalidations arrive now, so that `drop` is called: otherwise no expired answer is used. False by default. */
  isSubscribed?: () => boolean
  /** Time to live of a refusal, in milliseconds; 0 for one that says nothing about the key. */
  refusedTtlMs: (failure: Failure) => number
  /** Maximum number of answers; that of refusals is fixed. */
  maxEntries: number
  /** Called for each `get`, to count its outcome. */
  onLookup?: (outcome: Lookup) => void
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number
}

type Cached<T> = { untilMs: number; answer: T; staleUntilMs: number; retryAtMs: number }
type Refused = { untilMs: number; failure: Failure }

type Loading<T> = {
  answer: Promise<T>
  /** Resolves after `lateMs`: from then on callers use the expired answer. Unset while no caller has one. */
  late: Promise<typeof isLate> | undefined
}

const isLate = Symbol('late')
/**
 * How long callers wait for a new answer before they use the expired one. An answer usually takes a few milliseconds, so a
 * revoked key is refused even if its `drop` was lost.
 */
const lateMs = 100
/** After the service was unavailable, the pause before it is called again; expired answers are used meanwhile. */
const retryMs = 1_000
/** Maximum number of refusals. When one is dropped early, its key is only looked up again. */
const maxRefusals = 1_000

/** Makes an empty cache. Its `get` throws, or rejects with, what `load` does. */
export function ttlCache<T>(options: TtlCacheOptions<T>): TtlCache<T> {
  return new SingleFlightCache({
    nowMs: () => performance.now(),
    staleIfErrorMs: () => 0,
    isSubscribed: () => false,
    onLookup: () => undefined,
    ...options,
  })
}

class SingleFlightCache<T> implements TtlCache<T> {
  readonly #options: Required<TtlCacheOptions<T>>
  readonly #answers = new Map<string, Cached<T>>()
  readonly #refusals = new Map<string, Refused>()
  readonly #loading = new Map<string, Loading<T>>()
  #generation = 0

  constructor(options: Required<TtlCacheOptions<T>>) {
    this.#options = options
  }

  get(key: string, load: () => Promise<T>): T | Promise<T> {
    const { nowMs, onLookup } = this.#options
    const entry = this.#answers.get(key)
    if (entry !== undefined && nowMs() < entry.untilMs) {
      onLookup('hit')
      return entry.answer
    }
    const refused = this.#refusals.get(key)
    if (refused !== undefined && nowMs() < refused.untilMs) {
      onLookup('hit')
      throw refused.failure
    }
    if (entry === undefined || !this.#isUsable(entry)) {
      onLookup('miss')
      return this.#load(key, load).answer
    }
    if (nowMs() < entry.retryAtMs) {
      onLookup('stale')
      return entry.answer
    }
    const loading = this.#load(key, load)
    loading.late ??= new Promise((resolve) => {
      setTimeout(() => resolve(isLate), lateMs).unref()
    })
    return this.#newOrStale(entry, loading)
  }

  peek(key: string): T | undefined {
    const entry = this.#answers.get(key)
    return entry !== undefined && this.#options.nowMs() < entry.untilMs ? entry.answer : undefined
  }

  drop(isAffected: (key: string, answer: T) => boolean = () => true): void {
    this.#generation += 1
    this.#loading.clear()
    this.#refusals.clear()
    for (const [key, { answer }] of this.#answers) {
      if (isAffected(key, answer)) this.#answers.delete(key)
    }
  }

  #load(key: string, load: () => Promise<T>): Loading<T> {
    const pending = this.#loading.get(key)
    if (pending !== undefined) return pending
    const begun: Loading<T> = { answer: this.#fetch(key, load), late: undefined }
    this.#loading.set(key, begun)
    return begun
  }

  async #fetch(key: string, load: () => Promise<T>): Promise<T> {
    const { nowMs, ttlMs, staleIfErrorMs, maxEntries } = this.#options
    const generation = this.#generation
    try {
      const answer = await load()
      if (generation === this.#generation) {
        const untilMs = nowMs() + ttlMs(answer)
        const staleUntilMs = untilMs + staleIfErrorMs(answer)
        this.#refusals.delete(key)
        const entry = { answer, untilMs, staleUntilMs, retryAtMs: untilMs }
        remember(this.#answers, key, entry, maxEntries)
      }
      return answer
    } catch (error) {
      if (generation === this.#generation) this.#recordFailure(key, error)
      throw error
    } finally {
      if (generation === this.#generation) this.#loading.delete(key)
    }
  }

  #recordFailure(key: string, error: unknown): void {
    const { nowMs, refusedTtlMs } = this.#options
    if (isUndecided(error)) {
      const entry = this.#answers.get(key)
      if (entry !== undefined) entry.retryAtMs = nowMs() + retryMs
      return
    }
    this.#answers.delete(key)
    if (!(error instanceof Failure)) return
    const ttlMs = refusedTtlMs(error)
    if (ttlMs === 0) return
    remember(this.#refusals, key, { failure: error, untilMs: nowMs() + ttlMs }, maxRefusals)
  }

  #isUsable(entry: Cached<T>): boolean {
    const { nowMs, isSubscribed } = this.#options
    return nowMs() < entry.staleUntilMs && isSubscribed()
  }

  /** The new answer, or the expired one when the new one is late or the service is unavailable. */
  async #newOrStale(entry: Cached<T>, { answer, late }: Loading<T>): Promise<T> {
    const { onLookup } = this.#options
    const generation = this.#generation
    const mayUseStale = () => generation === this.#generation && this.#isUsable(entry)
    try {
      const first = await Promise.race([answer, late])
      if (first !== isLate || !mayUseStale()) {
        const fresh = await answer
        onLookup('miss')
        return fresh
      }
    } catch (error) {
      if (!isUndecided(error) || !mayUseStale()) {
        onLookup('miss')
        throw error
      }
    }
    onLookup('stale')
    return entry.answer
  }
}

/** Adds an entry as the newest; the oldest goes when there are more than `max`. */
function remember<E>(entries: Map<string, E>, key: string, entry: E, max: number): void {
  entries.delete(key)
  entries.set(key, entry)
  if (entries.size <= max) return
  const [oldest = key] = entries.keys()
  entries.delete(oldest)
}

/** Whether an error says nothing about the key: the service was unavailable or too slow. */
function isUndecided(error: unknown): boolean {
  return (
    error instanceof Failure &&
    (error.reason === 'SERVICE_UNAVAILABLE' || error.reason === 'TIMEOUT')
  )
}
