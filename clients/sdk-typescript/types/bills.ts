// Types of bill payments. Generated from the schemas of the API by `npm run schemas`.

/** A bill to pay. */
export type NewBill = {
  /** The biller. Must be a string of 1 to 64 characters. */
  biller_code: string
  /** The product of the biller. Must be a string of 1 to 64 characters. */
  product_code: string
  /**
   * Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at most 15
   * digits before the point and 4 after it.
   */
  amount: string
  /** ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD". */
  currency: string
  /** Number of the account or bill at the biller. Must be a string of 1 to 64 characters. */
  customer_reference: string
  /** Mobile number of the payer, if known. Must be a string of at most 32 characters. */
  customer_mobile_no?: string
  /**
   * Your order or correlation reference; null if you sent none. Must be a string of at most 255
   * characters.
   */
  external_reference?: string
  /**
   * Your own receipt for the funds that you collected; null if you sent none. Must be a string of at
   * most 255 characters.
   */
  client_receipt_id?: string
  /** Kind of the identity document. */
  id_type?: 'DP' | 'NID' | 'PP' | 'OTHER'
  /** Number of the identity document; required with `id_type`. Must be a string of 1 to 30 characters. */
  id_number?: string
  /** The client’s description of the purpose. Must be a string of at most 1000 characters. */
  description?: string
  /** Your own text, for tracing. Must be a string of at most 4000 characters. */
  other_data?: string
  /** Metadata of the client. */
  metadata?: Record<string, unknown>
}

/** The outcome of a bill payment. */
export type BillPaid = {
  /** Id of the transaction. */
  transaction_id: string
  /** The final outcome; null until the biller responds. */
  normalized_status: 'SUCCESS' | 'FAILED'
  /** Receipt of the payment, issued by the service; null unless it succeeded. */
  receipt_id: string | null
  /** Your order or correlation reference; null if you sent none. */
  external_reference: string | null
  /** Your own receipt for the funds that you collected; null if you sent none. */
  client_receipt_id: string | null
  /** Reason of the failure. */
  failure_code?: string
  /**
   * Whether to retry under a new key: `RETRIABLE` unchanged, `CONDITIONAL` after a correction,
   * `NON_RETRIABLE` never.
   */
  retry_category?: 'RETRIABLE' | 'NON_RETRIABLE' | 'CONDITIONAL'
}

/** A bill payment without an outcome: the biller has not answered. */
export type BillAccepted = {
  /** Id of the transaction. */
  transaction_id: string
  /** The final outcome; null until the biller responds. */
  normalized_status: null
  /** Receipt of the payment, issued by the service; null unless it succeeded. */
  receipt_id: null
  /** Your order or correlation reference; null if you sent none. */
  external_reference: string | null
  /** Your own receipt for the funds that you collected; null if you sent none. */
  client_receipt_id: string | null
}

/** The state of a bill payment. */
export type BillStatus = {
  /** Id of the transaction. */
  transaction_id: string
  /** The final outcome; null until the biller responds. */
  normalized_status: 'SUCCESS' | 'FAILED' | null
  /** Receipt of the payment, issued by the service; null unless it succeeded. */
  receipt_id: string | null
  /** Your order or correlation reference; null if you sent none. */
  external_reference: string | null
  /** Your own receipt for the funds that you collected; null if you sent none. */
  client_receipt_id: string | null
  /** Reason of the failure. */
  failure_code: string | null
  /**
   * Whether to retry under a new key: `RETRIABLE` unchanged, `CONDITIONAL` after a correction,
   * `NON_RETRIABLE` never.
   */
  retry_category: 'RETRIABLE' | 'NON_RETRIABLE' | 'CONDITIONAL' | null
}

/** The receipt of a bill payment. */
export type BillReceipt = {
  /** Time of the response. */
  timestamp: string
  /** Id of the transaction. */
  transaction_id: string
  /** Receipt of the payment, issued by the service; null unless it succeeded. */
  receipt_id: string
  /** The final outcome; null until the biller responds. */
  normalized_status: 'SUCCESS'
  /** Decimal amount in the currency beside it. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** The biller. */
  biller_code: string
  /** The product of the biller. */
  product_code: string
  /** Number of the account or bill at the biller. */
  customer_reference: string
  /** Your order or correlation reference; null if you sent none. */
  external_reference: string | null
  /** Your own receipt for the funds that you collected; null if you sent none. */
  client_receipt_id: string | null
}
