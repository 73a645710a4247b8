// Workers of the ledger: expire holds and roll up internal balances.
import type { Database, Queryable } from '#platform/db/db.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { findExpiredHolds, writeHoldReleased } from '../store/hold-store.ts'
import { findPendingRollUp, rollUpAccount } from '../store/roll-up-store.ts'

const expiryBatch = 200
const expiryWidth = 4
const rollUpBatch = 5_000

/** Releases expired holds; true when there may be more. */
export async function releaseExpiredHolds(db: Database, log: Logger): Promise<boolean> {
  const due = await findExpiredHolds(db, expiryBatch)
  let released = 0
  await forEachOf(due, { width: expiryWidth, kind: 'hold', log }, async ({ projectId, holdId }) => {
    await writeHoldReleased(db, projectId, holdId)
    released += 1
  })
  // A round that failed is not repeated at once.
  return due.length === expiryBatch && released === expiryBatch
}

/** Starts the worker that releases expired holds (rule L6 of the ledger). */
export function startHoldExpiry(db: Database, log: Logger): Loop {
  return startLoop({
    kind: 'hold expiry',
    log,
    pauseMs: 500,
    idlePauseMs: 1_000,
    round: () => releaseExpiredHolds(db, log),
  })
}

/** Rolls up at most `maxLines` lines of every internal account into its balance; true when there are more. */
export async function rollUpInternal(db: Queryable, maxLines = rollUpBatch): Promise<boolean> {
  let isBehind = false
  for (const account of await findPendingRollUp(db)) {
    if ((await rollUpAccount(db, account, maxLines)) >= maxLines) isBehind = true
  }
  return isBehind
}

/** Starts the worker that rolls up internal accounts, so that reading a balance adds up few lines. */
export function startRollUp(db: Database, log: Logger): Loop {
  return startLoop({ kind: 'roll-up', log, pauseMs: 1_000, round: () => rollUpInternal(db) })
}
