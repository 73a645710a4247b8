// Writes the outcome of a bill payment under its lease.
import type { KeySource } from '#core/identity/key-ring.ts'
import type { Queryable } from '#platform/db/db.ts'
import { type Bill, type BillEnd, type BillerAnswer, endOf, newReceiptId } from '../domain/bill.ts'
import type { BillingMetrics } from '../metrics.ts'
import { type Receipt, writeEnd, writeUnclear } from '../store/bill-store.ts'
import { newReceiptLink } from './receipt-link.ts'

/** What writing an outcome needs. */
export type OutcomeOptions = {
  db: Queryable
  metrics: BillingMetrics
  /** Links of receipts are derived from them. */
  linkKeys: KeySource
  /** Waits before each enquiry; after the last one a person decides. */
  enquiryScheduleS: readonly number[]
}

/**
 * Writes an end, or when to ask next. Answers the payment as it is then; undefined when the lease is no longer the
 * caller's and nothing was written.
 */
export async function writeOutcome(
  options: OutcomeOptions,
  bill: Pick<Bill, 'billPaymentId' | 'enquiries' | 'state'>,
  leaseToken: string,
  answer: BillerAnswer,
): Promise<Bill | undefined> {
  const end = endOf(answer)
  if (end !== undefined) return writeBillEnd(options, bill.billPaymentId, leaseToken, end)
  // The first call is no enquiry.
  const enquiries = bill.state === 'claimed' ? 0 : bill.enquiries + 1
  const waitS = options.enquiryScheduleS[enquiries]
  const next = { enquiries, waitS }
  return writeUnclear(options.db, bill.billPaymentId, leaseToken, next)
}

/** Writes an end; a receipt id that another payment has is drawn again. */
export async function writeBillEnd(
  { db, linkKeys, metrics }: OutcomeOptions,
  billPaymentId: string,
  leaseToken: string,
  end: BillEnd,
): Promise<Bill | undefined> {
  for (;;) {
    const receipt = end.state === 'succeeded' ? newReceipt(linkKeys, billPaymentId) : undefined
    const written = await writeEnd(db, billPaymentId, leaseToken, end, receipt)
    if (written === 'taken') continue
    if (written !== undefined) metrics.ended(end)
    return written
  }
}

function newReceipt(linkKeys: KeySource, billPaymentId: string): Receipt {
  const { linkTokenHash, linkKeyId } = newReceiptLink(linkKeys(), billPaymentId)
  return { receiptId: newReceiptId(), linkTokenHash, linkKeyId }
}
