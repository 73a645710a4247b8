// Deletes ended rows in batches; the stores say which rows those are.
import type { Database, Queryable } from '#platform/db/db.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { type Loop, startLoop } from '../process/loop.ts'

export type RetentionOptions = {
  db: Database
  log: Logger
  /** Deletes up to `limit` rows and returns how many. */
  deleteOld: (db: Queryable, limit: number) => Promise<number>
}

const batchRows = 1_000
/** Pause between batches, so that deleting a backlog does not crowd out other statements. */
const betweenBatchesMs = 50
const betweenRoundsMs = 60_000

/** Deletes about once a minute until closed; errors are logged and tried again. */
export function startRetention({ db, log, deleteOld }: RetentionOptions): Loop {
  return startLoop({
    kind: 'retention',
    log,
    // Spreads the first round, so that replicas that start together do not delete at the same time.
    firstPauseMs: Math.random() * betweenRoundsMs,
    pauseMs: betweenRoundsMs,
    async round() {
      const deleted = await deleteOld(db, batchRows)
      if (deleted > 0) log.debug({ rows: deleted }, 'old rows deleted')
      return deleted < batchRows ? false : betweenBatchesMs
    },
  })
}
