// Lets the holders of accounts answer when their time has come. It must not know who says what: review.ts does.
import type { Database } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import { type Poll, startDuePoll } from './poll.ts'
import { answerConsents, waitForNextAnswer } from './review-store.ts'

const batch = 200

export type ConsenterOptions = {
  db: Database
  log: Logger
  /** Called when accounts is owed a report. */
  reportsWritten: () => void
}

/** Answers until closed. */
export function startConsenter({ db, log, reportsWritten }: ConsenterOptions): Poll {
  return startDuePoll({
    log,
    waitMs: () => waitForNextAnswer(db),
    async workOff() {
      if ((await answerConsents(db, batch)) > 0) reportsWritten()
    },
  })
}
