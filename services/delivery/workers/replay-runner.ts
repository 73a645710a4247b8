// Runs replay jobs step by step; any replica may run a step, so no state is kept between steps.
import type { Database } from '#platform/db/db.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { stepReplay } from '../store/replay-store.ts'

/** Dependencies of the loop. */
export interface ReplayRunnerOptions {
  db: Database
  log: Logger
  /** Called when something became due. */
  onDue: () => void
}

const limits = { scan: 5_000, perS: 4 }
/** Finds jobs of a replica that died; a new one is notified. */
const idleMs = 5_000
/** Between looks while a job runs: shorter than its steps are apart. */
const busyMs = 50
const busyForMs = 2_000

/** Starts the loop; `notify` says that there is a new job. */
export function startReplayRunner({ db, log, onDue }: ReplayRunnerOptions): Loop {
  let workedMs = Number.NEGATIVE_INFINITY
  return startLoop({
    kind: 'replay',
    log,
    pauseMs: idleMs,
    gatherMs: () => 0,
    async round() {
      const begun = await stepReplay(db, limits)
      if (begun !== undefined) workedMs = performance.now()
      if (begun !== undefined && begun > 0) onDue()
      return performance.now() - workedMs < busyForMs ? busyMs : false
    },
  })
}
