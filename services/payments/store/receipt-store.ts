// Reads the proof of a payer's money: its settlement, and that of its refund.
import { type Queryable, sql } from '#platform/db/db.ts'

/** When a payer's money was received, and when its refund began. */
export type Receipt = { receiptId: string; paidTime: Date; refundTime: Date | undefined }

const readReceiptStatement = sql(
  'receipt_read',
  `select paid.create_time as paid_time, refund.create_time as refund_time
   from settlement paid
   left join settlement refund
     on refund.reverses_id = paid.settlement_id and refund.kind = 'refund'
   where paid.settlement_id = $1`,
)

/** Reads a receipt by its settlement; undefined when there is none. Locks nothing. */
export async function readReceipt(db: Queryable, receiptId: string): Promise<Receipt | undefined> {
  const row = await db.row<{ paid_time: Date; refund_time: Date | null }>(readReceiptStatement, [
    receiptId,
  ])
  return row && { receiptId, paidTime: row.paid_time, refundTime: row.refund_time ?? undefined }
}
