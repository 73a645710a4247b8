// Gives up payments whose biller was not called: frees their keys and releases their holds.
import type { Database } from '#platform/db/db.ts'
import { forEachOf, type Loop, startLoop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { isPastExpiry, type Ledger } from '../ports/ledger.ts'
import {
  type AbandonedHold,
  abandonClaim,
  claimAbandonedHolds,
  type DueHold,
  forgetHold,
  postponeRelease,
} from '../store/abandoned-store.ts'
import { dropClaim } from '../store/bill-store.ts'

/** Dependencies of abandoning a claim. */
export type AbandonOptions = {
  db: Database
  log: Logger
  ledger: Ledger
  /** What could not be written to free keys, and until when to repeat it, by `performance.now()`. */
  unfreed: Map<() => Promise<void>, number>
  /** Notifies the worker that releases abandoned holds. */
  notifyReleasing: () => void
}

/** What is known of the hold of a payment: not requested or refused; requested, with an unknown outcome; made. */
export type HoldState = 'absent' | 'unknown' | 'made'

const batchSize = 50
const width = 8
const pauseMs = 250
const idlePauseMs = 1_000
const leaseMs = 60_000
// Leases of claims have ended by then.
const retryMs = 90_000
// The credential of a request for a hold has expired by then, with clocks that differ.
const lateMs = 120_000

/**
 * Gives up a payment whose biller was not called: its key is free at once, or as soon as the database can be written again. Never throws: a
 * claim that this process cannot drop is recovered when its lease ends.
 */
export async function giveUp(
  options: AbandonOptions,
  bill: AbandonedHold,
  leaseToken: string,
  hold: HoldState,
): Promise<void> {
  const { db, log, notifyReleasing } = options
  const isFree = await freeKey(options, () =>
    hold === 'absent'
      ? dropClaim(db, bill.billPaymentId, leaseToken)
      : abandonClaim(db, bill, leaseToken),
  )
  if (!isFree || hold === 'absent') return
  // Before the answer, so that the repeat finds the money on the float.
  const isReleased = hold === 'made' && (await releaseHold(options, bill).catch(failed))
  if (!isReleased) notifyReleasing()

  function failed(error: unknown): false {
    log.warn({ err: error, kind: 'bill' }, 'hold not released')
    return false
  }
}

/** Gives up a claim when it is unknown whether it was written. */
export async function giveUpClaim(
  options: AbandonOptions,
  billPaymentId: string,
  leaseToken: string,
): Promise<void> {
  await freeKey(options, () => dropClaim(options.db, billPaymentId, leaseToken))
}

/** Runs `free`; when that fails, the worker repeats it. True when the key is free now. */
async function freeKey(
  { log, unfreed, notifyReleasing }: AbandonOptions,
  free: () => Promise<void>,
): Promise<boolean> {
  try {
    await free()
    return true
  } catch (error) {
    log.warn({ err: error, kind: 'bill' }, 'key not freed')
    unfreed.set(free, performance.now() + retryMs)
    notifyReleasing()
    return false
  }
}

/** Repeats what could not be written before, once each; the recovery has what is too old. */
async function freeUnfreed({ unfreed }: AbandonOptions): Promise<void> {
  for (const [free, untilMs] of unfreed) {
    if (performance.now() < untilMs) await free()
    unfreed.delete(free)
  }
}

/**
 * Makes the hold, if it was not made, and voids it: a request for it that is still in flight changes nothing then. False when it cannot be
 * made: the float has too little, or its expiry has passed.
 */
async function releaseHold({ db, ledger }: AbandonOptions, hold: AbandonedHold): Promise<boolean> {
  const isMade = await ledger.hold(hold).catch((error: unknown) => {
    if (isPastExpiry(error)) return false
    throw error
  })
  if (!isMade) return false
  await ledger.release(hold)
  await forgetHold(db, hold.billPaymentId)
  return true
}

/** Starts the worker that releases abandoned holds. */
export function startReleasing(options: AbandonOptions): Loop {
  const { db, log } = options
  return startLoop({
    kind: 'abandoned_holds',
    log,
    pauseMs,
    idlePauseMs,
    async round() {
      await freeUnfreed(options)
      const holds = await claimAbandonedHolds(db, batchSize, { leaseMs, lateMs })
      await forEachOf(holds, { width, kind: 'abandoned_hold', log }, (hold) =>
        release(options, hold),
      )
      return holds.length === batchSize
    },
  })
}

async function release(options: AbandonOptions, hold: DueHold): Promise<void> {
  const { db, log } = options
  try {
    if (await releaseHold(options, hold)) return
    // Refused, but a request from before may still come when the float has more.
    if (hold.isLate) return await forgetHold(db, hold.billPaymentId)
  } catch (error) {
    log.warn({ err: error, kind: 'abandoned_hold', attempts: hold.attempts }, 'hold not released')
  }
  await postponeRelease(db, hold.billPaymentId)
}
