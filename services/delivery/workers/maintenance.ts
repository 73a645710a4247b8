// The slow loops beside the worker: pushes to send again, lost leases, idle receivers, partitions, old rows.
import type { Database } from '#platform/db/db.ts'
import { startRetention } from '#platform/events/retention.ts'
import { type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { expireLeases, scheduleForgottenLanes } from '../store/lease-store.ts'
import {
  deleteEnded,
  deleteGoneUrls,
  keepApiLogDays,
  keepAttemptDays,
} from '../store/maintenance-store.ts'
import { sendAfterAttempts } from '../store/merchant-store.ts'
import { forgetReplays } from '../store/operate-store.ts'

/** What the loops need. */
export interface MaintenanceOptions {
  db: Database
  log: Logger
  /** Called when something became due. */
  onDue: () => void
}

const resendMs = 1_000
const sweepMs = 5_000
/** Leases that expired in this time are looked for at each sweep. */
const recentS = 3_600
const checkMs = 30_000
const tidyMs = 3_600_000
const rowsPerSweep = 500
const lanesPerStatement = 500
const partitionDaysAhead = 3
/** As long as the deliveries that are kept longest, because they are shown with their attempts. */
const attemptDaysKept = 90
const apiLogDaysKept = 30

/** Starts the loops. */
export function startMaintenance({ db, log, onDue }: MaintenanceOptions): {
  close(): Promise<void>
} {
  /** Returns how many leases had expired. */
  async function expire(withinS?: number): Promise<number> {
    const lost = await expireLeases(db, rowsPerSweep, withinS)
    if (lost === 0) return 0
    log.warn({ count: lost }, 'leases expired, deliveries due again')
    onDue()
    return lost
  }

  /** Leases that expired earlier are left only if no instance ran: the first round and each hour look for them. */
  async function expireAll(): Promise<void> {
    let lost = rowsPerSweep
    while (lost === rowsPerSweep) lost = await expire()
  }

  const loops = [
    every(resendMs, log, async () => {
      if ((await sendAfterAttempts(db, rowsPerSweep)) > 0) onDue()
    }),
    every(sweepMs, log, () => expire(recentS)),
    every(tidyMs, log, expireAll),
    every(checkMs, log, async () => {
      const forgotten = await scheduleForgottenLanes(db, lanesPerStatement)
      if (forgotten === 0) return
      log.warn({ count: forgotten }, 'lanes with overdue deliveries made ready')
      onDue()
    }),
    // A loop each: one that fails, for example because its table is locked, skips no other.
    every(tidyMs, log, () => keepAttemptDays(db, partitionDaysAhead, attemptDaysKept)),
    every(tidyMs, log, () => keepApiLogDays(db, partitionDaysAhead, apiLogDaysKept)),
    every(tidyMs, log, () => forgetReplays(db)),
    startRetention({ db, log, deleteOld: deleteEnded }),
    startRetention({ db, log, deleteOld: deleteGoneUrls }),
  ]
  return {
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}

function every(pauseMs: number, log: Logger, work: () => Promise<unknown>): Loop {
  const round = async () => {
    await work()
    return false
  }
  return startLoop({ kind: 'maintenance', log, pauseMs, round })
}
