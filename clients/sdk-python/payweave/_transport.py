"""Sends one call, repeats it with the same ids after a transient error, and reads the response."""

from __future__ import annotations

import http.client
import json
import math
import random
import re
import ssl
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from email.message import Message
from typing import Any, TypedDict, cast
from urllib.parse import urlencode, urlsplit

from ._connections import Connections
from .errors import PayweaveError

# More than the API takes for any response. A form may take 30 s to send, and 15 s until its response.
_TIMEOUT_S = 30.0
_FORM_TIMEOUT_S = 60.0
_FIRST_PAUSE_S = 0.25
_MAX_PAUSE_S = 8.0
# A longer Retry-After is for the caller to honour: the error has it.
_MAX_RETRY_AFTER_S = 60
_IN_PROGRESS = "IDEMPOTENCY_KEY_IN_PROGRESS"
# The first call with a key has its outcome within this time, also when its process died.
_MAX_IN_PROGRESS_S = 60
_REPEATED = frozenset([0, 408, 429, 500, 502, 503, 504])
_REPEATED_ONCE = frozenset([408, 429])


class CallOptions(TypedDict, total=False):
    """What a caller may choose for one call."""

    request_id: str
    """A UUID that becomes the `request_id` of each attempt. A new one when unset."""
    timeout: float
    """Seconds for one attempt, in place of that of the client."""
    max_retries: int
    """In place of that of the client; 0: the call is sent once."""


@dataclass(frozen=True)
class ApiResponse:
    """What a response has beside its body."""

    status: int
    headers: Message
    """Read one by `headers.get(name)`, in any case."""
    request_id: str
    """Id of the request."""


@dataclass(frozen=True)
class Call:
    """One call."""

    method: str
    path: str
    version: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = None
    form: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    once: bool = False
    """It must not be executed twice: it is repeated only when it was not executed."""
    end: float = math.inf
    """Monotonic time at which it ends, repeats included."""


class Transport:
    """Sends calls with the headers of the API. Threads may share it."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout: float | None,
        max_retries: int,
        ssl_context: ssl.SSLContext | None,
        proxy: str | None,
        on_response: Callable[[ApiResponse], None] | None,
    ) -> None:
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname or url.username is not None:
            raise ValueError("base_url must be an http or https address without credentials")
        if url.query or url.fragment:
            raise ValueError("base_url must have no query and no fragment")
        self._prefix = url.path.rstrip("/")
        self._headers = dict(headers)
        self._timeout = timeout
        self._max_retries = max_retries
        self._on_response = on_response
        self._connections = Connections(url, ssl_context, proxy)

    def close(self) -> None:
        """Close idle connections."""
        self._connections.close()

    def send(self, call: Call, options: CallOptions) -> dict[str, Any]:
        """The body of the response. Raises a PayweaveError, and a TypeError for an unknown option."""
        for name in sorted(set(options) - CallOptions.__optional_keys__):
            raise TypeError(f"{call.path} takes no option {name!r}")
        request_id = options.get("request_id", str(uuid.uuid4()))
        default = _TIMEOUT_S if call.form is None else _FORM_TIMEOUT_S
        timeout = options.get("timeout", default if self._timeout is None else self._timeout)
        max_retries = options.get("max_retries", self._max_retries)
        body, content_type = _content(call)
        headers = {**self._headers, **content_type, **call.headers, "PW-request-id": request_id}
        retries = 0
        in_progress_end = math.inf
        # On a connection that was idle, a failure may mean that the call was executed.
        new = call.once
        while True:
            try:
                return self._exchange(call, body, headers, timeout, new=new)
            except PayweaveError as error:
                # Other idle connections may be as dead as the one that gave no response.
                new = new or error.status == 0
                is_in_progress = error.reason == _IN_PROGRESS
                now = time.monotonic()
                if is_in_progress:
                    in_progress_end = min(in_progress_end, now + _MAX_IN_PROGRESS_S)
                is_over = now >= in_progress_end if is_in_progress else retries >= max_retries
                if is_over or max_retries == 0 or not _may_pass(call, error):
                    raise
                pause, left = _pause(retries, error), call.end - now
                time.sleep(max(0.0, min(pause, left)))
                if pause >= left:
                    raise
                retries += not is_in_progress

    def _exchange(
        self, call: Call, body: bytes | None, headers: dict[str, str], timeout: float, *, new: bool
    ) -> dict[str, Any]:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        query = {name: value for name, value in call.query.items() if value is not None}
        target = f"{self._prefix}{call.path}?{urlencode({'version': call.version, **query})}"
        connection = self._connections.take(new=new)
        connection.end = min(time.monotonic() + timeout, call.end)
        try:
            connection.request(call.method, target, body, {**headers, "PW-request-date": now})
            response = connection.getresponse()
            # Read to its end, it frees the connection for the next call.
            content = response.read()
            response.close()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            within = f" within {timeout} s" if isinstance(error, TimeoutError) else ""
            raise PayweaveError(
                f"{call.method} {call.path} got no response{within}",
                status=0,
                reason="NO_RESPONSE",
                request_id=headers["PW-request-id"],
            ) from error
        if response.will_close:
            connection.close()
        else:
            self._connections.give(connection)
        if self._on_response is not None:
            request_id = response.headers.get("PW-request-id", headers["PW-request-id"])
            self._on_response(ApiResponse(response.status, response.headers, request_id))
        found = _parse(content)
        if 200 <= response.status < 300 and found is not None:
            return found
        raise _refusal(response, found or {}, headers["PW-request-id"])


def _may_pass(call: Call, error: PayweaveError) -> bool:
    """Whether the same request may succeed in a moment, without being executed twice."""
    if (error.retry_after or 0) > _MAX_RETRY_AFTER_S:
        return False
    statuses = _REPEATED_ONCE if call.once else _REPEATED
    return error.status in statuses or error.reason == _IN_PROGRESS


def _pause(retries: int, error: PayweaveError) -> float:
    """Exponential backoff with full jitter, after what Retry-After asks for."""
    backoff = min(_MAX_PAUSE_S, _FIRST_PAUSE_S * 2**retries)
    return (error.retry_after or 0) + random.random() * backoff


def idempotency_header(key: object) -> dict[str, str]:
    """The header of a key. Raises a ValueError for a key that the API does not take, and for a missing one."""
    if isinstance(key, str) and re.fullmatch("[!-~]{1,255}", key):
        return {"Idempotency-Key": key}
    raise ValueError("idempotency_key must have 1 to 255 visible ASCII characters")


def _content(call: Call) -> tuple[bytes | None, dict[str, str]]:
    if call.form is not None:
        return _form(call.form)
    if call.body is None:
        return None, {}
    text = json.dumps(_exact(call.body, ""), ensure_ascii=False, separators=(",", ":"))
    return text.encode(), {"Content-Type": "application/json"}


def _exact(value: Any, path: str) -> Any:
    """The value with decimals as text. Raises a TypeError for a float, which is not exact."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, float):
        raise TypeError(f"{path} is a float: money is text or a Decimal")
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        # Metadata are the client's own.
        return {
            name: one if name == "metadata" else _exact(one, f"{path}.{name}".lstrip("."))
            for name, one in fields.items()
            if one is not None
        }
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        return [_exact(one, f"{path}[{index}]") for index, one in enumerate(items)]
    return value


def _form(fields: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
    boundary = uuid.uuid4().hex
    parts: list[bytes] = []
    for name, value in fields.items():
        if value is None:
            continue
        is_file = isinstance(value, bytes)
        file = f'; filename="{name}"\r\nContent-Type: application/octet-stream' if is_file else ""
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        parts.append(head.encode() + (value if is_file else str(value).encode()) + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def _parse(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _refusal(
    response: http.client.HTTPResponse, body: dict[str, Any], request_id: str
) -> PayweaveError:
    status = response.status
    data: Any = body.get("data")
    inner = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    foreign = f"The response has status {status} and is not of this API."
    retry_after = response.getheader("Retry-After", "")
    return PayweaveError(
        _text(body.get("message")) or foreign,
        status=status,
        reason=_text(body.get("errorCode")) or _text(inner.get("errorCode")) or f"HTTP_{status}",
        request_id=_text(body.get("request_id")) or request_id,
        field=_text(body.get("field")),
        missing=tuple(map(str, body.get("missing") or ())),
        doc_url=_text(body.get("doc_url")),
        retry_after=int(retry_after) if re.fullmatch("[0-9]{1,6}", retry_after) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
