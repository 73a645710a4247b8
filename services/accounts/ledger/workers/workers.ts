// Workers of the ledger: expire holds and roll up internal balances.
import type { Database, Queryable } from '#platform/db/db.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { findLapsedHolds, writeHoldReleased } from '../store/hold-store.ts'
import { findPendingRollUp, rollUpAccount } from '../store/roll-up-store.ts'

const expiryBatch = 200
const expiryWidth = 4
const foldBatch = 5_000

/** Lets go of holds past their time; true when there may be more. */
export async function releaseLapsedHolds(db: Database, log: Logger): Promise<boolean> {
  const due = await findLapsedHolds(db, expiryBatch)
  let released = 0
  await forEachOf(due, { width: expiryWidth, kind: 'hold', log }, async ({ projectId, holdId }) => {
    await writeHoldReleased(db, projectId, holdId)
    released += 1
  })
  // A round that failed is not repeated at once.
  return due.length === expiryBatch && released === expiryBatch
}

/** Starts the worker that lets go of holds past their time (L6). */
export function startHoldExpiry(db: Database, log: Logger): Loop {
  return startLoop({
    kind: 'hold expiry',
    log,
    pauseMs: 500,
    idlePauseMs: 1_000,
    round: () => releaseLapsedHolds(db, log),
  })
}

/** Folds lines of every internal account into its balance, some of each; true when there are more. */
export async function rollUpInternal(db: Queryable, most = foldBatch): Promise<boolean> {
  let isBehind = false
  for (const account of await findPendingRollUp(db)) {
    if ((await rollUpAccount(db, account, most)) >= most) isBehind = true
  }
  return isBehind
}

/** Starts the worker that keeps the sums over lines of internal accounts short. */
export function startRollUp(db: Database, log: Logger): Loop {
  return startLoop({ kind: 'folding', log, pauseMs: 1_000, round: () => rollUpInternal(db) })
}
