"""The errors of the SDK."""

from __future__ import annotations

from typing import Any

from ._remedies import REMEDIES


class PayweaveError(Exception):
    """A call that the API refused, or that got no response. It holds no key and nothing of the request."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        reason: str,
        request_id: str,
        field: str | None = None,
        missing: tuple[str, ...] = (),
        doc_url: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status; 0 when no response came."""
        self.reason = reason
        """The `errorCode` of the API, `NO_RESPONSE`, or `HTTP_<status>` for a response without a code."""
        self.request_id = request_id
        """Id of the request. Quote it when you contact support."""
        self.field = field
        """The first invalid field, query parameter or header."""
        self.missing = missing
        """Query parameters that are missing."""
        self.doc_url = doc_url
        """Address of the page that explains the reason."""
        self.retry_after = retry_after
        """Seconds after which the API asks for the same request again."""

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is pickled as a call with its message alone, but this one takes its facts by name.
        return _restored, (type(self), self.message), self.__dict__

    @property
    def how_to_fix(self) -> str:
        """What to do about it, in a sentence."""
        if self.reason == "NO_RESPONSE":
            return (
                "Check the address and the network, then send the same request again, with the"
                " same ids."
            )
        return REMEDIES.get(self.reason, "Read the message.")

    def __str__(self) -> str:
        return f"{self.reason}: {self.message} (request {self.request_id})"


def _restored(kind: type[PayweaveError], message: str) -> PayweaveError:
    return kind.__new__(kind, message)


class WaitError(Exception):
    """A wait that ended without the wanted state: it cannot come any more, or the time is over."""


class WebhookError(ValueError):
    """A request that is not to be trusted as a push: answer it with 400 or 401."""
