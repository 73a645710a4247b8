// Stores and reads payments that come together in one statement: the more there are, the less each costs. It must not decide
// anything.
import { type Database, isRefused } from '#runtime/db.ts'
import { grouped } from '#runtime/grouping.ts'
import { insertPayment, insertPaymentGroup, isPlain, type NewRows } from './create-store.ts'
import { type Reading, type ReadKey, readPayment, readPayments } from './store.ts'

/** Stores a payment, alone or with others; what it answers and throws is its own. */
export type StorePayment = (rows: NewRows) => Promise<Date | undefined>

/** Makes what stores payments. One that the server refuses is refused alone. */
export function groupingStore(db: Database): StorePayment {
  const alone = (rows: NewRows) => insertPayment(db, rows)
  const store = grouped<NewRows, Date | undefined>({
    mostUnderWay: 2,
    mostInGroup: 32,
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
export function groupingReader(db: Database): FindPayment {
  return grouped<ReadKey, Reading | undefined>({
    mostUnderWay: 2,
    mostInGroup: 32,
    alone: ({ projectId, paymentId }) => readPayment(db, projectId, paymentId),
    together: (keys) => readPayments(db, keys),
    isOfOne: isRefused,
  })
}
