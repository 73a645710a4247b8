"""Calls about payment requests: create, read, cancel, refund, list, follow, wait, and confirm a push."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, List, Literal, cast

from ._transport import Call, CallOptions
from ._wait import WaitOptions, wait_until
from .errors import PayweaveError, WebhookError
from .pages import Page, PageList
from .pushes import Push, read_push
from .types import (
    CreatedPayment,
    EndedPayment,
    NewPayment,
    PaymentEvent,
    PaymentFilter,
    PaymentSnapshot,
    PaymentSummary,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Send = Callable[[Call, CallOptions], "dict[str, Any]"]
PaymentStatus = Literal[
    "Pending", "Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"
]

_CONTRACT = "2024-10-01"
_EXTENSION = "2026-12-01"
# The statuses that a request may still reach. A newer API may send statuses that this version does not know.
_FOLLOWERS: dict[str, tuple[str, ...]] = {
    "Pending": ("Partially_paid", "paid", "Cancelled", "Expired", "Failed", "Refunded"),
    "Partially_paid": ("paid", "Expired", "Failed", "Refunded"),
    "paid": ("Refunded",),
    "Cancelled": (),
    "Expired": (),
    "Failed": (),
    "Refunded": (),
}


class PaymentCalls:
    """Calls about payment requests of one merchant. `id` is the `payment_details.id`."""

    def __init__(self, send: Send, api_key: str) -> None:
        self._send = send
        self._api_key = api_key

    def _get(
        self, path: str, version: str, query: Mapping[str, Any], options: CallOptions
    ) -> dict[str, Any]:
        return self._send(
            Call("GET", path, version, query={"api_key": self._api_key, **query}), options
        )

    def _post(
        self, path: str, version: str, body: Mapping[str, Any], options: CallOptions
    ) -> dict[str, Any]:
        call = Call("POST", path, version, body={"api_key": self._api_key, **body})
        return cast("dict[str, Any]", self._send(call, options)["payment_details"])

    def create(self, payment: NewPayment, **options: Unpack[CallOptions]) -> CreatedPayment:
        """Create a payment request. The same `id` with the same content is one payment, however often it is sent."""
        body = {"transaction_request": payment}
        return cast(CreatedPayment, self._post("/payments/request", _CONTRACT, body, options))

    def status(self, id: str, **options: Unpack[CallOptions]) -> PaymentSnapshot:
        """Read the current state of a request."""
        return self._status(id, options)

    def _status(self, id: str, options: CallOptions, end: float = math.inf) -> PaymentSnapshot:
        query = {"api_key": self._api_key, "payment_details_id": id}
        call = Call("GET", "/payments/status", _CONTRACT, query=query, end=end)
        return cast(PaymentSnapshot, self._send(call, options))

    def cancel(self, id: str, **options: Unpack[CallOptions]) -> EndedPayment:
        """Cancel a request that nobody has paid or is paying. A repeat returns the same."""
        body = {"payment_details_id": id}
        return cast(EndedPayment, self._post("/payments/cancel", _CONTRACT, body, options))

    def refund(
        self, id: str, reason: str | None = None, **options: Unpack[CallOptions]
    ) -> EndedPayment:
        """Refund a paid request in full. A repeat returns the same; `reason` has at most 200 characters."""
        body = {"payment_details_id": id, "reason": reason}
        return cast(EndedPayment, self._post("/payments/refund", _EXTENSION, body, options))

    def list(
        self, filter: PaymentFilter | None = None, **options: Unpack[CallOptions]
    ) -> PageList[PaymentSummary]:
        """List requests, newest first: `for payment in payweave.payments.list({"status": "paid"})`."""

        def fetch_page(cursor: str | None) -> Page[PaymentSummary]:
            query = {**(filter or {}), "cursor": cursor}
            found = self._get("/payments/list", _EXTENSION, query, options)
            return Page(found["payments"], found["next_cursor"])

        return PageList(fetch_page)

    def events(self, id: str, **options: Unpack[CallOptions]) -> List[PaymentEvent]:
        """Read what happened to a request, oldest first."""
        query = {"payment_details_id": id}
        found = self._get("/payments/events", _EXTENSION, query, options)
        return cast(List[PaymentEvent], found["events"])

    def wait_for(
        self, id: str, wanted: PaymentStatus, **options: Unpack[WaitOptions]
    ) -> PaymentSnapshot:
        """Wait until a request has a status. Raises a WaitError when it can no longer reach it, or when the time is over.

        A server should rather receive pushes.
        """

        def look(found: PaymentSnapshot) -> tuple[str, bool, bool]:
            status = found["payment_details"]["status"]
            return status, status == wanted, wanted not in _FOLLOWERS.get(status, (wanted,))

        return wait_until(lambda calls, end: self._status(id, calls, end), look, options)

    def confirm_push(
        self, headers: Mapping[str, str], raw_body: bytes, **options: Unpack[CallOptions]
    ) -> tuple[Push, PaymentSnapshot]:
        """Read a push about a payment, and the state of that payment, which is what counts: payment pushes have no signature.

        Raises a WebhookError for what is no push about a payment of yours.
        """
        push = read_push(headers, raw_body)
        try:
            payment = self.status(push.payment_details_id, **options)
        except PayweaveError as error:
            if error.reason != "PAYMENT_NOT_FOUND":
                raise
            raise WebhookError("the merchant has no payment with the id of the push") from error
        if payment["transaction_request"]["id"] != push.transaction_id:
            raise WebhookError("the body of the push is about another payment than its header")
        return push, payment
