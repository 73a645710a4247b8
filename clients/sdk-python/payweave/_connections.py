"""Keeps connections to one host open between calls, for any number of threads. Each attempt has one deadline for all that it does."""

from __future__ import annotations

import base64
import functools
import http.client
import io
import os
import select
import socket
import ssl
import time
from collections import deque
from typing import Any, cast
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

# Below the time after which servers and proxies usually close a connection.
_MAX_IDLE_S = 20
# So much is sent before the time that is left is looked at again.
_SENT_AT_ONCE = 65_536


class Connection(http.client.HTTPConnection):
    """A connection whose reads, writes and opening all end by `end`, which its user sets."""

    end = 0.0
    """When the attempt is over, by the monotonic clock."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Both are what the base class opens and reads with.
        self.response_class = cast(Any, functools.partial(_Response, self))
        self._create_connection = self._connect_within

    def left(self) -> float:
        """Seconds that are left. Raises a TimeoutError when there are none."""
        seconds = self.end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("timed out")
        return seconds

    def connect(self) -> None:
        super().connect()
        # A TLS handshake takes this time over.
        self.sock.settimeout(self.left())

    def _connect_within(self, address: tuple[str, int], *_: object) -> socket.socket:
        failure: OSError | None = None
        for found in socket.getaddrinfo(*address, 0, socket.SOCK_STREAM):
            try:
                return socket.create_connection((str(found[4][0]), address[1]), self.left())
            except OSError as error:
                failure = error
        raise failure or OSError("the host has no address")

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        for start in range(0, len(data), _SENT_AT_ONCE):
            if self.sock is not None:
                self.sock.settimeout(self.left())
            super().send(data[start : start + _SENT_AT_ONCE])


class TlsConnection(http.client.HTTPSConnection, Connection):
    """The same over TLS."""


class _Response(http.client.HTTPResponse):
    def __init__(self, connection: Connection, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp = io.BufferedReader(_Incoming(connection, sock, self.fp.detach()))


class _Incoming(io.RawIOBase):
    """What comes from a socket, until the connection's time is over."""

    def __init__(self, connection: Connection, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._connection, self._sock, self._raw = connection, sock, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._connection.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class Connections:
    """Connections to one host. A forked process opens its own."""

    def __init__(
        self, url: SplitResult, ssl_context: ssl.SSLContext | None, proxy: str | None = None
    ) -> None:
        self._url = url
        self._ssl_context = ssl_context
        self._proxy: SplitResult | None = None
        if url.scheme == "https":
            self._ssl_context = ssl_context or ssl.create_default_context()
            self._proxy = _proxy_of(url.hostname or "", proxy)
        self._process = os.getpid()
        # Appends and pops are atomic, so no lock is held when another thread forks.
        self._idle: deque[tuple[Connection, float]] = deque()

    def take(self, *, new: bool = False) -> Connection:
        """A connection, an idle one unless it must be new. Give it back after a whole response."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), deque()
        while not new:
            try:
                connection, since = self._idle.pop()
            except IndexError:
                break
            if time.monotonic() - since < _MAX_IDLE_S and not _is_ended(connection):
                return connection
            connection.close()
        return self._open()

    def _open(self) -> Connection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return Connection(host, port)
        if self._proxy is None:
            return TlsConnection(host, port, context=self._ssl_context)
        connection = TlsConnection(
            self._proxy.hostname or "", self._proxy.port or 80, context=self._ssl_context
        )
        connection.set_tunnel(host, port or 443, headers=_credentials_of(self._proxy))
        return connection

    def give(self, connection: Connection) -> None:
        """Keep a connection for the next call."""
        self._idle.append((connection, time.monotonic()))

    def close(self) -> None:
        """Close the idle connections. More can be taken and given back later."""
        while self._idle:
            self._idle.pop()[0].close()


def _is_ended(connection: Connection) -> bool:
    """Whether the peer has closed an idle connection, or has sent what nobody asked for."""
    if connection.sock is None:
        # It opens itself for the next call.
        return False
    poll = getattr(select, "poll", None)
    if poll is None:
        return bool(select.select([connection.sock], [], [], 0)[0])
    poller = poll()
    poller.register(connection.sock, select.POLLIN)
    return bool(poller.poll(0))


def _proxy_of(host: str, proxy: str | None) -> SplitResult | None:
    """The proxy for an https host: the given one, none for an empty text, or that of the environment. Raises a ValueError."""
    if proxy is None:
        proxy = "" if proxy_bypass(host) else getproxies().get("https", "")
    if not proxy:
        return None
    url = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if url.scheme != "http" or not url.hostname:
        raise ValueError("the proxy must be an http address")
    return url


def _credentials_of(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
