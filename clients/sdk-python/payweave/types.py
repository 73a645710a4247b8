"""Types of the API: what requests take and responses have, by the names of the JSON API.

Generated from the schemas of the API by `npm run schemas`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

Amount = Union[str, Decimal]
"""An amount to send: decimal text or a Decimal, never a float. Amounts of responses are text."""


class FeeRule(TypedDict):
    """Amounts of fees."""

    pays_fees: NotRequired[Literal[0, 1]]
    """0: the merchant bears the fees. 1: payers and payees bear them. Must be 0 or 1."""
    payer_covers: NotRequired[int]
    """Percent of the fees that the payers bear when `pays_fees` is 1. Must be an integer from 0 to
    100.
    """


class NewPayee(TypedDict):
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    amount: Amount
    """Share of the payee. Must be a decimal string such as "100.00", of at most 15 digits before
    the point and 4 after it.
    """
    delay_days: NotRequired[int]
    """Days from the payment to the payout. Must be an integer from 0 to 90."""


class NewPayer(TypedDict):
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    first_name: NotRequired[str]
    """First name of the person. Must be a string of at most 100 characters."""
    last_name: NotRequired[str]
    """Last name of the person. Must be a string of at most 100 characters."""
    email: NotRequired[str]
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """
    payment_channel: Literal["agent", "direct_pos", "payment_link"]
    """Channel through which the payer pays."""
    payment_method: Literal["cash", "card", "wallet", "credit", "debit", "qr_code"]
    """Payment method; each channel supports some of them."""
    amount: NotRequired[Amount]
    """Share of the payer; required with several payers. Must be a decimal string such as "100.00",
    of at most 15 digits before the point and 4 after it.
    """


class PaymentUrls(TypedDict):
    """URLs for pushes and for the links on the payer’s page."""

    success: NotRequired[str]
    """URL to which the page links after a payment. Must be a string of at most 2048 characters."""
    notify: NotRequired[str]
    """URL that receives one small message per lifecycle event: https, public in production. Must
    be a string of at most 2048 characters.
    """
    error: NotRequired[str]
    """URL to which the page links after a failure. Must be a string of at most 2048 characters."""
    callback: NotRequired[str]
    """URL that receives a snapshot of the request when it reaches a final state or is refunded:
    https, public in production. Must be a string of at most 2048 characters.
    """


class NewPayment(TypedDict):
    """A new payment request. `id` is yours: the same `id` is one payment, however often it is
    sent.
    """

    id: str
    """Your own id of the request: its idempotency key. Must be a string of 1 to 64 characters."""
    amount: Amount
    """Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at
    most 15 digits before the point and 4 after it.
    """
    currency: str
    """ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD"."""
    description: NotRequired[str]
    """The client’s description of the purpose. Must be a string of at most 1000 characters."""
    fraud_check: NotRequired[Literal[0, 1]]
    """1 applies the fraud rules. The field in `transaction_request` takes precedence over the
    top-level field. Must be 0 or 1.
    """
    fees: NotRequired[FeeRule]
    """Amounts of fees."""
    payees: NotRequired[list[NewPayee]]
    """Parties that receive the money. Absent: the merchant receives all. Must be a list of 0 to 20
    items.
    """
    payers: list[NewPayer]
    """Parties that pay. Must be a list of 1 to 20 items."""
    urls: NotRequired[PaymentUrls]
    """URLs for pushes and for the links on the payer’s page."""


class CreatedPaymentPayer(TypedDict):
    amount: str
    """Share of the payer; required with several payers."""
    status: Literal["Pending", "Failed"]
    """State of the payer’s share."""
    url: str | None
    """URL of the payer’s hosted page; null if the payer has none."""


class CreatedPayment(TypedDict):
    """A payment request that was created."""

    id: str
    """Id of the payment request, `payment_details_id` in later calls."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    amount: str
    """Decimal amount in the currency beside it."""
    fraud_check_status: Literal["skipped", "passed", "failed"]
    """Outcome of the fraud rules; `skipped` if the request did not ask for them."""
    payers: list[CreatedPaymentPayer]
    """Parties that pay."""


class PaidAndRemaining(TypedDict):
    """Amounts that have been paid and that remain."""

    paid: str
    """Amount that has been paid, with its currency."""
    remaining: str
    """Amount that has not been paid, with its currency."""
    metadata: list[str]
    """Empty until a back end sets it."""


class PaymentFees(TypedDict):
    """Amounts of fees."""

    total: str
    """Sum of the fees."""
    card_processing: str
    """Fee of payments by card."""
    platform_processing: str
    """Fee of every payment."""
    agent_processing: str
    """Fee of payments at agents."""
    payer_pays: str
    """Part of the fees that the payers bear."""
    payee_pays: str
    """Part of the fees that the payees bear."""
    merchant_pays: str
    """Part of the fees that the merchant bears."""
    convenience: str
    """Convenience fee."""


class PaymentTimestamps(TypedDict):
    """Times of the request."""

    created_time: str
    """When the request was created."""
    updated_time: str
    """When the request last changed."""
    expire_time: str
    """End of the time to pay."""


class Payee(TypedDict):
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    amount: str
    """Share of the payee."""
    delay_days: int
    """Days from the payment to the payout."""
    fees_covered: Literal[0, 1]
    """1: this payee bears no fee."""
    fee: str
    """Share of the fees that this party bears."""


class EndedPaymentPayer(TypedDict):
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    amount: str
    """Share of the payer; required with several payers."""
    payment_channel: Literal["agent", "direct_pos", "payment_link"]
    """Channel through which the payer pays."""
    payment_method: Literal["cash", "card", "wallet", "credit", "debit", "qr_code"]
    """Payment method; each channel supports some of them."""
    fee: str
    """Share of the fees that this party bears."""
    tip: str
    """Tip of this payer."""
    tax: str
    """Tax of this payer."""
    convenience_fee: str
    """Convenience fee of this payer."""
    status: Literal["Pending", "Processing", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """State of the payer’s share."""
    expire_time: str
    """End of the time to pay."""
    metadata: str
    """Empty until a back end sets it."""
    url: str | None
    """URL of the payer’s hosted page; null if the payer has none."""
    expire_date_time: str
    """End of the time to pay, ISO 8601."""


class EndedPayment(TypedDict):
    """A payment request after it was cancelled or refunded."""

    id: str
    """Id of the payment request, `payment_details_id` in later calls."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    amount: str
    """Decimal amount in the currency beside it."""
    currency: str
    """ISO 4217 code."""
    status: Literal["Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """State of the payment request."""
    fraud_check_status: Literal["skipped", "passed", "failed"]
    """Outcome of the fraud rules; `skipped` if the request did not ask for them."""
    payments_status: PaidAndRemaining
    """Amounts that have been paid and that remain."""
    fees: PaymentFees
    """Amounts of fees."""
    timestamps: PaymentTimestamps
    """Times of the request."""
    payees: list[Payee]
    """Parties that receive the money. Absent: the merchant receives all."""
    payers: list[EndedPaymentPayer]
    """Parties that pay."""


class RequestState(TypedDict):
    """The request as the client sent it."""

    id: str
    """Your own id of the request: its idempotency key."""
    status: Literal["pending", "processing", "succeeded", "cancelled", "expired", "failed", "refunded"]
    """State of the payment request as one lower-case word."""


class PaymentDetails(TypedDict):
    """The payment request."""

    id: str
    """Id of the payment request, `payment_details_id` in later calls."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    amount: str
    """Decimal amount in the currency beside it."""
    currency: str
    """ISO 4217 code."""
    status: Literal["Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """State of the payment request."""
    fraud_check_status: Literal["skipped", "passed", "failed"]
    """Outcome of the fraud rules; `skipped` if the request did not ask for them."""
    payments_status: PaidAndRemaining
    """Amounts that have been paid and that remain."""
    fees: PaymentFees
    """Amounts of fees."""
    timestamps: PaymentTimestamps
    """Times of the request."""
    payees: list[Payee]
    """Parties that receive the money. Absent: the merchant receives all."""


class PayerState(TypedDict):
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    payment_channel: Literal["agent", "direct_pos", "payment_link"]
    """Channel through which the payer pays."""
    payment_method: Literal["cash", "card", "wallet", "credit", "debit", "qr_code"]
    """Payment method; each channel supports some of them."""
    status: Literal["Pending", "Processing", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """State of the payer’s share."""


class PaymentSnapshot(TypedDict):
    """The current state of a payment request."""

    transaction_request: RequestState
    """The request as the client sent it."""
    payment_details: PaymentDetails
    """The payment request."""
    payers: list[PayerState]
    """Parties that pay."""


class PaymentFilter(TypedDict):
    """Which payment requests to list."""

    transaction_id: NotRequired[str]
    """Id of the transaction. Must be a string of 1 to 64 characters."""
    mobile_number: NotRequired[str]
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    status: NotRequired[Literal["Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"]]
    """The state to list."""
    created_from: NotRequired[str]
    """First time of creation, inclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
    "2026-03-01 14:30:00".
    """
    created_to: NotRequired[str]
    """Last time of creation, exclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
    "2026-03-01 14:30:00".
    """
    limit: NotRequired[int]
    """Maximum number of items on a page; default 25. Must be an integer from 1 to 100."""


class PaymentSummary(TypedDict):
    """A payment request in a list."""

    payment_details_id: str
    """`payment_details.id` of the create response."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    amount: str
    """Sum of the shares of the payers."""
    currency: str
    """ISO 4217 code."""
    description: str
    """The client’s description of the purpose."""
    status: Literal["Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """State of the payment request."""
    paid: str
    """Sum of the shares that are paid, without fees."""
    created_time: str
    """When the request was created."""
    updated_time: str
    """When the request last changed."""


class Party(TypedDict):
    """The payer that the event is about."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """


class PaymentEventDetails(TypedDict):
    """What else is known of the event."""

    amount: NotRequired[str]
    """Decimal amount in the currency beside it."""
    currency: NotRequired[str]
    """ISO 4217 code."""
    attempt_id: NotRequired[str]
    """Id of the attempt to pay."""
    reason: NotRequired[str]
    """Why the request is refunded, in your words."""
    refusal_reason: NotRequired[Literal["declined", "insufficient_funds", "limit_exceeded", "wrong_credentials", "invalid_details", "not_permitted", "not_confirmed", "unavailable"]]
    """Why the attempt to pay was refused, if the back end said so."""
    release_time: NotRequired[str]
    """When the payout leaves hold."""
    delivery_id: NotRequired[str]
    """Id of the push, which it has as `PW-delivery-id`."""
    event_type: NotRequired[Literal["payment_initiated", "payment_completed", "payment_failed", "payment_cancelled", "payment_expired", "payment_refunded", "payout_scheduled", "payout_completed", "payout_failed"]]
    """Type of the event."""
    kind: NotRequired[Literal["notify", "callback"]]
    """Kind of the push."""
    attempt: NotRequired[int]
    """Number of the attempt to push: 1, 2, …"""
    http_status: NotRequired[int | None]
    """HTTP status of your receiver; null if there was no response."""
    error: NotRequired[str | None]
    """What went wrong, in a word; null on success."""


class PaymentEvent(TypedDict):
    """One entry of the history of a payment request."""

    event_id: str
    """Id of the event, the same in each response."""
    type: Literal["payment_created", "attempt_started", "attempt_refused", "attempt_succeeded", "unexpected_money_received", "payment_partially_paid", "payment_paid", "payment_cancelled", "payment_expired", "payment_failed", "payment_refunded", "refund_started", "refund_completed", "refund_failed", "payout_scheduled", "payout_sent", "payout_completed", "payout_failed", "payout_voided", "push_created", "push_delivered", "push_failed"]
    """What happened."""
    time: str
    """When it happened."""
    payer: NotRequired[Party]
    """The payer that the event is about."""
    payee: NotRequired[Party]
    """The payee that the event is about."""
    details: PaymentEventDetails
    """What else is known of the event."""


class DeliveryFilter(TypedDict):
    """Which pushes to list."""

    payment_details_id: NotRequired[str]
    """`payment_details.id` of the create response. Must be a string of 1 to 255 characters."""
    event_type: NotRequired[Literal["payment_initiated", "payment_completed", "payment_failed", "payment_cancelled", "payment_expired", "payment_refunded", "payout_scheduled", "payout_completed", "payout_failed"]]
    """Type of the event."""
    status: NotRequired[Literal["pending", "sending", "delivered", "exhausted", "gone", "blocked", "cancelled"]]
    """The state to list."""
    created_from: NotRequired[str]
    """First time of creation, inclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
    "2026-03-01 14:30:00".
    """
    created_to: NotRequired[str]
    """Last time of creation, exclusive. Must be a real time YYYY-MM-DD HH:mm:ss in UTC, such as
    "2026-03-01 14:30:00".
    """
    limit: NotRequired[int]
    """Maximum number of items on a page; default 25. Must be an integer from 1 to 100."""


class DeliverySummary(TypedDict):
    """A push in a list."""

    delivery_id: str
    """Id of the push, which it has as `PW-delivery-id`."""
    event_id: str
    """Id of the event, which the push has as `PW-event-id`."""
    event_type: Literal["payment_initiated", "payment_completed", "payment_failed", "payment_cancelled", "payment_expired", "payment_refunded", "payout_scheduled", "payout_completed", "payout_failed"]
    """Type of the event."""
    kind: Literal["notify", "callback"]
    """Kind of the push."""
    url: str
    """URL of the receiver."""
    status: Literal["pending", "sending", "delivered", "exhausted", "gone", "blocked", "cancelled"]
    """State of the push."""
    attempts: int
    """Number of attempts so far."""
    created_time: str
    """When the push was created."""
    payment_details_id: str
    """`payment_details.id` of the create response."""


class DeliveryAttempt(TypedDict):
    number: int
    """1, 2, …; the push has it as `PW-delivery-attempt`."""
    time: str
    """When it happened."""
    duration_ms: int
    """How long the attempt took."""
    http_status: int | None
    """HTTP status of your receiver; null if there was no response."""
    error: str | None
    """What went wrong, in a word; null on success."""
    response: str
    """First 1 KiB of the response of your receiver, as text."""


class Delivery(TypedDict):
    """A push with its attempts and its body."""

    delivery_id: str
    """Id of the push, which it has as `PW-delivery-id`."""
    event_id: str
    """Id of the event, which the push has as `PW-event-id`."""
    event_type: Literal["payment_initiated", "payment_completed", "payment_failed", "payment_cancelled", "payment_expired", "payment_refunded", "payout_scheduled", "payout_completed", "payout_failed"]
    """Type of the event."""
    kind: Literal["notify", "callback"]
    """Kind of the push."""
    url: str
    """URL of the receiver."""
    status: Literal["pending", "sending", "delivered", "exhausted", "gone", "blocked", "cancelled"]
    """State of the push."""
    attempts: list[DeliveryAttempt]
    """Attempts to push."""
    created_time: str
    """When the push was created."""
    payment_details_id: str
    """`payment_details.id` of the create response."""
    body: str
    """The bytes of the push as text, the same on each attempt."""


class InvitationNotifyPayer(TypedDict):
    """The payer that the event is about."""

    name: str
    """First and last name of the payer."""
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    amount: str
    """Share of the payer, without fee."""
    currency: str
    """ISO 4217 code."""


class InvitationNotify(TypedDict):
    """A push about one step of a payment request."""

    event_type: Literal["payment_initiated"]
    """Type of the event."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    status: Literal["INITIATED", "PAID", "FAILED", "CANCELLED", "EXPIRED", "REFUNDED", "SCHEDULED"]
    """What happened, in a word."""
    timestamp: str
    """Time of the event; the same on every attempt."""
    description: str
    """What happened, in a sentence."""
    payer: InvitationNotifyPayer
    """The payer that the event is about."""


class PayerNotifyPayer(TypedDict):
    """The payer that the event is about."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    amount: str
    """Share of the payer, without fee."""
    payment_method: Literal["cash", "card", "wallet", "credit", "debit", "qr_code"]
    """Payment method; each channel supports some of them."""
    currency: str
    """ISO 4217 code."""


class PayerNotify(TypedDict):
    """A push about one step of a payment request."""

    event_type: Literal["payment_completed", "payment_failed", "payment_cancelled", "payment_expired", "payment_refunded"]
    """Type of the event."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    status: Literal["INITIATED", "PAID", "FAILED", "CANCELLED", "EXPIRED", "REFUNDED", "SCHEDULED"]
    """What happened, in a word."""
    timestamp: str
    """Time of the event; the same on every attempt."""
    description: str
    """What happened, in a sentence."""
    payer: PayerNotifyPayer
    """The payer that the event is about."""


class PayeeNotifyPayee(TypedDict):
    """The payee that the event is about."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    amount: str
    """Share of the payee, without fee."""
    currency: str
    """ISO 4217 code."""


class PayeeNotify(TypedDict):
    """A push about one step of a payment request."""

    event_type: Literal["payout_scheduled", "payout_completed", "payout_failed"]
    """Type of the event."""
    transaction_id: str
    """`transaction_request.id` of the client."""
    status: Literal["INITIATED", "PAID", "FAILED", "CANCELLED", "EXPIRED", "REFUNDED", "SCHEDULED"]
    """What happened, in a word."""
    timestamp: str
    """Time of the event; the same on every attempt."""
    description: str
    """What happened, in a sentence."""
    payee: PayeeNotifyPayee
    """The payee that the event is about."""


Notify = Union[InvitationNotify, PayerNotify, PayeeNotify]
"""A push about one step of a payment request."""


class PaymentCallback(TypedDict):
    """A push about a payment request that has ended or was refunded."""

    status: Literal["Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"]
    """What happened, in a word."""
    sequence: int
    """Number of the callback: 1, 2, … for each request. Ignore a callback with a lower number than
    the last one.
    """
    timestamp: str
    """Time of the event; the same on every attempt."""
    transaction_request: RequestState
    """The request as the client sent it."""
    payment_details: PaymentDetails
    """The payment request."""
    payers: list[PayerState]
    """Parties that pay."""
    payments_status: PaidAndRemaining
    """Amounts that have been paid and that remain."""
    fees: PaymentFees
    """Amounts of fees."""
    timestamps: PaymentTimestamps
    """Times of the request."""
    payees: list[Payee]
    """Parties that receive the money. Absent: the merchant receives all."""


class OnboardingCallbackAccount(TypedDict):
    """The account."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    account_status: Literal["pending_review", "available", "unavailable"]
    """Whether the account can be used."""
    account_level: int
    """Level of the account, which determines its user limits."""
    funds_access_status: Literal["none", "limited", "full"]
    """How far the holder can use the funds."""
    onboarding_status: Literal["pending_review", "completed", "rejected"]
    """Outcome of the review."""


class OnboardingCallback(TypedDict):
    """The end of an onboarding or of a registration."""

    version: Literal["2024-10-01"]
    """Version of the contract."""
    request_timestamp: str
    """Time of the decision; the same on every attempt."""
    request_id: str
    """The `request_id` of your call."""
    institution_name: str
    """Name of the institution."""
    account: OnboardingCallbackAccount
    """The account."""
    request_status: NotRequired[Literal["approved", "rejected"]]
    """Answer of the holder; only for a registration."""


class AccountLookup(TypedDict):
    """The account to find."""

    lookup_type: Literal["MOBILE", "EMAIL", "ACCOUNT_NUMBER"]
    """Kind of `lookup_value`."""
    lookup_value: str
    """The mobile number, e-mail address or account number to find. Must be a string of 1 to 254
    characters.
    """
    institution_name: NotRequired[str]
    """Name of the institution. Must be a string of at most 100 characters."""
    first_name: NotRequired[str]
    """First name of the person. Must be a string of at most 100 characters."""
    last_name: NotRequired[str]
    """Last name of the person. Must be a string of at most 100 characters."""
    email: NotRequired[str]
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """


class AccountSessionLookup(TypedDict):
    """The look-up."""

    type: Literal["MOBILE", "EMAIL", "ACCOUNT_NUMBER"]
    """Kind of the look-up."""
    value_masked: str
    """The value that was looked up, masked."""


class AccountSessionAccount(TypedDict):
    """The account."""

    account_status: Literal["available", "unavailable"]
    """Whether the account can be used."""
    account_number: str | None
    """Number of the account at its institution."""
    account_type: str
    """Kind of the account."""
    display_name: str
    """First and last name of the holder."""
    country: str
    """ISO 3166-1 alpha-2 code of the country."""


class AccountSessionSession(TypedDict):
    session_token: str
    """Token of an account session."""
    expires_at: str
    """When the session expires."""
    ttl_seconds: int
    """Lifetime of the session in seconds."""
    single_use: bool
    """Whether the first accepted institution transaction uses up the session."""


class AccountSessionResolution(TypedDict):
    """Reason why there is no session; absent if there is one."""

    usable: Literal[False]
    """Always false."""
    reason_code: Literal["ACCOUNT_UNAVAILABLE"]
    """Reason why the account cannot be used."""


class AccountSession(TypedDict):
    """The account that was found, and its session."""

    request_id: str
    """The `PW-request-id` of the look-up that created the session."""
    version: Literal["2024-10-01"]
    """Version of the contract."""
    lookup: AccountSessionLookup
    """The look-up."""
    account: AccountSessionAccount
    """The account."""
    session: AccountSessionSession | None
    """The session; null if the account is unavailable."""
    resolution: NotRequired[AccountSessionResolution]
    """Reason why there is no session; absent if there is one."""


class AccountFilter(TypedDict):
    """The account to find by number, institution and name."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    first_name: str
    """First name of the person. Must be a string of 1 to 100 characters that is not blank."""
    last_name: str
    """Last name of the person. Must be a string of 1 to 100 characters that is not blank."""
    email: NotRequired[str]
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """
    sender_first_name: NotRequired[str]
    """Ignored. Must be a string of at most 100 characters."""
    sender_last_name: NotRequired[str]
    """Ignored. Must be a string of at most 100 characters."""
    diagnostics: NotRequired[Literal["true", "false"]]
    """`true` shows `observed_client_ip`, outside production."""


class AccountStatus(TypedDict):
    """Whether an account can be used."""

    account_status: Literal["available", "unavailable"]
    """Whether the account can be used."""
    session_token: str | None
    """Token of an account session."""


class BalanceData(TypedDict):
    """Content of the response."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    currency: str
    """ISO 4217 code."""
    current_balance: str
    """Sum of all postings on the account."""
    available_balance: str
    """Current balance minus reserved balance."""
    reserved_balance: str
    """Sum of the open holds."""
    uncleared_balance: str
    """Amount that is posted but not cleared."""
    account_status: Literal["available", "unavailable"]
    """Whether the account can be used."""
    as_of: str
    """Time of the balance."""


class Balance(TypedDict):
    """The balance of an account."""

    balance: str
    """Available balance, the same as `data.available_balance`."""
    data: BalanceData
    """Content of the response."""


class AccountTransactionFilter(TypedDict):
    """Which transactions of an account to list."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    start_date: NotRequired[str]
    """First day, or first second, of the window. Default: seven days before its end. Must be a
    real date YYYY-MM-DD or time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
    """
    end_date: NotRequired[str]
    """Last day, or last second, of the window. Default: now. Must be a real date YYYY-MM-DD or
    time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
    """
    limit: NotRequired[int]
    """Maximum number of transactions on a page; default 50. Must be an integer from 1 to 200."""


class AccountTransaction(TypedDict):
    """A transaction of an account."""

    transaction_id: str
    """Id of the transaction."""
    type: Literal["credit", "debit"]
    """Direction of the money."""
    amount: str
    """Decimal amount in the currency beside it."""
    currency: str
    """ISO 4217 code."""
    fees: str
    """Amounts of fees."""
    description: str
    """The client’s description of the purpose."""
    status: Literal["completed", "pending"]
    """`completed`, or `pending` for an open hold."""
    transaction_method: str
    """Method of the transaction."""
    posted_date: str | None
    """When it was posted."""
    cleared_date: str | None
    """When it was cleared; null until then."""
    metadata: dict[str, str]
    """Metadata of the client."""


class NewPersonalAccount(TypedDict):
    """The profile of a new personal account."""

    first_name: str
    """First name of the person. Must be a string of 1 to 100 characters that is not blank."""
    last_name: str
    """Last name of the person. Must be a string of 1 to 100 characters that is not blank."""
    email: str
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    callback_url: NotRequired[str]
    """URL of the signed callback: public https. Must be a string of 1 to 200 characters."""
    authorisation_token: NotRequired[str]
    """A secret of yours that the signed callback returns, sealed. Send it together with
    `callback_url`. Must be a string of 10 to 40 characters.
    """


class NewPersonalAccountForm(TypedDict):
    """The profile of a new personal account, with documents."""

    first_name: str
    """First name of the person. Must be a string of 1 to 100 characters that is not blank."""
    last_name: str
    """Last name of the person. Must be a string of 1 to 100 characters that is not blank."""
    email: str
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    callback_url: NotRequired[str]
    """URL of the signed callback: public https. Must be a string of 1 to 200 characters."""
    authorisation_token: NotRequired[str]
    """A secret of yours that the signed callback returns, sealed. Send it together with
    `callback_url`. Must be a string of 10 to 40 characters.
    """
    dob: NotRequired[str]
    """Date of birth. Must be a string of at most 255 characters."""
    nationality: NotRequired[str]
    """Nationality of the person. Must be a string of at most 255 characters."""
    occupation: NotRequired[str]
    """Occupation of the person. Must be a string of at most 255 characters."""
    address_line1: NotRequired[str]
    """First line of the address. Must be a string of at most 255 characters."""
    address_line2: NotRequired[str]
    """Second line of the address. Must be a string of at most 255 characters."""
    address_line3: NotRequired[str]
    """Third line of the address. Must be a string of at most 255 characters."""
    city: NotRequired[str]
    """City of the address. Must be a string of at most 255 characters."""
    state_province: NotRequired[str]
    """State or province of the address. Must be a string of at most 255 characters."""
    postal_code: NotRequired[str]
    """Postal code of the address. Must be a string of at most 255 characters."""
    country: NotRequired[str]
    """ISO 3166-1 alpha-2 code of the country. Must be a string of at most 255 characters."""
    id_document1_type: NotRequired[str]
    """Kind of identity document 1. Must be a string of at most 255 characters."""
    id_document1_number: NotRequired[str]
    """Number of identity document 1. Must be a string of at most 255 characters."""
    id_document1_issue_date: NotRequired[str]
    """Date of issue of identity document 1. Must be a string of at most 255 characters."""
    id_document1_expire_date: NotRequired[str]
    """Date of expiry of identity document 1. Must be a string of at most 255 characters."""
    id_document1_issued_country: NotRequired[str]
    """Country of issue of identity document 1. Must be a string of at most 255 characters."""
    id_document1_name: NotRequired[str]
    """Name of identity document 1. Must be a string of at most 255 characters."""
    id_document2_type: NotRequired[str]
    """Kind of identity document 2. Must be a string of at most 255 characters."""
    id_document2_number: NotRequired[str]
    """Number of identity document 2. Must be a string of at most 255 characters."""
    id_document2_issue_date: NotRequired[str]
    """Date of issue of identity document 2. Must be a string of at most 255 characters."""
    id_document2_expire_date: NotRequired[str]
    """Date of expiry of identity document 2. Must be a string of at most 255 characters."""
    id_document2_issued_country: NotRequired[str]
    """Country of issue of identity document 2. Must be a string of at most 255 characters."""
    id_document2_name: NotRequired[str]
    """Name of identity document 2. Must be a string of at most 255 characters."""
    poa_type: NotRequired[str]
    """Kind of the proof of address. Must be a string of at most 255 characters."""
    poa_bill_date: NotRequired[str]
    """Date of the proof of address. Must be a string of at most 255 characters."""
    poa_name: NotRequired[str]
    """Name on the proof of address. Must be a string of at most 255 characters."""
    poa_address: NotRequired[str]
    """Address on the proof of address. Must be a string of at most 255 characters."""
    id_document1_file: NotRequired[bytes]
    """JPEG, PNG or PDF by its content, 10 MiB at most."""
    id_document2_file: NotRequired[bytes]
    """JPEG, PNG or PDF by its content, 10 MiB at most."""
    poa_file: NotRequired[bytes]
    """JPEG, PNG or PDF by its content, 10 MiB at most."""
    selfie: NotRequired[bytes]
    """JPEG, PNG or PDF by its content, 10 MiB at most."""


class PersonalAccount(TypedDict):
    """A personal account whose review has not ended."""

    account_id: str
    """Id of the account."""
    account_status: Literal["pending_review"]
    """Whether the account can be used."""
    account_type: str
    """Kind of the account."""
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    email: str
    """E-mail address of the account."""


class NewBusinessAccount(TypedDict):
    """A new merchant."""

    business_name: str
    """Name of the merchant, shown to payers. Must be a string of 1 to 100 characters."""
    first_name: str
    """First name of the person. Must be a string of 1 to 100 characters that is not blank."""
    last_name: str
    """Last name of the person. Must be a string of 1 to 100 characters that is not blank."""
    email: str
    """E-mail address of the person. Must be an e-mail address of at most 254 characters, such as
    "ama@example.com".
    """
    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """


class BusinessAccount(TypedDict):
    """The credentials of a new merchant. No other response has them."""

    pin: int
    """Six digits for the merchant, shown only in this response."""
    api_key: str
    """Key of the merchant."""
    authorisation_token: str
    """A secret of yours that the signed callback returns, sealed. Send it together with
    `callback_url`.
    """


class NewRegistration(TypedDict):
    """A request to the holder of an account to let you act for them."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    first_name: str
    """First name of the person. Must be a string of 1 to 100 characters that is not blank."""
    last_name: str
    """Last name of the person. Must be a string of 1 to 100 characters that is not blank."""
    session_token: str
    """Token of an account session. Must be a string of 1 to 16384 characters."""
    authorisation_token: str
    """A secret of yours that the signed callback returns, sealed. Send it together with
    `callback_url`. Must be a string of 10 to 40 characters.
    """
    callback_url: str
    """URL of the signed callback: public https. Must be a string of 1 to 200 characters."""


class Registration(TypedDict):
    """A request that was sent to the holder."""

    challengeId: str
    """Id of the challenge. The holder has ten minutes to answer it."""


class QuoteParty(TypedDict):
    """The party that pays."""

    mobile_number: NotRequired[str]
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a string of at most 32 characters.
    """
    organization_id: NotRequired[str]
    """Organization of the party. Must be a string of at most 100 characters."""
    account_number: NotRequired[str]
    """Number of the account at its institution. Must be a string of at most 64 characters."""
    account_type: NotRequired[str]
    """Kind of the account. Must be a string of at most 64 characters."""
    currency: NotRequired[str]
    """ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD"."""
    country: NotRequired[str]
    """ISO 3166-1 alpha-2 code of the country. Must be a string of at most 100 characters."""
    metadata: NotRequired[str | dict[str, object]]
    """Metadata of the client. Must be a text of at most 1000 characters or an object."""


class NewQuote(TypedDict):
    """An amount to convert into the currency of the other party."""

    session_token: str
    """Token of an account session. Must be a string of 1 to 16384 characters."""
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    request_amount: Amount
    """Amount to quote. Must be a decimal string such as "100.00", of at most 15 digits before the
    point and 4 after it.
    """
    request_currency: str
    """Currency of `request_amount`. Must be an ISO 4217 currency code, such as "TTD"."""
    debit_party: NotRequired[QuoteParty]
    """The party that pays."""
    credit_party: NotRequired[QuoteParty]
    """The party that receives the money."""


class Quote(TypedDict):
    """A new quote."""

    quote_id: str
    """Id of the quote."""
    rate: str
    """Quoted units for one requested unit."""
    amount_quoted: str
    """Value of the requested amount in the quoted currency."""
    quote_date: str
    """When the quote was created."""
    expire_date: str
    """When the quote expires."""


class QuoteState(TypedDict):
    """A quote that was read."""

    rate: str
    """Quoted units for one requested unit."""
    request_date: str
    """Day on which the quote was created."""
    quote_date: str
    """When the quote was created."""
    amount_quoted: str
    """Value of the requested amount in the quoted currency."""
    expire_date: str
    """When the quote expires."""


class NewInstitutionQuote(TypedDict):
    """An amount to convert into the currency of the account of the session."""

    session_token: str
    """Token of an account session. Must be a string of 1 to 16384 characters."""
    institution_name: str
    """Name of the institution. Must be a string of 1 to 100 characters."""
    request_amount: Amount
    """Amount to quote. Must be a decimal string such as "100.00", of at most 15 digits before the
    point and 4 after it.
    """
    request_currency: str
    """Currency of `request_amount`. Must be an ISO 4217 currency code, such as "TTD"."""


class TransferFees(TypedDict):
    """Amounts of fees."""

    total: str
    """Sum of the fees."""
    convenience: str
    """Convenience fee."""
    sender_pays: str
    """Fee added to the debit."""
    recipient_pays: str
    """Fee deducted from the credit."""


class InstitutionQuote(TypedDict):
    """A new quote of an institution."""

    quote_id: str
    """Id of the quote."""
    rate: str
    """Quoted units for one requested unit."""
    request_amount: str
    """Amount to quote."""
    request_currency: str
    """Currency of `request_amount`."""
    amount_quoted: str
    """Value of the requested amount in the quoted currency."""
    quoted_currency: str
    """Currency of `amount_quoted`."""
    fees: TransferFees
    """Amounts of fees."""
    quote_date: str
    """When the quote was created."""
    expire_date: str
    """When the quote expires."""


class InstitutionQuoteState(TypedDict):
    """A quote of an institution with its state."""

    quote_id: str
    """Id of the quote."""
    rate: str
    """Quoted units for one requested unit."""
    request_amount: str
    """Amount to quote."""
    request_currency: str
    """Currency of `request_amount`."""
    amount_quoted: str
    """Value of the requested amount in the quoted currency."""
    quoted_currency: str
    """Currency of `amount_quoted`."""
    fees: TransferFees
    """Amounts of fees."""
    quote_date: str
    """When the quote was created."""
    expire_date: str
    """When the quote expires."""
    request_date: str
    """Day on which the quote was created."""
    quote_status: Literal["active", "used", "expired"]
    """State of the quote."""
    transaction_id: str | None
    """Id of the transaction."""
    institution_receipt_id: str | None
    """Receipt of the transaction."""
    transaction_status: Literal["pending", "completed", "failed", "cancelled"] | None
    """State of the transaction."""


class NewTransferFees(TypedDict):
    total: NotRequired[Amount]
    """Sum of the fees. Must be a decimal string such as "100.00", of at most 15 digits before the
    point and 4 after it.
    """
    convenience: NotRequired[Amount]
    """Convenience fee. Must be a decimal string such as "100.00", of at most 15 digits before the
    point and 4 after it.
    """
    sender_pays: NotRequired[Amount]
    """Fee added to the debit. Must be a decimal string such as "100.00", of at most 15 digits
    before the point and 4 after it.
    """
    recipient_pays: NotRequired[Amount]
    """Fee deducted from the credit. Must be a decimal string such as "100.00", of at most 15
    digits before the point and 4 after it.
    """


class NewInstitutionTransactionFeesEntry(TypedDict):
    fee_type: str
    """Kind of this fee; entries of one kind are summed. Must be a string of 1 to 64 characters."""
    fee_amount: Amount
    """Amount of this fee. Must be a decimal string such as "100.00", of at most 15 digits before
    the point and 4 after it.
    """
    fee_currency: str
    """Currency of this fee. Must be an ISO 4217 currency code, such as "TTD"."""


class TransferParty(TypedDict):
    mobile_number: NotRequired[str]
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a string of at most 32 characters.
    """
    organization_id: NotRequired[str]
    """Organization of the party. Must be a string of at most 100 characters."""
    account_number: NotRequired[str]
    """Number of the account at its institution. Must be a string of at most 64 characters."""
    account_type: NotRequired[str]
    """Kind of the account. Must be a string of at most 64 characters."""
    currency: NotRequired[str]
    """ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD"."""
    metadata: NotRequired[str]
    """Metadata of the client. Must be a string of at most 1000 characters."""


class NewInstitutionTransactionDebitPartyEntry(TypedDict):
    key: str
    """Name of a field of the party. Must be a string of 1 to 64 characters."""
    value: str
    """Value of a field of the party. Must be a string of at most 1000 characters."""


class Kyc(TypedDict):
    """KYC data of the sender."""

    nationality: NotRequired[str]
    """Nationality of the person. Must be a string of at most 100 characters."""
    full_name: NotRequired[str]
    """Full name of the person. Must be a string of at most 200 characters."""
    country: NotRequired[str]
    """ISO 3166-1 alpha-2 code of the country. Must be a string of at most 100 characters."""


class TransferInformation(TypedDict):
    """Institution, purpose and other details of the transfer."""

    institution_name: str
    """Name of the institution; needs a grant. Must be a string of 1 to 100 characters."""
    receiving_country: NotRequired[str]
    """Country that receives the money. Must be a string of at most 100 characters."""
    remittance_purpose: NotRequired[str]
    """Purpose of the transfer. Must be a string of at most 255 characters."""
    source_of_funds: NotRequired[str]
    """Source of the funds. Must be a string of at most 255 characters."""
    relationship_sender: NotRequired[str]
    """Relationship of the sender to the recipient. Must be a string of at most 255 characters."""


class NewInstitutionTransaction(TypedDict):
    """A new institution transaction. `transaction_id` is yours: the same one is one transaction."""

    session_token_enc: str
    """The session token, sealed under the shared key of the institution. Must be a string of 1 to
    16384 characters.
    """
    transaction_id: str
    """Id of the transaction. Must be a string of 1 to 64 characters."""
    transaction_date: NotRequired[str]
    """Date of the transaction, as the client states it. Must be YYYY-MM-DD HH:mm:ss or ISO 8601 in
    UTC.
    """
    amount: Amount
    """Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at
    most 15 digits before the point and 4 after it.
    """
    sender_currency: NotRequired[str]
    """Currency of `sender_amount`. Must be an ISO 4217 currency code, such as "TTD"."""
    sender_amount: NotRequired[Amount]
    """Amount that the debit party pays. Default: `amount`. Must be a decimal string such as
    "100.00", of at most 15 digits before the point and 4 after it.
    """
    description: NotRequired[str]
    """The client’s description of the purpose. Must be a string of at most 1000 characters."""
    transaction_type: Literal["p2p", "inttransfer", "deposit", "cashout"]
    """Kind of the transaction."""
    fees: NotRequired[NewTransferFees | list[NewInstitutionTransactionFeesEntry]]
    """Amounts of fees. Must be an object of amounts or a list of fee_type, fee_amount and
    fee_currency.
    """
    debit_party: TransferParty | list[NewInstitutionTransactionDebitPartyEntry]
    """The party that pays. Must be an object or a list of key/value pairs of texts."""
    credit_party: TransferParty | list[NewInstitutionTransactionDebitPartyEntry]
    """The party that receives the money. Must be an object or a list of key/value pairs of texts."""
    sender_kyc: NotRequired[Kyc]
    """KYC data of the sender."""
    recipient_kyc: NotRequired[Kyc]
    """KYC data of the recipient."""
    quote_id: NotRequired[str]
    """Id of the quote. Must be a string of 1 to 255 characters."""
    transfer_information: TransferInformation
    """Institution, purpose and other details of the transfer."""


class Receipt(TypedDict):
    """The receipt of an institution transaction."""

    institution_receipt_id: str
    """Receipt of the transaction."""


class InstitutionTransaction(TypedDict):
    """The state of an institution transaction."""

    transaction_id: str
    """Id of the transaction."""
    institution_receipt_id: str
    """Receipt of the transaction."""
    transaction_type: Literal["p2p", "inttransfer", "deposit", "cashout"]
    """Kind of the transaction."""
    transaction_status: Literal["pending", "completed", "failed", "cancelled"]
    """State of the transaction."""
    currency: str
    """ISO 4217 code."""
    amount: str
    """Decimal amount in the currency beside it."""
    institution_name: str
    """Name of the institution."""


class TransactionFilter(TypedDict):
    """Which institution transactions to list."""

    mobile_number: str
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent. Must be a possible mobile number: E.164, such as "+18683501234", or a
    national number of the PW-origin-country.
    """
    start_datetime: NotRequired[str]
    """First day, or first second, of the window. Default: seven days before its end. Must be a
    real date YYYY-MM-DD or time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
    """
    end_datetime: NotRequired[str]
    """Last day, or last second, of the window. Default: now. Must be a real date YYYY-MM-DD or
    time YYYY-MM-DD HH:mm:ss in UTC, such as "2026-03-01 14:30:00".
    """
    limit: NotRequired[int]
    """Maximum number of transactions on a page; default 50. Must be an integer from 1 to 200."""


class MaskedParty(TypedDict):
    """The debit party, masked."""

    mobile_number: str | None
    """Mobile number: E.164 with or without plus sign, or national in the country of the request;
    echoed as it was sent.
    """
    account_number: str | None
    """Number of the account at its institution."""


class TransactionSummary(TypedDict):
    """An institution transaction in a list."""

    transaction_id: str
    """Id of the transaction."""
    institution_receipt_id: str
    """Receipt of the transaction."""
    transaction_type: Literal["p2p", "inttransfer", "deposit", "cashout"]
    """Kind of the transaction."""
    transaction_status: Literal["pending", "completed", "failed", "cancelled"]
    """State of the transaction."""
    amount: str
    """Decimal amount in the currency beside it."""
    currency: str
    """ISO 4217 code."""
    sender_amount: str
    """Amount that the debit party pays. Default: `amount`."""
    sender_currency: str
    """Currency of `sender_amount`."""
    fees: TransferFees
    """Amounts of fees."""
    quote_id: str | None
    """Id of the quote."""
    description: str
    """The client’s description of the purpose."""
    posted_date: str | None
    """When it was posted."""
    cleared_date: str | None
    """When it was cleared; null until then."""
    sender: MaskedParty
    """The debit party, masked."""
    recipient: MaskedParty
    """The credit party, masked."""


class NewBill(TypedDict):
    """A bill to pay."""

    biller_code: str
    """The biller. Must be a string of 1 to 64 characters."""
    product_code: str
    """The product of the biller. Must be a string of 1 to 64 characters."""
    amount: Amount
    """Decimal amount in the currency beside it. Must be a decimal string such as "100.00", of at
    most 15 digits before the point and 4 after it.
    """
    currency: str
    """ISO 4217 code. Must be an ISO 4217 currency code, such as "TTD"."""
    customer_reference: str
    """Number of the account or bill at the biller. Must be a string of 1 to 64 characters."""
    customer_mobile_no: NotRequired[str]
    """Mobile number of the payer, if known. Must be a string of at most 32 characters."""
    external_reference: NotRequired[str]
    """Your order or correlation reference; null if you sent none. Must be a string of at most 255
    characters.
    """
    client_receipt_id: NotRequired[str]
    """Your own receipt for the funds that you collected; null if you sent none. Must be a string
    of at most 255 characters.
    """
    id_type: NotRequired[Literal["DP", "NID", "PP", "OTHER"]]
    """Kind of the identity document."""
    id_number: NotRequired[str]
    """Number of the identity document; required with `id_type`. Must be a string of 1 to 30
    characters.
    """
    description: NotRequired[str]
    """The client’s description of the purpose. Must be a string of at most 1000 characters."""
    other_data: NotRequired[str]
    """Your own text, for tracing. Must be a string of at most 4000 characters."""
    metadata: NotRequired[dict[str, object]]
    """Metadata of the client."""


class BillPaid(TypedDict):
    """The outcome of a bill payment."""

    transaction_id: str
    """Id of the transaction."""
    normalized_status: Literal["SUCCESS", "FAILED"]
    """The final outcome; null until the biller responds."""
    receipt_id: str | None
    """Receipt of the payment, issued by the service; null unless it succeeded."""
    external_reference: str | None
    """Your order or correlation reference; null if you sent none."""
    client_receipt_id: str | None
    """Your own receipt for the funds that you collected; null if you sent none."""
    failure_code: NotRequired[str]
    """Reason of the failure."""
    retry_category: NotRequired[Literal["RETRIABLE", "NON_RETRIABLE", "CONDITIONAL"]]
    """Whether to retry under a new key: `RETRIABLE` unchanged, `CONDITIONAL` after a correction,
    `NON_RETRIABLE` never.
    """


class BillAccepted(TypedDict):
    """A bill payment without an outcome: the biller has not answered."""

    transaction_id: str
    """Id of the transaction."""
    normalized_status: None
    """The final outcome; null until the biller responds."""
    receipt_id: None
    """Receipt of the payment, issued by the service; null unless it succeeded."""
    external_reference: str | None
    """Your order or correlation reference; null if you sent none."""
    client_receipt_id: str | None
    """Your own receipt for the funds that you collected; null if you sent none."""


class BillStatus(TypedDict):
    """The state of a bill payment."""

    transaction_id: str
    """Id of the transaction."""
    normalized_status: Literal["SUCCESS", "FAILED"] | None
    """The final outcome; null until the biller responds."""
    receipt_id: str | None
    """Receipt of the payment, issued by the service; null unless it succeeded."""
    external_reference: str | None
    """Your order or correlation reference; null if you sent none."""
    client_receipt_id: str | None
    """Your own receipt for the funds that you collected; null if you sent none."""
    failure_code: str | None
    """Reason of the failure."""
    retry_category: Literal["RETRIABLE", "NON_RETRIABLE", "CONDITIONAL"] | None
    """Whether to retry under a new key: `RETRIABLE` unchanged, `CONDITIONAL` after a correction,
    `NON_RETRIABLE` never.
    """


class BillReceipt(TypedDict):
    """The receipt of a bill payment."""

    timestamp: str
    """Time of the response."""
    transaction_id: str
    """Id of the transaction."""
    receipt_id: str
    """Receipt of the payment, issued by the service; null unless it succeeded."""
    normalized_status: Literal["SUCCESS"]
    """The final outcome; null until the biller responds."""
    amount: str
    """Decimal amount in the currency beside it."""
    currency: str
    """ISO 4217 code."""
    biller_code: str
    """The biller."""
    product_code: str
    """The product of the biller."""
    customer_reference: str
    """Number of the account or bill at the biller."""
    external_reference: str | None
    """Your order or correlation reference; null if you sent none."""
    client_receipt_id: str | None
    """Your own receipt for the funds that you collected; null if you sent none."""
