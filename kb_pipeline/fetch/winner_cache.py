"""Winners of the last minutes, by address: who asks for a page again is given what it was, and who asks while it is
being fetched waits for that. For one event loop.

A refresh does not use it: it asks the site itself, conditionally, and what it is told decides what stays indexed.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import canonical
from kb_pipeline.fetch.answers import CLEARS, PageRequest, PageResult, TierResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kb_pipeline.core.fetch_policy import FetchPolicy

LASTS: Final = 300.0
"""Seconds."""
MOST_ENTRIES: Final = 512
MOST_BYTES: Final = 64 * 2**20
_OVERHEAD: Final = 4096
"""Bytes of an entry beside its body and its text: headers, objects."""


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two requests the same. Another policy is another page: headers and cookies decide what is shown.
    The address without what is known to be noise; the scheme stays, so that what came over http never answers for
    https."""

    address: str
    policy: FetchPolicy
    ignore_noindex: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    result: PageResult
    fetched_at: float
    weight: int


@dataclass(slots=True)
class _Flight:
    task: asyncio.Task[PageResult]
    waiting: int = 0


class WinnerCache:
    """Holds results that cleared for `lasts` seconds of `clock`, the least recently used given up first."""

    def __init__(
        self,
        *,
        lasts: float = LASTS,
        most_entries: int = MOST_ENTRIES,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lasts = lasts
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._clock = clock
        self._entries: OrderedDict[_Key, _Entry] = OrderedDict()
        self._bytes = 0
        self._flights: dict[_Key, _Flight] = {}

    @property
    def bytes_held(self) -> int:
        """About what the entries take."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    async def fetch(self, request: PageRequest, ask: Callable[[PageRequest], Awaitable[PageResult]]) -> PageResult:
        """The winner that is remembered, or what `ask` brings. A request that says more than which page and how is
        always asked: the answer to a conditional one may have no body."""
        if request != PageRequest(request.url, ignore_noindex=request.ignore_noindex, policy=request.policy):
            return await ask(request)
        try:
            key = _Key(canonical(request.url), request.policy, request.ignore_noindex)
        except ValueError:  # no address: the tiers say so
            return await ask(request)
        return self._remembered(key) or await self._join(key, request, ask)

    def _remembered(self, key: _Key) -> PageResult | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        age = self._clock() - entry.fetched_at
        if age >= self._lasts:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return replace(entry.result, age=age)

    async def _join(
        self, key: _Key, request: PageRequest, ask: Callable[[PageRequest], Awaitable[PageResult]]
    ) -> PageResult:
        """Wait for the one request that is under way. It is given up when nobody waits for it any more, and not when
        whoever started it has gone."""
        flight = self._flights.get(key)
        if flight is None:
            flight = _Flight(asyncio.ensure_future(self._ask(key, request, ask)))
            self._flights[key] = flight
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)
                flight.task.cancel()
                await asyncio.wait({flight.task})  # until it has let go of what it holds

    async def _ask(
        self, key: _Key, request: PageRequest, ask: Callable[[PageRequest], Awaitable[PageResult]]
    ) -> PageResult:
        flight = self._flights.get(key)
        try:
            result = await ask(request)
            if result.best.answer in CLEARS:
                self._keep(key, result)
            return result
        finally:
            self._forget(key, flight)

    def _forget(self, key: _Key, flight: _Flight | None) -> None:
        if self._flights.get(key) is flight:
            self._flights.pop(key, None)

    def _keep(self, key: _Key, result: PageResult) -> None:
        kept = replace(result, attempts=tuple(_without_body(attempt, result.best) for attempt in result.attempts))
        weight = _weight(result.best)
        self._drop(key)
        if weight > self._most_bytes:
            return
        self._entries[key] = _Entry(kept, self._clock(), weight)
        self._bytes += weight
        while len(self._entries) > self._most_entries or self._bytes > self._most_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.weight


def _without_body(attempt: TierResult, best: TierResult) -> TierResult:
    """What the losers brought is not asked for again."""
    return attempt if attempt is best else replace(attempt, response=None, text=None)


def _weight(best: TierResult) -> int:
    body = len(best.response.body) if best.response else 0
    return _OVERHEAD + body + (sys.getsizeof(best.text.markdown) if best.text else 0)
