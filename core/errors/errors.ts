// The one table of expected refusals and the error for them, independent of HTTP and RPC libraries.

/** The gRPC status names that a refusal can map to. */
export type RpcStatus =
  | 'canceled'
  | 'invalid_argument'
  | 'unauthenticated'
  | 'permission_denied'
  | 'not_found'
  | 'already_exists'
  | 'failed_precondition'
  | 'aborted'
  | 'resource_exhausted'
  | 'unimplemented'
  | 'internal'
  | 'unavailable'
  | 'deadline_exceeded'

type ReasonRow = {
  /** HTTP status, also the `code` of the JSON envelope. */
  http: number
  rpc: RpcStatus
  /** One sentence for the reference documentation. */
  meaning: string
  /** Seconds for `Retry-After` when the thrower names none. */
  retryAfterS?: number
  /** The same for the JSON API alone: callers by RPC back off on their own. */
  httpRetryAfterS?: number
  /** HTTP status of the same code when the request itself arrived too slowly. */
  httpOfSlowClient?: number
}

const badRequest = { http: 400, rpc: 'invalid_argument' } as const
const unauthorized = { http: 401, rpc: 'unauthenticated' } as const
const forbidden = { http: 403, rpc: 'permission_denied' } as const
const notAllowedNow = { http: 403, rpc: 'failed_precondition' } as const
const notFound = { http: 404, rpc: 'not_found' } as const
const conflict = { http: 409, rpc: 'failed_precondition' } as const
const taken = { http: 409, rpc: 'already_exists' } as const

/** The error codes of the JSON API. `core/errors/remedies.ts` says what a client does about each. */
export const publicReasons = {
  MISSING_PARAMETER: {
    ...badRequest,
    meaning: 'A required parameter or field is absent or empty.',
  },
  INVALID_PARAMETER: {
    ...badRequest,
    meaning: 'A parameter or field has a value that is not allowed.',
  },
  INVALID_HEADER: { ...badRequest, meaning: 'A required header is absent or malformed.' },
  INVALID_JSON: { ...badRequest, meaning: 'The body is not a JSON object.' },
  VERSION_NOT_SUPPORTED: { ...badRequest, meaning: 'This route does not support this version.' },
  UNSUPPORTED_CHANNEL_METHOD: {
    ...badRequest,
    meaning: 'The payment channel does not offer this payment method.',
  },
  AMOUNT_MISMATCH: { ...badRequest, meaning: 'The shares do not add up to the amount.' },
  SAME_PARTIES: { ...badRequest, meaning: 'The debit and the credit party are the same account.' },
  IDEMPOTENCY_KEY_REQUIRED: { ...badRequest, meaning: 'The Idempotency-Key header is absent.' },
  RECEIPT_ID_NOT_ACCEPTED: {
    ...badRequest,
    meaning: 'receipt_id is issued by the service and not accepted in a request.',
  },
  CUSTOMER_REFERENCE_INVALID: {
    ...badRequest,
    meaning: 'The customer reference does not have the form that the biller uses.',
  },
  AMOUNT_OUT_OF_RANGE: {
    ...badRequest,
    meaning: 'The product, or the account to be credited, does not accept this amount.',
  },
  CURRENCY_NOT_SUPPORTED: { ...badRequest, meaning: 'The product does not accept this currency.' },
  PW_INVALID_SUBSCRIPTION_KEY: {
    ...unauthorized,
    meaning: 'The subscription key is missing, unknown, revoked or of another environment.',
  },
  PW_INVALID_API_KEY: {
    ...unauthorized,
    meaning: 'The api_key is not an active key of the project.',
  },
  SESSION_INVALID: {
    ...unauthorized,
    meaning: 'The session token is invalid.',
  },
  SESSION_EXPIRED: { ...unauthorized, meaning: 'The session token has expired.' },
  PW_IP_NOT_ALLOWED: {
    ...forbidden,
    meaning: 'The address is not on the allow-list of the project.',
  },
  PW_ACCOUNT_ACCESS_REQUIRED: {
    ...forbidden,
    meaning: 'The project is not approved for Account API access.',
  },
  PW_INSTITUTION_ENDPOINT_NOT_ALLOWED: {
    ...forbidden,
    meaning: 'The project may not use this endpoint for this institution.',
  },
  LIMIT_EXCEEDED: {
    ...notAllowedNow,
    meaning: 'The amount exceeds the user limits of the account.',
  },
  ACCOUNT_UNAVAILABLE: { ...notAllowedNow, meaning: 'The account is suspended or closed.' },
  PARTY_NOT_ALLOWED: {
    ...forbidden,
    meaning:
      'The account of the session is not a party that this transaction type, or its quote, allows.',
  },
  ENDPOINT_NOT_FOUND: { http: 404, rpc: 'unimplemented', meaning: 'There is no such endpoint.' },
  ACCOUNT_NOT_FOUND: { ...notFound, meaning: 'There is no such account.' },
  PAYMENT_NOT_FOUND: { ...notFound, meaning: 'There is no such payment request.' },
  QUOTE_NOT_FOUND: { ...notFound, meaning: 'There is no such quote.' },
  TRANSACTION_NOT_FOUND: { ...notFound, meaning: 'There is no such transaction.' },
  BILL_PAYMENT_NOT_FOUND: { ...notFound, meaning: 'There is no such bill payment.' },
  DELIVERY_NOT_FOUND: { ...notFound, meaning: 'There is no such delivery.' },
  BILLER_NOT_FOUND: { ...notFound, meaning: 'There is no such biller.' },
  PRODUCT_NOT_FOUND: { ...notFound, meaning: 'The biller has no such product.' },
  METHOD_NOT_ALLOWED: {
    http: 405,
    rpc: 'unimplemented',
    meaning: 'This endpoint does not support the HTTP method.',
  },
  AMBIGUOUS_MATCH: { ...conflict, meaning: 'Several accounts match; look up by e-mail instead.' },
  DUPLICATE_TRANSACTION_ID: {
    ...taken,
    meaning: 'The transaction id was used before with another body.',
  },
  PAYMENT_NOT_CANCELLABLE: {
    ...conflict,
    meaning: 'The payment can no longer be cancelled.',
  },
  PAYMENT_NOT_REFUNDABLE: { ...conflict, meaning: 'Only a paid payment can be refunded.' },
  QUOTE_EXPIRED: { ...conflict, meaning: 'The quote has expired.' },
  QUOTE_ALREADY_USED: { ...conflict, meaning: 'The quote was executed before.' },
  INSUFFICIENT_FUNDS: {
    ...conflict,
    meaning: 'The debited account has insufficient funds.',
  },
  RECEIPT_NOT_AVAILABLE: {
    ...conflict,
    meaning: 'The bill payment has not succeeded, so it has no receipt.',
  },
  IDEMPOTENCY_KEY_CONFLICT: {
    ...taken,
    meaning: 'The Idempotency-Key was used before with another body.',
  },
  IDEMPOTENCY_KEY_IN_PROGRESS: {
    http: 409,
    rpc: 'aborted',
    meaning: 'The first request with this Idempotency-Key is still running.',
    retryAfterS: 1,
  },
  REQUEST_ID_REUSED: { ...taken, meaning: 'The PW-request-id was used before with another body.' },
  ACCOUNT_EXISTS: {
    ...taken,
    meaning: 'The institution has an available account with this number.',
  },
  QUOTE_MISMATCH: { ...conflict, meaning: 'The amounts or currencies are not those of the quote.' },
  PAYLOAD_TOO_LARGE: { http: 413, rpc: 'resource_exhausted', meaning: 'The body is too large.' },
  UNSUPPORTED_MEDIA_TYPE: {
    http: 415,
    rpc: 'invalid_argument',
    meaning: 'The body or a file has a media type that is not accepted here.',
  },
  EXPECTATION_FAILED: {
    http: 417,
    rpc: 'invalid_argument',
    meaning: 'The Expect header asks for something other than 100-continue.',
  },
  RATE_LIMIT_EXCEEDED: {
    http: 429,
    rpc: 'resource_exhausted',
    meaning: 'Too many requests; wait as Retry-After says.',
    retryAfterS: 1,
  },
  HEADERS_TOO_LARGE: {
    http: 431,
    rpc: 'resource_exhausted',
    meaning: 'The headers are too large.',
  },
  INTERNAL_ERROR: {
    http: 500,
    rpc: 'internal',
    meaning: 'Something failed on our side; retry later.',
  },
  SERVICE_UNAVAILABLE: {
    http: 503,
    rpc: 'unavailable',
    meaning: 'A part of the service is not reachable now; retry later.',
    httpRetryAfterS: 1,
  },
  TIMEOUT: {
    http: 504,
    rpc: 'deadline_exceeded',
    meaning: 'The request timed out and its outcome is unknown; retry later.',
    httpRetryAfterS: 1,
    httpOfSlowClient: 408,
  },
} as const satisfies Record<string, ReasonRow>

/** The error codes of internal RPCs alone: no route of the JSON API leads to them. */
const internalReasons = {
  UNAUTHENTICATED: { ...unauthorized, meaning: 'The call carries no valid credentials.' },
  PERMISSION_DENIED: { ...forbidden, meaning: 'The caller may not make this call.' },
  METHOD_UNIMPLEMENTED: {
    http: 404,
    rpc: 'unimplemented',
    meaning: 'The server has no such RPC method, or not over this version of HTTP.',
  },
  RPC_SERVICE_NOT_FOUND: { ...notFound, meaning: 'The server has no RPC service of this name.' },
  MALFORMED_REQUEST: {
    ...badRequest,
    meaning: 'The headers, the framing or the message of the call cannot be decoded.',
  },
  COMPRESSION_UNSUPPORTED: {
    http: 415,
    rpc: 'unimplemented',
    meaning: 'The message is compressed, which no method accepts.',
  },
  MESSAGE_TOO_LARGE: {
    http: 413,
    rpc: 'resource_exhausted',
    meaning: 'The request or the response is larger than messages of this method may be.',
  },
  SERVER_OVERLOADED: {
    http: 503,
    rpc: 'resource_exhausted',
    meaning: 'The server has as many calls or request bytes in flight as it accepts; retry later.',
    retryAfterS: 1,
  },
  CANCELLED: { http: 499, rpc: 'canceled', meaning: 'The caller cancelled the call.' },
  PROJECT_NOT_FOUND: { ...notFound, meaning: 'There is no such project.' },
  MERCHANT_NOT_FOUND: { ...notFound, meaning: 'The project has no such merchant.' },
  INSTITUTION_NOT_FOUND: { ...notFound, meaning: 'There is no such institution.' },
  KEY_NOT_FOUND: { ...notFound, meaning: 'There is no such key.' },
  KEY_NOT_CURRENT: { ...conflict, meaning: 'The key is not the current one of this process.' },
  NAME_TAKEN: { ...taken, meaning: 'The name is in use in this environment.' },
  TOO_MANY_KEYS: { ...conflict, meaning: 'Two keys are active already; revoke one first.' },
  REQUEST_DONE: {
    ...taken,
    meaning: 'This request was executed before; only the first response showed the secret.',
  },
  PAYMENT_NOT_PAYABLE: { ...conflict, meaning: 'The share cannot be paid in this way now.' },
  CHARGE_NOT_FOUND: { ...notFound, meaning: 'There is no such charge, payout or refund.' },
  DELIVERY_NOT_ENDED: { ...conflict, meaning: 'The delivery is still pending or being sent.' },
  DELIVERY_ENDED: { ...conflict, meaning: 'The delivery has ended and cannot be cancelled.' },
  RECEIVER_NOT_FOUND: { ...notFound, meaning: 'The project has no such receiver of pushes.' },
  LOGGED_REQUEST_NOT_FOUND: { ...notFound, meaning: 'The API log has no such request.' },
  REPLAY_NOT_FOUND: { ...notFound, meaning: 'There is no such replay.' },
  LEDGER_ACCOUNT_NOT_FOUND: { ...notFound, meaning: 'There is no such account of the ledger.' },
  TRANSFER_NOT_FOUND: { ...notFound, meaning: 'There is no such transfer.' },
  HOLD_NOT_FOUND: { ...notFound, meaning: 'There is no such hold.' },
  MOVEMENT_NOT_FOUND: { ...notFound, meaning: 'There is no such movement.' },
  DEAD_LETTER_NOT_FOUND: {
    ...notFound,
    meaning: 'There is no such dead letter, or it was retried or discarded.',
  },
  ROUTE_NOT_FOUND: { ...notFound, meaning: 'There is no such route.' },
  REVIEW_NOT_FOUND: { ...notFound, meaning: 'There is no such review, challenge or artefact.' },
  APPROVAL_NOT_FOUND: { ...notFound, meaning: 'There is no such approval.' },
  APPROVAL_OPEN: { ...taken, meaning: 'An approval request is already pending.' },
  APPROVAL_OWN: {
    ...conflict,
    meaning:
      'The requester cannot approve their own request, nor can a person of another sign-in issuer.',
  },
  APPROVAL_CLOSED: { ...conflict, meaning: 'The request was decided, or has expired.' },
  ITEM_CLAIMED: { ...taken, meaning: 'Another person works on this item.' },
  HOLD_CLOSED: { ...conflict, meaning: 'The hold was posted, voided or expired.' },
  TRANSFER_REVERSED: { ...conflict, meaning: 'Another reversal of the transfer exists.' },
  LEDGER_CONFLICT: { ...taken, meaning: 'The same UUID was used with other content.' },
  REFERENCE_CONFLICT: { ...taken, meaning: 'This UUID was used with other content.' },
  REFERENCE_REFUSED: {
    ...conflict,
    meaning: 'The back end has reported this UUID as unknown or cancelled, and never executes it.',
  },
} as const satisfies Record<string, ReasonRow>

/** Every error code with its HTTP status, its gRPC status and its meaning. */
export const reasons = { ...publicReasons, ...internalReasons }

/** An error code. */
export type Reason = keyof typeof reasons

/** An error code of the JSON API. */
export type PublicReason = keyof typeof publicReasons

/** Returns whether a reason may appear in a response of the JSON API. */
export function isPublicReason(reason: Reason): reason is PublicReason {
  return Object.hasOwn(publicReasons, reason)
}

/** Returns whether a text, for example one from the trailers of another process, is one of our reasons. */
export function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text)
}

/** One field that breaks a rule. */
export type FieldViolation = {
  /** Its path, for example `payers[0].email`. */
  field: string
  reason: Reason
  /** Reads on from the field: "must be …". Holds no value of the request. */
  rule: string
}

/** What a refusal may carry beside its reason and message. */
export type FailureOptions = {
  /** Facts that the caller may be shown. */
  details?: Record<string, string>
  /** Every field that breaks a rule; unset: the one that `details.field` names, if any. */
  violations?: readonly FieldViolation[]
  retryAfterS?: number
  cause?: unknown
}

/**
 * An expected refusal, thrown instead of an Error wherever the caller is meant to see a reason. Any other error is a
 * bug: clients get INTERNAL_ERROR for it.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly reason: Reason
  readonly details: Record<string, string>
  readonly violations: readonly FieldViolation[] | undefined
  readonly retryAfterS: number | undefined

  constructor(reason: Reason, message: string, options: FailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.reason = reason
    this.details = options.details ?? {}
    this.violations = options.violations
    const row: ReasonRow = reasons[reason]
    this.retryAfterS = options.retryAfterS ?? row.retryAfterS
  }
}

/**
 * Makes (does not throw) the INVALID_PARAMETER for a field. `field` is a path such as `payers[0].email`; `rule` reads
 * on from it: "must be …". Neither may hold a value of the request, since the message goes into logs.
 */
export function invalid(field: string, rule: string): Failure {
  return new Failure('INVALID_PARAMETER', `${field} ${rule}`, { details: { field } })
}

/**
 * Makes (does not throw) the MISSING_PARAMETER for a field that a request lacks; `field` is a path such as
 * `payers[0].email`.
 */
export function missing(field: string): Failure {
  return new Failure('MISSING_PARAMETER', `${field} is required`, { details: { field } })
}
