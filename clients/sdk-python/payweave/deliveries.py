"""Calls about pushes of the service to the merchant."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ._transport import Call, CallOptions, idempotency_header
from .pages import Page, PageList
from .types import Delivery, DeliveryFilter, DeliverySummary

if TYPE_CHECKING:
    from typing_extensions import Unpack

_VERSION = "2026-12-01"


class DeliveryCalls:
    """Calls about pushes of one merchant."""

    def __init__(self, send: Callable[[Call, CallOptions], dict[str, Any]], api_key: str) -> None:
        self._send = send
        self._api_key = api_key

    def list(
        self, filter: DeliveryFilter | None = None, **options: Unpack[CallOptions]
    ) -> PageList[DeliverySummary]:
        """List pushes, newest first."""

        def fetch_page(cursor: str | None) -> Page[DeliverySummary]:
            query = {"api_key": self._api_key, **(filter or {}), "cursor": cursor}
            found = self._send(Call("GET", "/deliveries/list", _VERSION, query=query), options)
            return Page(found["deliveries"], found["next_cursor"])

        return PageList(fetch_page)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Delivery:
        """Read a push with its attempts and its body."""
        query = {"api_key": self._api_key, "delivery_id": id}
        found = self._send(Call("GET", "/deliveries/delivery", _VERSION, query=query), options)
        return cast(Delivery, found["delivery"])

    def resend(
        self, id: str, *, idempotency_key: str | None = None, **options: Unpack[CallOptions]
    ) -> Delivery:
        """Send a push again, with the same id and body: a pending one now, any other in a new round of attempts.

        :param idempotency_key: 1 to 255 visible ASCII characters: a key sends a push again once. A new one when unset, the
            same in each attempt of the call.
        """
        body = {"api_key": self._api_key, "delivery_id": id}
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        headers = idempotency_header(key)
        call = Call("POST", "/deliveries/resend", _VERSION, body=body, headers=headers)
        return cast(Delivery, self._send(call, options)["delivery"])
