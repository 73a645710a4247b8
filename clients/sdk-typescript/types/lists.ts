// Types of lists and the history of payment requests. Generated from the schemas of the API by `npm run schemas`.

/** Which payment requests to list. */
export type PaymentFilter = {
  /** Id of the transaction. Must be a string of 1 to 64 characters. */
  transaction_id?: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a national number
   * of the PW-origin-country.
   */
  mobile_number?: string
  /** The state to list. */
  status?: 'Pending' | 'Partially_paid' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /**
   * First time of creation, inclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
   * "2026-03-01 14:30:00".
   */
  created_from?: string
  /**
   * Last time of creation, exclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
   * "2026-03-01 14:30:00".
   */
  created_to?: string
  /** Maximum number of items on a page; default 25. Must be an integer from 1 to 100. */
  limit?: number
}

/** A payment request in a list. */
export type PaymentSummary = {
  /** `payment_details.id` of the create response. */
  payment_details_id: string
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** Sum of the shares of the payers. */
  amount: string
  /** ISO 4217 code. */
  currency: string
  /** The client’s description of the purpose. */
  description: string
  /** State of the payment request. */
  status: 'Pending' | 'Partially_paid' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /** Sum of the shares that are paid, without fees. */
  paid: string
  /** When the request was created. */
  created_time: string
  /** When the request last changed. */
  updated_time: string
}

/** The payer that the event is about. */
export type Party = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
}

/** What else is known of the event. */
export type PaymentEventDetails = {
  /** Decimal amount in the currency beside it. */
  amount?: string
  /** ISO 4217 code. */
  currency?: string
  /** Id of the attempt to pay. */
  attempt_id?: string
  /** Why the request is refunded, in your words. */
  reason?: string
  /** Why the attempt to pay was refused, if the back end said so. */
  refusal_reason?: 'declined' | 'insufficient_funds' | 'limit_exceeded' | 'wrong_credentials' | 'invalid_details' | 'not_permitted' | 'not_confirmed' | 'unavailable'
  /** When the payout leaves hold. */
  release_time?: string
  /** Id of the push, which it has as `PW-delivery-id`. */
  delivery_id?: string
  /** Type of the event. */
  event_type?: 'payment_initiated' | 'payment_completed' | 'payment_failed' | 'payment_cancelled' | 'payment_expired' | 'payment_refunded' | 'payout_scheduled' | 'payout_completed' | 'payout_failed'
  /** Kind of the push. */
  kind?: 'notify' | 'callback'
  /** Number of the attempt to push: 1, 2, … */
  attempt?: number
  /** HTTP status of your receiver; null if there was no response. */
  http_status?: number | null
  /** What went wrong, in a word; null on success. */
  error?: string | null
}

/** One entry of the history of a payment request. */
export type PaymentEvent = {
  /** Id of the event, the same in each response. */
  event_id: string
  /** What happened. */
  type: 'payment_created' | 'attempt_started' | 'attempt_refused' | 'attempt_succeeded' | 'unexpected_money_received' | 'payment_partially_paid' | 'payment_paid' | 'payment_cancelled' | 'payment_expired' | 'payment_failed' | 'payment_refunded' | 'refund_started' | 'refund_completed' | 'refund_failed' | 'payout_scheduled' | 'payout_sent' | 'payout_completed' | 'payout_failed' | 'payout_voided' | 'push_created' | 'push_delivered' | 'push_failed'
  /** When it happened. */
  time: string
  /** The payer that the event is about. */
  payer?: Party
  /** The payee that the event is about. */
  payee?: Party
  /** What else is known of the event. */
  details: PaymentEventDetails
}
