"""Streams of keyed items, in order and with one item of look-ahead: what a merge-join is made of."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

KeyedT = TypeVar("KeyedT", bound="Keyed")


class Keyed(Protocol):
    """What a stream is ordered by."""

    @property
    def key(self) -> str: ...  # noqa: D102 - the whole of it


class Ordered(Generic[KeyedT]):
    """A stream with one item of look-ahead. Refuses one out of order: a merge-join would delete by it."""

    def __init__(self, items: Iterator[KeyedT], whose: str) -> None:
        self._items = items
        self._whose = whose
        self._head = next(items, None)

    def pop(self) -> KeyedT | None:
        """Take the next item; None at the end."""
        head = self._head
        if head is not None:
            self._head = next(self._items, None)
            if self._head is not None and self._head.key <= head.key:
                message = f"{self._whose} keys are not strictly ascending: {head.key!r} then {self._head.key!r}"
                raise ValueError(message)
        return head

    def pop_below(self, key: str | None) -> KeyedT | None:
        """Take the next item when its key is below `key`; with None, whatever it is."""
        return self.pop() if self._head is not None and (key is None or self._head.key < key) else None

    def pop_if(self, key: str) -> KeyedT | None:
        """Take the next item when it has this key."""
        return self.pop() if self._head is not None and self._head.key == key else None


@contextmanager
def ordered(items: Iterator[KeyedT], whose: str) -> Iterator[Ordered[KeyedT]]:
    """Close the stream whatever happens: it may hold a connection, and a traceback keeps generators alive."""
    try:
        yield Ordered(items, whose)
    finally:
        close = getattr(items, "close", None)
        if close is not None:
            close()
