// What to do about each error code. Generated from core/errors/remedies.ts by `npm run schemas`.
export const remedies = {
  MISSING_PARAMETER:
    "Add what `message` names: all missing fields of a body, or all missing parameters of a query (also in `missing`).",
  INVALID_PARAMETER:
    "Correct the field that `message` and `field` name; the message describes the required format.",
  INVALID_HEADER:
    "Correct the headers that `message` names; it describes the required format of each.",
  INVALID_JSON:
    "Send one JSON object in UTF-8, at most 32 levels deep, with `Content-Type: application/json`.",
  VERSION_NOT_SUPPORTED:
    "Send the version that this route is documented with in `?version=`.",
  UNSUPPORTED_CHANNEL_METHOD:
    "Use a payment method that the payment channel of this payer offers.",
  AMOUNT_MISMATCH:
    "Make the amounts of the payers, and those of the payees, add up to `amount` exactly.",
  SAME_PARTIES:
    "Name two different accounts.",
  IDEMPOTENCY_KEY_REQUIRED:
    "Add an `Idempotency-Key` header of 1 to 255 visible ASCII characters. Send the same key again when you retry.",
  RECEIPT_ID_NOT_ACCEPTED:
    "Leave `receipt_id` out. Send your own reference in `client_receipt_id` or `external_reference`.",
  CUSTOMER_REFERENCE_INVALID:
    "Ask the customer for the reference as the biller prints it.",
  AMOUNT_OUT_OF_RANGE:
    "For a bill, use an amount between the minimum and the maximum of the product. For a transaction, use a smaller amount: a balance is at most 2^63 − 1 minor units.",
  CURRENCY_NOT_SUPPORTED:
    "Use a currency that the product, or the source of rates, supports.",
  PW_INVALID_SUBSCRIPTION_KEY:
    "Check `PW-subscription-key`: 32 characters, issued for this environment and not revoked.",
  PW_INVALID_API_KEY:
    "Check `api_key`: it must be an active key of the same project as the subscription key.",
  SESSION_INVALID:
    "Create a new account session. For a sealed token, `payweave seal check` names the mistake on your own machine.",
  SESSION_EXPIRED:
    "Create a new account session and send the request again with its token.",
  PW_IP_NOT_ALLOWED:
    "Call from an address on the allow-list of the project, and send that address in `PW-ip-address`.",
  PW_ACCOUNT_ACCESS_REQUIRED:
    "Ask us to approve the project for the Account API.",
  PW_INSTITUTION_ENDPOINT_NOT_ALLOWED:
    "Ask us to grant the project this endpoint for this institution.",
  LIMIT_EXCEEDED:
    "Use a smaller amount, wait until the day or month is over, or raise the level of the account.",
  ACCOUNT_UNAVAILABLE:
    "Use another account, or ask the holder to contact the institution.",
  PARTY_NOT_ALLOWED:
    "Create the session for an account that is a party of the transaction, and of its quote.",
  ENDPOINT_NOT_FOUND:
    "Check the path against the API reference.",
  ACCOUNT_NOT_FOUND:
    "Check the look-up value, the institution and the name.",
  PAYMENT_NOT_FOUND:
    "Check the id. The response to an id of another project is the same as to an unknown id. A payment is visible only to the merchant whose `api_key` created it.",
  QUOTE_NOT_FOUND:
    "Check the id. The response to an id of another project is the same as to an unknown id.",
  TRANSACTION_NOT_FOUND:
    "Check the id. The response to an id of another project is the same as to an unknown id.",
  BILL_PAYMENT_NOT_FOUND:
    "Check the id. The response to an id of another project is the same as to an unknown id.",
  DELIVERY_NOT_FOUND:
    "Check the id. The response to an id of another project is the same as to an unknown id.",
  BILLER_NOT_FOUND:
    "Check `biller_code` against the catalogue of billers.",
  PRODUCT_NOT_FOUND:
    "Check `product_code` against the products of the biller.",
  METHOD_NOT_ALLOWED:
    "Use one of the methods in the `Allow` header.",
  AMBIGUOUS_MATCH:
    "Add `institution_name`, or look the account up by e-mail.",
  DUPLICATE_TRANSACTION_ID:
    "Use a new id for a new operation; repeat an operation with exactly the same body.",
  PAYMENT_NOT_CANCELLABLE:
    "Read the status of the payment: only a pending one that no payer is paying can be cancelled.",
  PAYMENT_NOT_REFUNDABLE:
    "Read the status of the payment: only a paid one can be refunded.",
  QUOTE_EXPIRED:
    "Create a new quote; each is valid for 300 seconds.",
  QUOTE_ALREADY_USED:
    "Create a new quote; each is executed once.",
  INSUFFICIENT_FUNDS:
    "Use a smaller amount, or ask the holder to add funds.",
  RECEIPT_NOT_AVAILABLE:
    "Wait until `normalized_status` of the bill payment is `SUCCESS`.",
  IDEMPOTENCY_KEY_CONFLICT:
    "Use a new key for a new request; repeat a request with exactly the same body.",
  IDEMPOTENCY_KEY_IN_PROGRESS:
    "Send the same request again after `Retry-After`, with the same key. A new key may execute it twice.",
  REQUEST_ID_REUSED:
    "Use a new UUID in `PW-request-id` for a new request.",
  ACCOUNT_EXISTS:
    "Create a session for the account that exists.",
  QUOTE_MISMATCH:
    "Send the amounts and currencies of the quote, or create a new quote.",
  PAYLOAD_TOO_LARGE:
    "Send at most 64 KiB of JSON; in a form 10 MiB per file and 25 MiB in all.",
  UNSUPPORTED_MEDIA_TYPE:
    "Send `application/json` without compression, or, where the route takes a form, `multipart/form-data` with JPEG, PNG or PDF files.",
  EXPECTATION_FAILED:
    "Leave the `Expect` header out, or send `100-continue`.",
  RATE_LIMIT_EXCEEDED:
    "Wait as `Retry-After` says, then send fewer requests per second.",
  HEADERS_TOO_LARGE:
    "Send at most 16 KiB of headers.",
  INTERNAL_ERROR:
    "Send the same request again later, with the same ids. If it persists, contact us with `request_id`. `POST /account/personal_account`, `business_account` and `register_account` have no id, so a repeat may be a second operation.",
  SERVICE_UNAVAILABLE:
    "Send the same request again after `Retry-After`, with the same ids: it is executed once. `POST /account/personal_account`, `business_account` and `register_account` have no id, so a repeat may be a second operation.",
  TIMEOUT:
    "Send the same request again after `Retry-After`, with the same ids: it is executed once. `POST /account/personal_account`, `business_account` and `register_account` have no id, so a repeat may be a second operation. With status 408 the request did not arrive in time: nothing was executed.",
} as const
