// Deletes ended rows in batches; the stores say which rows those are.
import type { Database, Queryable } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { createSignal } from '../process/signal.ts'

export type RetentionOptions = {
  db: Database
  log: Logger
  /** Deletes up to `limit` rows and returns how many. */
  deleteOld: (db: Queryable, limit: number) => Promise<number>
}

const batchRows = 1_000
/** Between batches, so that deleting a backlog leaves the database to others. */
const betweenBatchesMs = 50
const betweenRoundsMs = 60_000

/** Deletes about once a minute until closed; errors are logged and tried again. */
export function startRetention({ db, log, deleteOld }: RetentionOptions): {
  close(): Promise<void>
} {
  const wakeup = createSignal()
  const stopping = new AbortController()

  async function run(): Promise<void> {
    // Spreads the first round, so that replicas that start together do not delete at the same time.
    await wakeup.pause(Math.random() * betweenRoundsMs)
    while (!stopping.signal.aborted) {
      const deleted = await deleteOld(db, batchRows).catch((error: unknown) => {
        log.warn({ err: error }, 'old rows not deleted')
        return 0
      })
      if (deleted > 0) log.debug({ rows: deleted }, 'old rows deleted')
      if (!stopping.signal.aborted)
        await wakeup.pause(deleted < batchRows ? betweenRoundsMs : betweenBatchesMs)
    }
  }

  const running = run()
  return {
    close() {
      stopping.abort()
      wakeup.notify()
      return running
    },
  }
}
