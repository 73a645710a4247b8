// Executes transfers once each, or never if their id was cancelled first.
import { Failure } from '#core/errors/errors.ts'
import type { Database } from '#platform/db/db.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { endAfterMs, endOf, failedReason } from '../domain/transfer.ts'
import {
  cancelTransfer,
  endTransfers,
  findTransfer,
  insertTombstone,
  insertTransfer,
  isOtherTransfer,
  type NewTransfer,
  type StoredTransfer,
  waitForNextTransfer,
} from '../store/transfer-store.ts'
import { startDuePoll } from './poll.ts'

const batch = 200

/** A transfer as the caller sends it. */
export type TransferOrder = Omit<NewTransfer, 'end'>

/**
 * Takes a transfer in; repeating it changes nothing. Rejects with REFERENCE_CONFLICT when the id was used with other content, and
 * with REFERENCE_REFUSED when the transfer was given up.
 */
export async function takeTransfer(db: Database, order: TransferOrder): Promise<void> {
  const state = endOf(order.creditAccountNumber)
  const transfer = { ...order, end: state && { state, afterMs: endAfterMs } }
  if (await insertTransfer(db, transfer)) return
  if (await isOtherTransfer(db, transfer)) {
    throw new Failure('REFERENCE_CONFLICT', `${transfer.transferId} was used with other content`)
  }
  const known = await findTransfer(db, transfer.transferId)
  if (known?.wasReceived === true) return
  throw new Failure('REFERENCE_REFUSED', `transfer ${transfer.transferId} was given up`)
}

/** Returns the state of a transfer; an unknown one is refused from now on. */
export async function enquireTransfer(db: Database, transferId: string): Promise<StoredTransfer> {
  const known = await findTransfer(db, transferId)
  if (known !== undefined) return known
  await insertTombstone(db, transferId, 'not_found')
  return await findKnown(db, transferId)
}

/** Takes a transfer back whose money has not moved; one that is unknown is refused from now on. */
export async function takeBack(db: Database, transferId: string): Promise<StoredTransfer> {
  await insertTombstone(db, transferId, 'cancelled')
  await cancelTransfer(db, transferId)
  return await findKnown(db, transferId)
}

async function findKnown(db: Database, transferId: string): Promise<StoredTransfer> {
  const known = await findTransfer(db, transferId)
  if (known === undefined) throw new Error('a transfer that was stored is gone')
  return known
}

export type TransferOptions = {
  db: Database
  log: Logger
  /** Called when a report to the institution service is due. */
  reportsWritten: () => void
}

/** Ends transfers until closed. */
export function startTransfers({ db, log, reportsWritten }: TransferOptions): Loop {
  return startDuePoll({
    kind: 'transfers',
    log,
    waitMs: () => waitForNextTransfer(db),
    async workOff() {
      if ((await endTransfers(db, batch, failedReason)) > 0) reportsWritten()
    },
  })
}
