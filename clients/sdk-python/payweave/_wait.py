"""Reads a state again and again until it is the wanted one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar, cast

from ._transport import CallOptions
from .errors import PayweaveError, WaitError

T = TypeVar("T")


class WaitOptions(CallOptions, total=False):
    """How a wait goes on, and what each of its reads takes."""

    within: float
    """Seconds to wait in all, reads and their retries included; default 60."""
    every: float
    """Seconds between two reads; default 1."""


def wait_until(
    read: Callable[[CallOptions, float], T],
    look: Callable[[T], tuple[str, bool, bool]],
    options: WaitOptions,
) -> T:
    """Read until the state is the wanted one. `read` gets the monotonic time at which it ends; `look` returns the state,
    and whether it is wanted or final. Raises a WaitError, and what `read` raises before the time is over.
    """
    own = ("within", "every")
    calls = cast(CallOptions, {name: one for name, one in options.items() if name not in own})
    within, every = options.get("within", 60.0), options.get("every", 1.0)
    end = time.monotonic() + within
    state = "unknown"
    while True:
        try:
            found = read(calls, end)
        except PayweaveError as error:
            if time.monotonic() < end:
                raise
            raise WaitError(f"the state is still {state} after {within:g} s") from error
        state, is_wanted, is_final = look(found)
        if is_wanted:
            return found
        if is_final:
            raise WaitError(f"the state is {state}, which is final")
        if time.monotonic() + every > end:
            raise WaitError(f"the state is still {state} after {within:g} s")
        time.sleep(every)
