// Answers of services for things that may not exist.
import { Failure } from '#core/errors/errors.ts'
import { answered } from '../http/answered.ts'

/** What a call finds; undefined where the service says that there is no such thing. Rejects with any other Failure. */
export async function orUndefined<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof Failure && error.reason.endsWith('_NOT_FOUND')) return undefined
    throw error
  }
}

/** Well below the deadline of a page, which asks others after these. */
export const lookMs = 1_000

/**
 * What a call of a search finds within a second, or `withinMs`; undefined where there is no such thing, or where its service does not
 * answer. Then `what` is added to `missing`, and a search does not ask for it again.
 */
export async function sought<T>(
  missing: string[],
  what: string,
  look: () => Promise<T>,
  withinMs = lookMs,
): Promise<T | undefined> {
  if (missing.includes(what)) return undefined
  return await answered(missing, what, () => orUndefined(look), withinMs)
}
