// Ends tasks of accepted calls whose rows are deleted, many at a time.
import type { Database } from '#platform/db/db.ts'
import { systemTimers, type Timers } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import type { BackendCall } from '../domain/backend-call.ts'
import { markDone } from '../store/task-store.ts'

/** How long tasks are gathered. A process that is killed leaves so much more to be repeated, and all of these calls are idempotent. */
export const endAfterMs = 500
const maxOfStatement = 200

/** Tasks that are ended a moment later. */
export type EndedTasks = {
  /** Ends the tasks of calls that were accepted. Never throws. */
  add(calls: readonly BackendCall[]): void
  /** Ends what was gathered. Never rejects. */
  close(): Promise<void>
}

/** Gathers tasks of announcements and payouts, of which almost every payment has both. */
export function gatherEnded(options: { db: Database; log: Logger; timers?: Timers }): EndedTasks {
  const { db, log, timers = systemTimers } = options
  let gathered: BackendCall[] = []
  let ending = Promise.resolve()
  let cancel: (() => void) | undefined

  /** One after the other, so that few connections are taken. */
  function end(): void {
    cancel = undefined
    const calls = gathered
    gathered = []
    ending = ending.then(() => endAll(calls))
  }

  async function endAll(calls: BackendCall[]): Promise<void> {
    for (const [kind, some] of Map.groupBy(calls, (call) => call.kind)) {
      const ids = some.map(({ subjectId }) => subjectId)
      for (let from = 0; from < ids.length; from += maxOfStatement) {
        const subjectIds = ids.slice(from, from + maxOfStatement)
        await markDone(db, { kind, subjectIds }).catch((error: unknown) => {
          // The worker repeats the calls when the leases expire.
          log.warn({ err: error, kind }, 'calls left to the task worker')
        })
      }
    }
  }

  return {
    add(calls) {
      gathered.push(...calls)
      cancel ??= timers.after(endAfterMs, end)
    },
    close() {
      cancel?.()
      end()
      return ending
    },
  }
}
