// Batches the writes and reads of payments that arrive together into one statement each.

import { batched } from '#platform/db/batcher.ts'
import { type Database, isRefused } from '#platform/db/db.ts'
import { insertPayment, insertPaymentGroup, isPlain, type NewRows } from '../store/create-store.ts'
import { type Reading, type ReadKey, readPayment, readPayments } from '../store/payment-store.ts'

/** Stores a payment, alone or with others; what it answers and throws is its own. */
export type StorePayment = (rows: NewRows) => Promise<Date | undefined>

/** Makes what stores payments. One that the server refuses is refused alone. */
export function batchingStore(db: Database): StorePayment {
  const alone = (rows: NewRows) => insertPayment(db, rows)
  const store = batched<NewRows, Date | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone,
    together: (group) => storeTogether(db, group),
    // By the server, or as something that cannot be sent to it.
    isOfOne: (error) => isRefused(error) || error instanceof RangeError,
  })
  return (rows) => (isPlain(rows) ? store(rows) : alone(rows))
}

/** In one order everywhere: groups with the same ids of merchants wait for each other instead of locking up. */
async function storeTogether(db: Database, group: NewRows[]): Promise<(Date | undefined)[]> {
  const sorted = group.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const times = await insertPaymentGroup(db, sorted)
  const byRows = new Map(sorted.map((rows, index) => [rows, times[index]]))
  return group.map((rows) => byRows.get(rows))
}

function keyOf({ draft }: NewRows): string {
  return `${draft.projectId} ${draft.merchantId} ${draft.transactionId}`
}

/** Reads a payment, alone or with others. */
export type FindPayment = (key: ReadKey) => Promise<Reading | undefined>

/** Makes what reads payments. Each read begins after it was asked for, so it sees what was committed by then. */
export function batchingReader(db: Database): FindPayment {
  return batched<ReadKey, Reading | undefined>({
    maxInFlight: 2,
    maxBatchSize: 32,
    alone: ({ projectId, paymentId }) => readPayment(db, projectId, paymentId),
    together: (keys) => readPayments(db, keys),
    isOfOne: isRefused,
  })
}
