"""Reads pushes about payments, and verifies the signed callbacks of onboardings and registrations."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union, cast

from .errors import WebhookError
from .seal import SealingKey, open_value
from .types import Notify, OnboardingCallback, PaymentCallback

_SIGNATURE = re.compile("t=([0-9]{1,12})((?:,v1=[0-9a-f]{64}){1,8})")
# Far more than a push has.
_MAX_BODY_BYTES = 65_536


@dataclass(frozen=True)
class Push:
    """A push about a payment. Amounts of a notify, which are JSON numbers, are text here."""

    delivery_id: str
    """Identifies a repeat of this push, not of the payment: ship by the state of the order."""
    attempt: int
    """1, 2, …"""
    event_id: str
    """Pushes of one event to several URLs share it."""
    payment_details_id: str
    transaction_id: str
    """Your own id of the payment request."""
    kind: Literal["notify", "callback"]
    body: Union[Notify, PaymentCallback]


@dataclass(frozen=True)
class SignedCallback:
    """The end of an onboarding or of a registration, proven genuine."""

    delivery_id: str
    """The same on every attempt, also when the push is resent."""
    attempt: int
    event_id: str
    body: OnboardingCallback


def read_push(headers: Mapping[str, str], raw_body: bytes) -> Push:
    """Read a push about a payment. It has no signature: treat it as a hint, or use `payments.confirm_push`.

    Raises a WebhookError for what has not the form of a push, and for a body of more than 64 KiB.

    :param headers: those of the request, in any case
    :param raw_body: the body exactly as it arrived, before any parser
    """
    delivery_id, attempt, event_id = _ids(headers)
    payment_details_id = _header(headers, "PW-payment-details-id")
    body = _parse(raw_body)
    if isinstance(body.get("event_type"), str):
        kind: Literal["notify", "callback"] = "notify"
        transaction_id = body.get("transaction_id")
    else:
        kind = "callback"
        request = body.get("transaction_request")
        fields = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
        transaction_id = fields.get("id")
    if not isinstance(transaction_id, str):
        raise WebhookError("the body is not a push about a payment")
    return Push(
        delivery_id,
        attempt,
        event_id,
        payment_details_id,
        transaction_id,
        kind,
        cast("Union[Notify, PaymentCallback]", body),
    )


def verify_onboarding_callback(
    headers: Mapping[str, str],
    raw_body: bytes,
    *,
    signing_secrets: Sequence[str],
    keys: Sequence[SealingKey],
    authorisation_token: str | Callable[[OnboardingCallback], str | None],
    tolerance: int = 300,
    now: float | None = None,
) -> SignedCallback:
    """Read the callback of an onboarding or registration, once it is proven genuine.

    Raises a WebhookError when a header is missing or malformed, the signature is too old or made with none of the
    secrets, or the token is not yours. Raises a plain ValueError when `signing_secrets` is no list or has an empty secret.
    Needs the package `cryptography`.

    :param signing_secrets: those of the institution, none of them empty; two while one replaces the other
    :param keys: shared keys of the institution, which open `authorisation-token`
    :param authorisation_token: the one that you sent when you created or registered the account, or a function that finds it
        by the `request_id` of a body whose signature is genuine, and returns None when you sent no such call
    :param tolerance: how far the time of the signature may be from yours, in seconds
    :param now: the current time in seconds since 1970; default: the clock
    """
    signature = _header(headers, "pw-signature")
    if not verify_signature(signature, raw_body, signing_secrets, tolerance=tolerance, now=now):
        raise WebhookError(
            "the signature is malformed, too old, or matches none of the secrets"
        )
    try:
        token = open_value(_header(headers, "authorisation-token"), keys, "authorisation-token")
    except WebhookError:
        raise
    except ValueError as error:
        raise WebhookError("authorisation-token cannot be decrypted with the given keys") from error
    callback = SignedCallback(*_ids(headers), cast(OnboardingCallback, _parse(raw_body)))
    sent = authorisation_token
    if not isinstance(sent, str):
        sent = sent(callback.body)
    if sent is None or not hmac.compare_digest(token.encode(), sent.encode()):
        raise WebhookError("the authorisation token is not the one that you sent")
    return callback


def verify_signature(
    header: str,
    raw_body: bytes,
    signing_secrets: Sequence[str],
    *,
    tolerance: int = 300,
    now: float | None = None,
) -> bool:
    """Whether a `pw-signature` was made with one of the secrets over exactly these bytes, within the tolerance.

    Compares in constant time. A malformed signature is False, not an error. Raises a ValueError when `signing_secrets` is no
    list or has an empty secret, with which anybody could sign.
    """
    if isinstance(signing_secrets, str) or not all(signing_secrets):
        raise ValueError("signing_secrets must be a list of secrets, none of them empty")
    found = _SIGNATURE.fullmatch(header)
    seconds = int(time.time() if now is None else now)
    # A comparison with NaN is false, so this asks for what is in time, not for what is too late.
    if found is None or not abs(seconds - int(found[1])) <= tolerance:
        return False
    offered = found[2][len(",v1=") :].split(",v1=")
    signed = found[1].encode() + b"." + raw_body
    is_valid = False
    for secret in signing_secrets:
        expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        for digest in offered:
            is_valid = hmac.compare_digest(digest, expected) or is_valid
    return is_valid


def _ids(headers: Mapping[str, str]) -> tuple[str, int, str]:
    attempt = _header(headers, "PW-delivery-attempt")
    if re.fullmatch("[0-9]{1,9}", attempt) is None:
        raise WebhookError("PW-delivery-attempt is not a number")
    return _header(headers, "PW-delivery-id"), int(attempt), _header(headers, "PW-event-id")


def _header(headers: Mapping[str, str], name: str) -> str:
    found = next((value for key, value in headers.items() if key.lower() == name.lower()), "")
    if not found:
        raise WebhookError(f"{name} is missing")
    return found


def _parse(raw_body: bytes) -> dict[str, Any]:
    if len(raw_body) > _MAX_BODY_BYTES:
        raise WebhookError("the body has more than 64 KiB")
    try:
        # Numbers with decimals as text: a float is not exact.
        body = json.loads(raw_body.decode(), parse_float=str, object_hook=_with_text_amount)
    except (ValueError, RecursionError) as error:
        raise WebhookError("the body is not a JSON object") from error
    if not isinstance(body, dict):
        raise WebhookError("the body is not a JSON object")
    return cast("dict[str, Any]", body)


def _with_text_amount(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "amount": str(fields["amount"])} if type(fields.get("amount")) is int else fields
