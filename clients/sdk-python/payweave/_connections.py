"""Keeps connections to one host open between calls, for any number of threads."""

from __future__ import annotations

import http.client
import os
import ssl
import time
from collections import deque
from urllib.parse import SplitResult

# Below the time after which servers and proxies usually close a connection.
_MAX_IDLE_S = 20


class Connections:
    """Connections to one host. A forked process opens its own."""

    def __init__(self, url: SplitResult, ssl_context: ssl.SSLContext | None) -> None:
        self._url = url
        self._ssl_context = ssl_context
        if url.scheme == "https" and ssl_context is None:
            self._ssl_context = ssl.create_default_context()
        self._process = os.getpid()
        # Appends and pops are atomic, so no lock is held when another thread forks.
        self._idle: deque[tuple[http.client.HTTPConnection, float]] = deque()

    def take(self, *, new: bool = False) -> http.client.HTTPConnection:
        """A connection, an idle one unless it must be new. Give it back after a whole response."""
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), deque()
        while not new:
            try:
                connection, since = self._idle.pop()
            except IndexError:
                break
            if time.monotonic() - since < _MAX_IDLE_S:
                return connection
            connection.close()
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            return http.client.HTTPSConnection(host, port, context=self._ssl_context)
        return http.client.HTTPConnection(host, port)

    def give(self, connection: http.client.HTTPConnection) -> None:
        """Keep a connection for the next call."""
        self._idle.append((connection, time.monotonic()))

    def close(self) -> None:
        """Close the idle connections. More can be taken and given back later."""
        while self._idle:
            self._idle.pop()[0].close()
