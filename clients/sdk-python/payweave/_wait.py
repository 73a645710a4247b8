"""Reads a state again and again until it is the wanted one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypedDict, TypeVar

from .errors import WaitError

T = TypeVar("T")


class WaitOptions(TypedDict, total=False):
    """How a wait goes on."""

    within: float
    """Seconds to wait in all; default 60."""
    every: float
    """Seconds between two reads; default 1."""


def wait_until(
    read: Callable[[], T], look: Callable[[T], tuple[str, bool, bool]], options: WaitOptions
) -> T:
    """Read until the state is the wanted one. `look` returns the state, and whether it is wanted or final."""
    within, every = options.get("within", 60.0), options.get("every", 1.0)
    end = time.monotonic() + within
    while True:
        found = read()
        state, is_wanted, is_final = look(found)
        if is_wanted:
            return found
        if is_final:
            raise WaitError(f"it is {state}, which is final")
        if time.monotonic() + every > end:
            raise WaitError(f"it is still {state} after {within:g} s")
        time.sleep(every)
