// Remembers answers for seconds, asks once for many who wait, and forgets all on demand; it must not know what it keeps.
import { Failure } from '#core/errors.ts'

/** Answers by key; a key is a digest, never the secret that it was made of. */
export type AnswerCache<T> = {
  /** The remembered answer, or what `load` says. A remembered refusal is thrown again. */
  get(key: string, load: () => Promise<T>): T | Promise<T>
  /** Whether the cache holds an answer for the key that is not a refusal. */
  has(key: string): boolean
  /** Forgets everything, also what is being loaded now. */
  drop(): void
}

export type AnswerCacheOptions<T> = {
  /** How long an answer may be used, in milliseconds. */
  lifeMs: (answer: T) => number
  /** How long a refusal may be used; 0 for one that says nothing about the key. */
  refusedLifeMs: (failure: Failure) => number
  maxEntries: number
  onLookup?: (hit: boolean) => void
  nowMs?: () => number
}

type Entry<T> = { untilMs: number } & ({ answer: T } | { failure: Failure })

/** Makes an empty cache. */
export function answerCache<T>(options: AnswerCacheOptions<T>): AnswerCache<T> {
  const { maxEntries, onLookup, nowMs = () => performance.now() } = options
  const entries = new Map<string, Entry<T>>()
  const loading = new Map<string, Promise<T>>()
  let generation = 0

  function remember(key: string, entry: Entry<T>): void {
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size <= maxEntries) return
    const [oldest = key] = entries.keys()
    entries.delete(oldest)
  }

  async function ask(key: string, load: () => Promise<T>): Promise<T> {
    const asked = generation
    try {
      const answer = await load()
      if (asked === generation) {
        remember(key, { answer, untilMs: nowMs() + options.lifeMs(answer) })
      }
      return answer
    } catch (error) {
      const lifeMs = error instanceof Failure ? options.refusedLifeMs(error) : 0
      if (lifeMs > 0 && asked === generation) {
        remember(key, { failure: error as Failure, untilMs: nowMs() + lifeMs })
      }
      throw error
    } finally {
      if (asked === generation) loading.delete(key)
    }
  }

  return {
    get(key, load) {
      const entry = entries.get(key)
      const isHit = entry !== undefined && nowMs() < entry.untilMs
      onLookup?.(isHit)
      if (isHit) {
        if ('failure' in entry) throw entry.failure
        return entry.answer
      }
      const under = loading.get(key)
      if (under !== undefined) return under
      const answer = ask(key, load)
      loading.set(key, answer)
      return answer
    },
    has(key) {
      const entry = entries.get(key)
      return entry !== undefined && 'answer' in entry && nowMs() < entry.untilMs
    },
    drop() {
      generation += 1
      entries.clear()
      loading.clear()
    },
  }
}
