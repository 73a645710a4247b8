"""Lists that fetch their pages as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None
    """Leads to the next page; None on the last one."""


class PageList(Generic[T]):
    """A list of any length: iterate to read every item, or read it page by page."""

    def __init__(self, fetch_page: Callable[[str | None], Page[T]]) -> None:
        self._fetch_page = fetch_page

    def page(self, cursor: str | None = None) -> Page[T]:
        """Read the first page, or the one at a cursor. It may be empty although another follows."""
        return self._fetch_page(cursor)

    def __iter__(self) -> Iterator[T]:
        page = self.page()
        yield from page.items
        while page.next_cursor is not None:
            page = self.page(page.next_cursor)
            yield from page.items

    def take(self, count: int) -> list[T]:
        """Read the first `count` items, or all if there are fewer."""
        return list(islice(self, count))
