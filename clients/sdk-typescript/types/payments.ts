// Types of payment requests. Generated from the schemas of the API by `npm run schemas`.

/** Amounts of fees. */
export type FeeRule = {
  /** 0: the merchant bears the fees. 1: payers and payees bear them. Must be 0 or 1. */
  pays_fees?: 0 | 1
  /** Percent of the fees that the payers bear when `pays_fees` is 1. Must be an integer from 0 to 100. */
  payer_covers?: number
}

export type NewPayee = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /**
   * Share of the payee. Must be a decimal string such as "100.00", of at most 15 digits before the point
   * and 4 after it.
   */
  amount: string
  /** Days from the payment to the payout. Must be an integer from 0 to 90. */
  delay_days?: number
}

export type NewPayer = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number: string
  /** First name of the person. Must be a string of at most 100 characters. */
  first_name?: string
  /** Last name of the person. Must be a string of at most 100 characters. */
  last_name?: string
  /**
   * E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
   * "ama@example.com".
   */
  email?: string
  /** Channel through which the payer pays. */
  payment_channel: 'agent' | 'direct_pos' | 'payment_link'
  /** Payment method; each channel supports some of them. */
  payment_method: 'cash' | 'card' | 'wallet' | 'credit' | 'debit' | 'qr_code'
  /**
   * Share of the payer; required with several payers. Must be a decimal string such as "100.00", of at
   * most 15 digits before the point and 4 after it.
   */
  amount?: string
}

/** URLs for pushes and for the links on the payer’s page. */
export type PaymentUrls = {
  /** URL to which the page links after a payment. Must be a string of at most 2048 characters. */
  success?: string
  /**
   * URL that receives one small message per lifecycle event: https, public in production. Must be a
   * string of at most 2048 characters.
   */
  notify?: string
  /** URL to which the page links after a failure. Must be a string of at most 2048 characters. */
  error?: string
  /**
   * URL that receives a snapshot of the request when it reaches a final state or is refunded: https,
   * public in production. Must be a string of at most 2048 characters.
   */
  callback?: string
}

/** A new payment request. `id` is yours: the same `id` is one payment, however often it is sent. */
export type NewPayment = {
  /** Your own id of the request: its idempotency key. Must be a string of 1 to 64 characters. */
  id: string
  /**
   * Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at most 15
   * digits before the point and 4 after it.
   */
  amount: string
  /** ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD". */
  currency: string
  /** The client’s description of the purpose. Must be a string of at most 1000 characters. */
  description?: string
  /**
   * 1 applies the fraud rules. The field in `transaction_request` takes precedence over the top-level
   * field. Must be 0 or 1.
   */
  fraud_check?: 0 | 1
  /** Amounts of fees. */
  fees?: FeeRule
  /** Parties that receive the money. Absent: the merchant receives all. Must be a list of 0 to 20 items. */
  payees?: NewPayee[]
  /** Parties that pay. Must be a list of 1 to 20 items. */
  payers: NewPayer[]
  /** URLs for pushes and for the links on the payer’s page. */
  urls?: PaymentUrls
}

export type CreatedPaymentPayer = {
  /** Share of the payer; required with several payers. */
  amount: string
  /** State of the payer’s share. */
  status: 'Pending' | 'Failed'
  /** URL of the payer’s hosted page; null if the payer has none. */
  url: string | null
}

/** A payment request that was created. */
export type CreatedPayment = {
  /** Id of the payment request, `payment_details_id` in later calls. */
  id: string
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** Decimal amount in the currency beside it. */
  amount: string
  /** Outcome of the fraud rules; `skipped` if the request did not ask for them. */
  fraud_check_status: 'skipped' | 'passed' | 'failed'
  /** Parties that pay. */
  payers: CreatedPaymentPayer[]
}

/** Amounts that have been paid and that remain. */
export type PaidAndRemaining = {
  /** Amount that has been paid, with its currency. */
  paid: string
  /** Amount that has not been paid, with its currency. */
  remaining: string
  /** Empty until a back end sets it. */
  metadata: string[]
}

/** Amounts of fees. */
export type PaymentFees = {
  /** Sum of the fees. */
  total: string
  /** Fee of payments by card. */
  card_processing: string
  /** Fee of every payment. */
  platform_processing: string
  /** Fee of payments at agents. */
  agent_processing: string
  /** Part of the fees that the payers bear. */
  payer_pays: string
  /** Part of the fees that the payees bear. */
  payee_pays: string
  /** Part of the fees that the merchant bears. */
  merchant_pays: string
  /** Convenience fee. */
  convenience: string
}

/** Times of the request. */
export type PaymentTimestamps = {
  /** When the request was created. */
  created_time: string
  /** When the request last changed. */
  updated_time: string
  /** End of the time to pay. */
  expire_time: string
}

export type Payee = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Share of the payee. */
  amount: string
  /** Days from the payment to the payout. */
  delay_days: number
  /** 1: this payee bears no fee. */
  fees_covered: 0 | 1
  /** Share of the fees that this party bears. */
  fee: string
}

export type EndedPaymentPayer = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Share of the payer; required with several payers. */
  amount: string
  /** Channel through which the payer pays. */
  payment_channel: 'agent' | 'direct_pos' | 'payment_link'
  /** Payment method; each channel supports some of them. */
  payment_method: 'cash' | 'card' | 'wallet' | 'credit' | 'debit' | 'qr_code'
  /** Share of the fees that this party bears. */
  fee: string
  /** Tip of this payer. */
  tip: string
  /** Tax of this payer. */
  tax: string
  /** Convenience fee of this payer. */
  convenience_fee: string
  /** State of the payer’s share. */
  status: 'Pending' | 'Processing' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /** End of the time to pay. */
  expire_time: string
  /** Empty until a back end sets it. */
  metadata: string
  /** URL of the payer’s hosted page; null if the payer has none. */
  url: string | null
  /** End of the time to pay, ISO 8601. */
  expire_date_time: string
}

/** A payment request after it was cancelled or refunded. */
export type EndedPayment = {
  /** Id of the payment request, `payment_details_id` in later calls. */
  id: string
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** Decimal amount in the currency beside it. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** State of the payment request. */
  status: 'Pending' | 'Partially_paid' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /** Outcome of the fraud rules; `skipped` if the request did not ask for them. */
  fraud_check_status: 'skipped' | 'passed' | 'failed'
  /** Amounts that have been paid and that remain. */
  payments_status: PaidAndRemaining
  /** Amounts of fees. */
  fees: PaymentFees
  /** Times of the request. */
  timestamps: PaymentTimestamps
  /** Parties that receive the money. Absent: the merchant receives all. */
  payees: Payee[]
  /** Parties that pay. */
  payers: EndedPaymentPayer[]
}

/** The request as the client sent it. */
export type RequestState = {
  /** Your own id of the request: its idempotency key. */
  id: string
  /** State of the payment request as one lower-case word. */
  status: 'pending' | 'processing' | 'succeeded' | 'cancelled' | 'expired' | 'failed' | 'refunded'
}

/** The payment request. */
export type PaymentDetails = {
  /** Id of the payment request, `payment_details_id` in later calls. */
  id: string
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** Decimal amount in the currency beside it. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** State of the payment request. */
  status: 'Pending' | 'Partially_paid' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /** Outcome of the fraud rules; `skipped` if the request did not ask for them. */
  fraud_check_status: 'skipped' | 'passed' | 'failed'
  /** Amounts that have been paid and that remain. */
  payments_status: PaidAndRemaining
  /** Amounts of fees. */
  fees: PaymentFees
  /** Times of the request. */
  timestamps: PaymentTimestamps
  /** Parties that receive the money. Absent: the merchant receives all. */
  payees: Payee[]
}

export type PayerState = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Channel through which the payer pays. */
  payment_channel: 'agent' | 'direct_pos' | 'payment_link'
  /** Payment method; each channel supports some of them. */
  payment_method: 'cash' | 'card' | 'wallet' | 'credit' | 'debit' | 'qr_code'
  /** State of the payer’s share. */
  status: 'Pending' | 'Processing' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
}

/** The current state of a payment request. */
export type PaymentSnapshot = {
  /** The request as the client sent it. */
  transaction_request: RequestState
  /** The payment request. */
  payment_details: PaymentDetails
  /** Parties that pay. */
  payers: PayerState[]
}
