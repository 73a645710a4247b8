// Answers of services for things that may not exist.
import { Failure } from '#core/errors/errors.ts'

/** What a call finds; undefined where the service says that there is no such thing. Rejects with any other Failure. */
export async function orUndefined<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof Failure && error.reason.endsWith('_NOT_FOUND')) return undefined
    throw error
  }
}
