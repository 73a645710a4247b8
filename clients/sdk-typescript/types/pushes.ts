// Types of pushes. Generated from the schemas of the API by `npm run schemas`.
import type { PaidAndRemaining, Payee, PayerState, PaymentDetails, PaymentFees, PaymentTimestamps, RequestState } from './payments.ts'

/** Which pushes to list. */
export type DeliveryFilter = {
  /** `payment_details.id` of the create response. Must be a string of 1 to 255 characters. */
  payment_details_id?: string
  /** Type of the event. */
  event_type?: 'payment_initiated' | 'payment_completed' | 'payment_failed' | 'payment_cancelled' | 'payment_expired' | 'payment_refunded' | 'payout_scheduled' | 'payout_completed' | 'payout_failed'
  /** The state to list. */
  status?: 'pending' | 'sending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'cancelled'
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

/** A push in a list. */
export type DeliverySummary = {
  /** Id of the push, which it has as `PW-delivery-id`. */
  delivery_id: string
  /** Id of the event, which the push has as `PW-event-id`. */
  event_id: string
  /** Type of the event. */
  event_type: 'payment_initiated' | 'payment_completed' | 'payment_failed' | 'payment_cancelled' | 'payment_expired' | 'payment_refunded' | 'payout_scheduled' | 'payout_completed' | 'payout_failed'
  /** Kind of the push. */
  kind: 'notify' | 'callback'
  /** URL of the receiver. */
  url: string
  /** State of the push. */
  status: 'pending' | 'sending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'cancelled'
  /** Number of attempts so far. */
  attempts: number
  /** When the push was created. */
  created_time: string
  /** `payment_details.id` of the create response. */
  payment_details_id: string
}

export type DeliveryAttempt = {
  /** 1, 2, …; the push has it as `PW-delivery-attempt`. */
  number: number
  /** When it happened. */
  time: string
  /** How long the attempt took. */
  duration_ms: number
  /** HTTP status of your receiver; null if there was no response. */
  http_status: number | null
  /** What went wrong, in a word; null on success. */
  error: string | null
  /** First 1 KiB of the response of your receiver, as text. */
  response: string
}

/** A push with its attempts and its body. */
export type Delivery = {
  /** Id of the push, which it has as `PW-delivery-id`. */
  delivery_id: string
  /** Id of the event, which the push has as `PW-event-id`. */
  event_id: string
  /** Type of the event. */
  event_type: 'payment_initiated' | 'payment_completed' | 'payment_failed' | 'payment_cancelled' | 'payment_expired' | 'payment_refunded' | 'payout_scheduled' | 'payout_completed' | 'payout_failed'
  /** Kind of the push. */
  kind: 'notify' | 'callback'
  /** URL of the receiver. */
  url: string
  /** State of the push. */
  status: 'pending' | 'sending' | 'delivered' | 'exhausted' | 'gone' | 'blocked' | 'cancelled'
  /** Attempts to push. */
  attempts: DeliveryAttempt[]
  /** When the push was created. */
  created_time: string
  /** `payment_details.id` of the create response. */
  payment_details_id: string
  /** The bytes of the push as text, the same on each attempt. */
  body: string
}

/** The payer that the event is about. */
export type InvitationNotifyPayer = {
  /** First and last name of the payer. */
  name: string
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Share of the payer, without fee. */
  amount: string
  /** ISO 4217 code. */
  currency: string
}

/** A push about one step of a payment request. */
export type InvitationNotify = {
  /** Type of the event. */
  event_type: 'payment_initiated'
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** What happened, in a word. */
  status: 'INITIATED' | 'PAID' | 'FAILED' | 'CANCELLED' | 'EXPIRED' | 'REFUNDED' | 'SCHEDULED'
  /** Time of the event; the same on every attempt. */
  timestamp: string
  /** What happened, in a sentence. */
  description: string
  /** The payer that the event is about. */
  payer: InvitationNotifyPayer
}

/** The payer that the event is about. */
export type PayerNotifyPayer = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Share of the payer, without fee. */
  amount: string
  /** Payment method; each channel supports some of them. */
  payment_method: 'cash' | 'card' | 'wallet' | 'credit' | 'debit' | 'qr_code'
  /** ISO 4217 code. */
  currency: string
}

/** A push about one step of a payment request. */
export type PayerNotify = {
  /** Type of the event. */
  event_type: 'payment_completed' | 'payment_failed' | 'payment_cancelled' | 'payment_expired' | 'payment_refunded'
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** What happened, in a word. */
  status: 'INITIATED' | 'PAID' | 'FAILED' | 'CANCELLED' | 'EXPIRED' | 'REFUNDED' | 'SCHEDULED'
  /** Time of the event; the same on every attempt. */
  timestamp: string
  /** What happened, in a sentence. */
  description: string
  /** The payer that the event is about. */
  payer: PayerNotifyPayer
}

/** The payee that the event is about. */
export type PayeeNotifyPayee = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Share of the payee, without fee. */
  amount: string
  /** ISO 4217 code. */
  currency: string
}

/** A push about one step of a payment request. */
export type PayeeNotify = {
  /** Type of the event. */
  event_type: 'payout_scheduled' | 'payout_completed' | 'payout_failed'
  /** `transaction_request.id` of the client. */
  transaction_id: string
  /** What happened, in a word. */
  status: 'INITIATED' | 'PAID' | 'FAILED' | 'CANCELLED' | 'EXPIRED' | 'REFUNDED' | 'SCHEDULED'
  /** Time of the event; the same on every attempt. */
  timestamp: string
  /** What happened, in a sentence. */
  description: string
  /** The payee that the event is about. */
  payee: PayeeNotifyPayee
}

/** A push about one step of a payment request. */
export type Notify = InvitationNotify | PayerNotify | PayeeNotify

/** A push about a payment request that has ended or was refunded. */
export type PaymentCallback = {
  /** What happened, in a word. */
  status: 'Pending' | 'Partially_paid' | 'paid' | 'Cancelled' | 'Expired' | 'Failed' | 'Refunded'
  /**
   * Number of the callback: 1, 2, … for each request. Ignore a callback with a lower number than the
   * last one.
   */
  sequence: number
  /** Time of the event; the same on every attempt. */
  timestamp: string
  /** The request as the client sent it. */
  transaction_request: RequestState
  /** The payment request. */
  payment_details: PaymentDetails
  /** Parties that pay. */
  payers: PayerState[]
  /** Amounts that have been paid and that remain. */
  payments_status: PaidAndRemaining
  /** Amounts of fees. */
  fees: PaymentFees
  /** Times of the request. */
  timestamps: PaymentTimestamps
  /** Parties that receive the money. Absent: the merchant receives all. */
  payees: Payee[]
}

/** The account. */
export type OnboardingCallbackAccount = {
  /**
   * Mobile number: E.164 with or without plus sign, or national in the country of the request; echoed as
   * it was sent.
   */
  mobile_number: string
  /** Whether the account can be used. */
  account_status: 'pending_review' | 'available' | 'unavailable'
  /** Level of the account, which determines its user limits. */
  account_level: number
  /** How far the holder can use the funds. */
  funds_access_status: 'none' | 'limited' | 'full'
  /** Outcome of the review. */
  onboarding_status: 'pending_review' | 'completed' | 'rejected'
}

/** The end of an onboarding or of a registration. */
export type OnboardingCallback = {
  /** Version of the contract. */
  version: '2024-10-01'
  /** Time of the decision; the same on every attempt. */
  request_timestamp: string
  /** The `request_id` of your call. */
  request_id: string
  /** Name of the institution. */
  institution_name: string
  /** The account. */
  account: OnboardingCallbackAccount
  /** Answer of the holder; only for a registration. */
  request_status?: 'approved' | 'rejected'
}
