// A TTL cache: keeps answers for seconds, with single flight, and drops all on demand.
//
// An answer past its life is asked for again. While no answer comes, the old one may be used for some time longer, so that a
// short stall of the service delays no request; never after a `drop`, and never once the service has refused.
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

/** How a look into the cache ended; `stale` is an answer past its life, used since no new one came. */
export type Lookup = 'hit' | 'miss' | 'stale'

export type TtlCacheOptions<T> = {
  /** How long an answer may be used, in milliseconds. */
  lifeMs: (answer: T) => number
  /** How long past its life it may be used while the service is unavailable or takes too long, in milliseconds; not at all by default. */
  staleMs?: (answer: T) => number
  /** Whether a `drop` would be heard of now: otherwise no answer is used past its life. */
  hearsDrops?: () => boolean
  /** How long a refusal may be used; 0 for one that says nothing about the key. */
  refusedLifeMs: (failure: Failure) => number
  maxEntries: number
  onLookup?: (outcome: Lookup) => void
  nowMs?: () => number
}

type Kept<T> = { untilMs: number; answer: T; staleUntilMs: number; askAgainMs: number }
type Entry<T> = Kept<T> | { untilMs: number; failure: Failure }

type Loading<T> = {
  answer: Promise<T>
  /** Resolves when the answer has been waited for long enough to use an old one. */
  late: Promise<typeof isLate> | undefined
}

const isLate = Symbol('late')
/** An answer usually comes within a few milliseconds; so a revoked key is refused even if the `drop` was lost. */
const lateMs = 100
/** After the service was unavailable, old answers are used for so long before it is asked again. */
const askAgainMs = 1_000

/** Makes an empty cache. */
export function ttlCache<T>(options: TtlCacheOptions<T>): TtlCache<T> {
  return new Answers({
    nowMs: () => performance.now(),
    staleMs: () => 0,
    hearsDrops: () => false,
    onLookup: () => undefined,
    ...options,
  })
}

class Answers<T> implements TtlCache<T> {
  readonly #options: Required<TtlCacheOptions<T>>
  readonly #entries = new Map<string, Entry<T>>()
  readonly #loading = new Map<string, Loading<T>>()
  #generation = 0

  constructor(options: Required<TtlCacheOptions<T>>) {
    this.#options = options
  }

  get(key: string, load: () => Promise<T>): T | Promise<T> {
    const { nowMs, onLookup } = this.#options
    const entry = this.#entries.get(key)
    const isHit = entry !== undefined && nowMs() < entry.untilMs
    if (isHit) {
      onLookup('hit')
      if ('failure' in entry) throw entry.failure
      return entry.answer
    }
    if (entry === undefined || 'failure' in entry || !this.#isUsable(entry)) {
      onLookup('miss')
      return this.#load(key, load).answer
    }
    if (nowMs() < entry.askAgainMs) {
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
    const entry = this.#entries.get(key)
    const isGood = entry !== undefined && 'answer' in entry && this.#options.nowMs() < entry.untilMs
    return isGood ? entry.answer : undefined
  }

  drop(isAffected: (key: string, answer: T) => boolean = () => true): void {
    this.#generation += 1
    this.#loading.clear()
    for (const [key, entry] of this.#entries) {
      if ('failure' in entry || isAffected(key, entry.answer)) this.#entries.delete(key)
    }
  }

  #load(key: string, load: () => Promise<T>): Loading<T> {
    const under = this.#loading.get(key)
    if (under !== undefined) return under
    const begun: Loading<T> = { answer: this.#ask(key, load), late: undefined }
    this.#loading.set(key, begun)
    return begun
  }

  async #ask(key: string, load: () => Promise<T>): Promise<T> {
    const { nowMs, lifeMs, staleMs } = this.#options
    const asked = this.#generation
    try {
      const answer = await load()
      if (asked === this.#generation) {
        const untilMs = nowMs() + lifeMs(answer)
        const staleUntilMs = untilMs + staleMs(answer)
        this.#remember(key, { answer, untilMs, staleUntilMs, askAgainMs: untilMs })
      }
      return answer
    } catch (error) {
      if (asked === this.#generation) this.#noteFailure(key, error)
      throw error
    } finally {
      if (asked === this.#generation) this.#loading.delete(key)
    }
  }

  #noteFailure(key: string, error: unknown): void {
    const { nowMs, refusedLifeMs } = this.#options
    const entry = this.#entries.get(key)
    if (isUndecided(error)) {
      if (entry !== undefined && 'answer' in entry) entry.askAgainMs = nowMs() + askAgainMs
      return
    }
    this.#entries.delete(key)
    if (!(error instanceof Failure)) return
    const lifeMs = refusedLifeMs(error)
    if (lifeMs > 0) this.#remember(key, { failure: error, untilMs: nowMs() + lifeMs })
  }

  #remember(key: string, entry: Entry<T>): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size <= this.#options.maxEntries) return
    const [oldest = key] = this.#entries.keys()
    this.#entries.delete(oldest)
  }

  #isUsable(entry: Kept<T>): boolean {
    const { nowMs, hearsDrops } = this.#options
    return nowMs() < entry.staleUntilMs && hearsDrops()
  }

  /** The new answer, or the old one when the new one is late or the service cannot give it. */
  async #newOrStale(entry: Kept<T>, { answer, late }: Loading<T>): Promise<T> {
    const { onLookup } = this.#options
    const asked = this.#generation
    const mayUseStale = () => asked === this.#generation && this.#isUsable(entry)
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

/** The service said nothing about the key: it is not available, or its answer did not come in time. */
function isUndecided(error: unknown): boolean {
  return (
    error instanceof Failure &&
    (error.reason === 'SERVICE_UNAVAILABLE' || error.reason === 'TIMEOUT')
  )
}
