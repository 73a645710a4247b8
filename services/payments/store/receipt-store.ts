// Reads the proof of a payer's money: its settlement and that of its refund, with the share that it paid.
import type { PaymentMethod, RefundState } from '#core/payment/words.ts'
import { type Queryable, sql } from '#platform/db/db.ts'

/** A share that was paid: amounts in the minor unit of its currency, what is of the refund undefined when there is none. */
export type PaidShare = {
  receiptId: string
  paidTime: Date
  refundTime: Date | undefined
  refundMinor: bigint | undefined
  refundState: RefundState | undefined
  projectId: string
  merchantId: string
  businessName: string
  description: string
  currency: string
  transactionId: string
  amountMinor: bigint
  feeMinor: bigint
  paymentMethod: PaymentMethod
  firstName: string
  lastName: string
  mobileNumberE164: string
  /** SHA-256 of the token in the payer's link. */
  linkTokenHash: Buffer
}

type ReceiptRow = Omit<PaidShare, 'refundTime' | 'refundMinor' | 'refundState'> & {
  refundTime: Date | null
  refundMinor: bigint | null
  refundState: RefundState | null
}

const readStatement = sql(
  'receipt_read',
  `select paid.settlement_id as "receiptId", paid.create_time as "paidTime",
     refund.create_time as "refundTime", refund.amount_minor as "refundMinor",
     case when by_hand.refund_id is null then sent.state::text else 'settled' end as "refundState",
     p.project_id as "projectId", p.merchant_id as "merchantId",
     p.business_name as "businessName", p.description, p.currency, p.transaction_id as "transactionId", r.amount_minor as "amountMinor",
     r.fee_minor as "feeMinor", r.payment_method as "paymentMethod", r.first_name as "firstName",
     r.last_name as "lastName", r.mobile_number_e164 as "mobileNumberE164",
     r.link_token_hash as "linkTokenHash"
   from settlement paid
   join payer r on r.payer_id = paid.payer_id and r.receipt_id = paid.settlement_id
   join payment p on p.project_id = r.project_id and p.payment_id = r.payment_id
   left join settlement refund
     on refund.reverses_id = paid.settlement_id and refund.kind = 'refund'
   left join refund sent on sent.refund_id = refund.settlement_id
   left join refund_settled by_hand on by_hand.refund_id = refund.settlement_id
   where paid.settlement_id = $1`,
)

/** Reads a paid share by the settlement of its payer's money; undefined when there is none. Locks nothing. */
export async function readPaidShare(
  db: Queryable,
  receiptId: string,
): Promise<PaidShare | undefined> {
  const row = await db.row<ReceiptRow>(readStatement, [receiptId])
  if (row === undefined) return undefined
  const { refundTime, refundMinor, refundState, ...share } = row
  return {
    ...share,
    refundTime: refundTime ?? undefined,
    refundMinor: refundMinor ?? undefined,
    refundState: refundState ?? undefined,
  }
}
