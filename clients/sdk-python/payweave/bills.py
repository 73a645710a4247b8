"""Calls about bill payments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union, cast

from ._transport import Call, CallOptions, idempotency_header
from ._wait import WaitOptions, wait_until
from .types import BillAccepted, BillPaid, BillReceipt, BillStatus, NewBill

if TYPE_CHECKING:
    from typing_extensions import Unpack

_VERSION = "2026-07-01"

BillPayment = Union[BillPaid, BillAccepted]
"""The response to a bill payment. `normalized_status` is None while the biller has not answered."""


class BillCalls:
    """Calls about bill payments. `id` is their `transaction_id`."""

    def __init__(self, send: Callable[[Call, CallOptions], dict[str, Any]]) -> None:
        self._send = send

    def pay(
        self, bill: NewBill, *, idempotency_key: str, **options: Unpack[CallOptions]
    ) -> BillPayment:
        """Pay a bill from the float of your project.

        :param idempotency_key: 1 to 255 visible ASCII characters. Store it before the call: a key pays a bill once,
            however often it is sent. Raises a ValueError, and sends nothing, for any other key.
        """
        headers = idempotency_header(idempotency_key)
        call = Call("POST", "/bill_payments/pay", _VERSION, body=bill, headers=headers)
        return cast(BillPayment, self._send(call, options))

    def status(self, id: str, **options: Unpack[CallOptions]) -> BillStatus:
        """Read the state of a bill payment."""
        return self._status(id, options)

    def _status(self, id: str, options: CallOptions, end: float = math.inf) -> BillStatus:
        query = {"transaction_id": id}
        call = Call("GET", "/bill_payments/status", _VERSION, query=query, end=end)
        return cast(BillStatus, self._send(call, options))

    def receipt(self, id: str, **options: Unpack[CallOptions]) -> BillReceipt:
        """Read the receipt of a bill payment that is `SUCCESS`."""
        call = Call("GET", "/bill_payments/receipt", _VERSION, query={"transaction_id": id})
        return cast(BillReceipt, self._send(call, options))

    def wait_for_outcome(self, id: str, **options: Unpack[WaitOptions]) -> BillStatus:
        """Wait for the outcome of a bill payment. Raises a WaitError when the time is over."""

        def look(found: BillStatus) -> tuple[str, bool, bool]:
            outcome = found["normalized_status"]
            return outcome or "without an outcome", outcome is not None, False

        return wait_until(lambda calls, end: self._status(id, calls, end), look, options)
