// Sends the scripted consent decisions of account holders when due. The script is in review.ts.
import type { Database } from '#platform/db/db.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { answerConsents, waitForNextAnswer } from '../store/review-store.ts'
import { startDuePoll } from './poll.ts'

const batch = 200

export type ConsenterOptions = {
  db: Database
  log: Logger
  /** Called when a report to accounts is due. */
  reportsWritten: () => void
}

/** Answers until closed. */
export function startConsenter({ db, log, reportsWritten }: ConsenterOptions): Loop {
  return startDuePoll({
    kind: 'consents',
    log,
    waitMs: () => waitForNextAnswer(db),
    async workOff() {
      if ((await answerConsents(db, batch)) > 0) reportsWritten()
    },
  })
}
