// Who may report on what a connector has: that connector alone, and an operator's bearer.
import type { Failure } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { currentContext } from '../context.ts'

/** Name of the connector that reports. Undefined for an outcome in the response to our own call, and for an operator's bearer. */
export type Reporter = string | undefined

/** What is reported on: its kind for the log, the connector that has it, and the error for an unknown one. */
export type Reported = { kind: string; owner: string; unknown: () => Failure }

/** The reporter of the current call. */
export function currentReporter(): Reporter {
  const caller = currentContext()?.caller
  return caller?.kind === 'service' ? caller.name : undefined
}

/** Refuses and logs a report about what another connector has. Throws the error for an unknown one. */
export function checkReporter(
  reporter: Reporter,
  { kind, owner, unknown }: Reported,
  log: Logger,
): void {
  if (reporter === undefined || reporter === owner) return
  log.warn({ kind, caller: reporter, connector: owner }, 'report of another connector refused')
  throw unknown()
}
