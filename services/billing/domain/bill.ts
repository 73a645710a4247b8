// A bill payment, and what follows from a biller's answer. Pure.
import { newKey, upperAlphanumeric } from '#core/identity/id.ts'

/** State of a bill payment. */
export type BillState = 'claimed' | 'pending' | 'review' | 'succeeded' | 'failed'

/** Whether a failed payment may be tried again. */
export type RetryCategory = 'RETRIABLE' | 'NON_RETRIABLE' | 'CONDITIONAL'

/** What a client asks for, well formed. */
export type BillOrder = {
  projectId: string
  idempotencyKey: string
  fingerprint: Buffer
  billerCode: string
  productCode: string
  amountMinor: bigint
  currency: string
  customerReference: string
  customerMobileNumber: string
  externalReference: string | undefined
  clientReceiptId: string | undefined
  idType: string
  /** Goes to the biller and is not kept. */
  idNumber: string
  description: string
  otherData: string
  metadataJson: string
}

/** A bill payment as it is stored. */
export type Bill = {
  billPaymentId: string
  projectId: string
  fingerprint: Buffer
  transactionId: string
  billerCode: string
  productCode: string
  customerReference: string
  amountMinor: bigint
  currency: string
  externalReference: string | undefined
  clientReceiptId: string | undefined
  state: BillState
  receiptId: string | undefined
  /** The key of the token in its receipt's link; null without a receipt or from before key ids. */
  linkKeyId: string | null
  failureCode: string | undefined
  retryCategory: RetryCategory | undefined
  enquiries: number
  reviewTime: Date | undefined
  createTime: Date
  endTime: Date | undefined
}

/** What the back end says of a payment. */
export type BillerAnswer =
  | { state: 'paid'; providerReference: string }
  | {
      state: 'refused'
      failureCode: string
      retryCategory: RetryCategory
      providerReference: string
    }
  /** It does not know the payment, and from now on refuses it for ever. */
  | { state: 'not_found' }
  /** It has not decided, or there was no answer. */
  | { state: 'unclear' }

/** How a payment ends. */
export type BillEnd =
  | { state: 'succeeded'; providerReference: string }
  | {
      state: 'failed'
      failureCode: string
      retryCategory: RetryCategory
      providerReference: string
    }

/** The end that an answer brings; undefined for one that decides nothing. */
export function endOf(answer: BillerAnswer): BillEnd | undefined {
  if (answer.state === 'unclear') return undefined
  if (answer.state === 'paid') {
    return { state: 'succeeded', providerReference: answer.providerReference }
  }
  if (answer.state === 'refused') return { ...answer, state: 'failed' }
  return {
    state: 'failed',
    failureCode: 'UNCONFIRMED_NOT_FOUND',
    retryCategory: 'CONDITIONAL',
    providerReference: '',
  }
}

/** A new receipt id of 41 random bits. Collisions are possible; the caller retries with a new id. */
export function newReceiptId(): string {
  return newKey('PWBP-', 13, upperAlphanumeric)
}

/** A new id for clients: it says nothing of the id that the back end knows. */
export function newTransactionId(): string {
  return newKey('bill_', 32)
}

/** The money of one bill payment. */
export type BillMoney = {
  billPaymentId: string
  projectId: string
  amountMinor: bigint
  currency: string
  transactionId: string
}
