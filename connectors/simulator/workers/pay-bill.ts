// Pays bills as the biller's script says, with the delays that callers see.
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '#core/errors/errors.ts'
import { newKey } from '#core/identity/id.ts'
import { batched } from '#platform/db/batcher.ts'
import { type Database, isOfOneItem } from '#platform/db/db.ts'
import type { Loop } from '#platform/process/loop.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { planOf } from '../domain/bill.ts'
import {
  type BillOrder,
  findBill,
  insertBills,
  isOtherBill,
  type NewBill,
  payDueBills,
  type StoredBill,
  waitForNextBill,
} from '../store/bill-store.ts'
import { startDuePoll } from './poll.ts'

const batch = 200
const lookAgainMs = 100
const busyPauseMs = 5
const providerReferenceLength = 24

/** Dependencies of bill payments. */
export type BillContext = {
  db: Database
  /** Stores a new bill, as `insertBills` does. */
  storeBill: (bill: NewBill) => Promise<StoredBill | undefined>
  /** Called when a bill is to be paid later. */
  billsWritten: () => void
  /** Aborts when the process stops: nobody waits longer than that. */
  stopping: AbortSignal
}

/**
 * Pays a bill once, however often it is called. Waits until the biller decides or the caller gives up. Rejects with
 * REFERENCE_CONFLICT when the id was used with other content, and with REFERENCE_REFUSED when it was called unknown.
 */
export async function payBill(
  context: BillContext,
  order: BillOrder,
  caller: AbortSignal,
): Promise<StoredBill> {
  const { db, storeBill, billsWritten } = context
  const { billPaymentId } = order
  const made = newBill(order)
  const stored = made === undefined ? undefined : await storeBill(made)
  if (stored?.state === 'pending') billsWritten()
  if (stored === undefined && (await isOtherBill(db, order))) {
    throw new Failure('REFERENCE_CONFLICT', `${billPaymentId} was used with other content`)
  }
  const bill = stored ?? (await findBill(db, billPaymentId))
  const decided = saidOf(bill) ?? (await waitForBiller(context, billPaymentId, bill, caller))
  if (decided.state !== 'not_found') return decided
  throw new Failure('REFERENCE_REFUSED', `bill payment ${billPaymentId} was called unknown`)
}

/** What paying needs, with bills of one event-loop turn stored together. */
export function billContext(
  db: Database,
  billsWritten: () => void,
  stopping: AbortSignal,
): BillContext {
  const storeBill = batched<NewBill, StoredBill | undefined>({
    maxInFlight: 2,
    maxBatchSize: 64,
    alone: async (bill) => (await insertBills(db, [bill]))[0],
    together: (bills) => insertBills(db, bills),
    isOfOne: isOfOneItem,
  })
  return { db, storeBill, billsWritten, stopping }
}

/** The bill once the biller has decided; undefined while it is slow or silent, or never got the bill. */
function saidOf(bill: StoredBill | undefined): StoredBill | undefined {
  return bill?.state === 'pending' || bill?.isSilent === true ? undefined : bill
}

/** Polls until the biller has decided, or the caller stops waiting. */
async function waitForBiller(
  { db, stopping }: BillContext,
  billPaymentId: string,
  known: StoredBill | undefined,
  caller: AbortSignal,
): Promise<StoredBill> {
  const patience = AbortSignal.any([caller, stopping])
  let bill = known
  try {
    for (;;) {
      const waitMs = Math.max(busyPauseMs, Math.min(bill?.waitMs ?? lookAgainMs, lookAgainMs))
      await delay(waitMs, undefined, { signal: patience })
      bill = await findBill(db, billPaymentId)
      const said = saidOf(bill)
      if (said !== undefined) return said
    }
  } catch (error) {
    if (caller.aborted) throw new Failure('TIMEOUT', 'the biller did not answer in time')
    if (!stopping.aborted) throw error
    throw new Failure('SERVICE_UNAVAILABLE', 'the back end stops; enquire later')
  }
}

/** The bill as it is first stored; undefined when the biller never gets it. */
function newBill(order: BillOrder): NewBill | undefined {
  const plan = planOf(order.customerReference)
  const bill = { ...order, providerReference: newKey('', providerReferenceLength), isSilent: false }
  if (plan.does === 'lose') return undefined
  if (plan.does === 'refuse') return { ...bill, state: 'refused', failureCode: plan.failureCode }
  if (plan.does === 'pay_later') return { ...bill, state: 'pending', settleAfterMs: plan.afterMs }
  return { ...bill, state: 'paid', isSilent: plan.does === 'pay_silently' }
}

/** Pays pending bills until closed. */
export function startBiller({ db, log }: { db: Database; log: Logger }): Loop {
  return startDuePoll({
    kind: 'bills',
    log,
    waitMs: () => waitForNextBill(db),
    async workOff() {
      await payDueBills(db, batch)
    },
  })
}
