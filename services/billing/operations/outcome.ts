// Writes the outcome of a bill payment under its lease.
import type { KeySource } from '#core/identity/key-ring.ts'
import { isUniqueViolation, type Queryable } from '#platform/db/db.ts'
import { type Bill, type BillerAnswer, endOf, newReceiptId } from '../domain/bill.ts'
import type { BillingMetrics } from '../metrics.ts'
import { type EndDraft, type Receipt, writeUnclear } from '../store/bill-store.ts'
import { newReceiptLink } from './receipt-link.ts'

/** Dependencies of writing an outcome. */
export type OutcomeOptions = {
  db: Queryable
  /** Writes an end, as `writeEnds` does. */
  writeEnd: (draft: EndDraft) => Promise<Bill | undefined>
  metrics: BillingMetrics
  /** Links of receipts are derived from them. */
  linkKeys: KeySource
  /** Waits before each enquiry; after the last one a person decides. */
  enquiryScheduleS: readonly number[]
}

/**
 * Writes an end, or when to ask next; `isPosted` when the ledger has that end. Answers the payment as it is then; undefined when the lease is no longer the
 * caller's and nothing was written.
 */
export async function writeOutcome(
  options: OutcomeOptions,
  bill: Pick<Bill, 'billPaymentId' | 'enquiries' | 'state'>,
  leaseToken: string,
  answer: BillerAnswer,
  isPosted = false,
): Promise<Bill | undefined> {
  const { billPaymentId } = bill
  const end = endOf(answer)
  if (end !== undefined) return writeBillEnd(options, { billPaymentId, leaseToken, end, isPosted })
  // The first call is no enquiry.
  const enquiries = bill.state === 'claimed' ? 0 : bill.enquiries + 1
  const waitS = options.enquiryScheduleS[enquiries]
  const next = { enquiries, waitS }
  return writeUnclear(options.db, billPaymentId, leaseToken, next)
}

/** Writes an end; a receipt id that another payment has is drawn again. */
export async function writeBillEnd(
  { writeEnd, linkKeys, metrics }: Omit<OutcomeOptions, 'db'>,
  draft: Omit<EndDraft, 'receipt'>,
): Promise<Bill | undefined> {
  const { end, billPaymentId } = draft
  for (;;) {
    const receipt = end.state === 'succeeded' ? newReceipt(linkKeys, billPaymentId) : undefined
    try {
      const written = await writeEnd({ ...draft, receipt })
      if (written !== undefined) metrics.ended(end)
      return written
    } catch (error) {
      if (!isUniqueViolation(error, 'bill_payment_receipt_once')) throw error
    }
  }
}

function newReceipt(linkKeys: KeySource, billPaymentId: string): Receipt {
  const { linkTokenHash, linkKeyId } = newReceiptLink(linkKeys(), billPaymentId)
  return { receiptId: newReceiptId(), linkTokenHash, linkKeyId }
}
