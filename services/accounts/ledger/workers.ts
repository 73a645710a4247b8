// What the ledger does without anybody calling: holds lapse, internal balances are folded; it must not hold a rule.
import type { Database, Queryable } from '#runtime/db.ts'
import type { Logger } from '#runtime/log.ts'
import { forEachOf, type Loop, startLoop } from '#runtime/loop.ts'
import { findUnfolded, foldAccount } from './fold-store.ts'
import { findLapsedHolds, writeHoldReleased } from './hold-store.ts'

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
export async function foldInternal(db: Queryable, most = foldBatch): Promise<boolean> {
  let isBehind = false
  for (const account of await findUnfolded(db)) {
    if ((await foldAccount(db, account, most)) >= most) isBehind = true
  }
  return isBehind
}

/** Starts the worker that keeps the sums over lines of internal accounts short. */
export function startFolding(db: Database, log: Logger): Loop {
  return startLoop({ kind: 'folding', log, pauseMs: 1_000, round: () => foldInternal(db) })
}
