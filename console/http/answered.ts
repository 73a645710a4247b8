// Parts of a page that a service does not answer for: the page shows the others and names what is missing.
import { Failure, reasons } from '#core/errors/errors.ts'
import { currentContext, runWithContext } from '#platform/rpc/context.ts'
import type { Section } from '../pages/blocks.ts'

/** Says which parts of a page are missing; nothing where none is. */
export function missingSection(missing: readonly string[]): Section[] {
  const parts = [...new Set(missing)].toSorted()
  if (parts.length === 0) return []
  return [
    { warning: `This page is not complete, since a service does not answer: ${parts.join(', ')}.` },
  ]
}

/** Well below the deadline of a page, so that the calls after this one have time left. */
const partMs = 4_000

/**
 * What calls answer within four seconds, or `withinMs`; undefined where a service is down, does not answer in time, or fails.
 * Then `what` is added to `missing`. Rejects with a refusal, as the calls do.
 */
export async function answered<T>(
  missing: string[],
  what: string,
  calls: () => Promise<T>,
  withinMs = partMs,
): Promise<T | undefined> {
  const context = currentContext()
  const deadline = Math.min(context?.deadline ?? Number.POSITIVE_INFINITY, Date.now() + withinMs)
  try {
    return context === undefined
      ? await calls()
      : await runWithContext({ ...context, deadline }, calls)
  } catch (error) {
    if (!(error instanceof Failure) || reasons[error.reason].http < 500) throw error
    missing.push(what)
    return undefined
  }
}
