"""When the next request to a host may start: one gap for all runs, Retry-After obeyed, slower when the host
slows. What may be asked at all is robots_gate's business."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from kb_pipeline.core.urls import host_of
from kb_pipeline.errors import HostOnHold
from kb_pipeline.fetch.retry_after import retry_after_seconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

log = structlog.get_logger(__name__)

_LONG_WAIT: Final = 60.0
"""Seconds of silence that a log line explains."""
LONGEST_HOLD: Final = 120.0
"""Most seconds that one Retry-After stops the requests to a host."""
_CLOSING_WAIT: Final = 300.0
_CLOSING_REFUSALS: Final = 3
"""So many refusals in a row, each asking for more than _CLOSING_WAIT seconds, and the host is left alone."""
_MOST_SLOWDOWN: Final = 16.0
_STRAINED_GAP: Final = 0.05
"""Least gap to a host that shows strain, when no gap was asked for."""
_SLOW_ANSWER: Final = 2.0
_SLOWER_THAN_USUAL: Final = 4.0
_TOO_MANY_REQUESTS: Final = 429
_UNAVAILABLE: Final = 503


class HostClock(Protocol):
    """Where the next free moment of each host is kept."""

    async def reserve(self, host: str, gap_seconds: float) -> float:
        """Take the next slot, `gap_seconds` times the host's slowdown after the one before; seconds until it."""
        ...

    async def hold(self, host: str, seconds: float) -> None:
        """Give out no slot for so long."""
        ...

    async def set_slowdown(self, host: str, slowdown: float) -> None:
        """Multiply the host's gap by this, at least 1, from now on."""
        ...


class HostTable(Protocol):
    """The same, blocking: a table that every run shares."""

    def reserve(self, host: str, gap_seconds: float) -> float:
        """As HostClock.reserve."""
        ...

    def hold(self, host: str, seconds: float) -> None:
        """As HostClock.hold."""
        ...

    def set_slowdown(self, host: str, slowdown: float) -> None:
        """As HostClock.set_slowdown."""
        ...


class SharedClock:
    """A HostClock over a blocking table, asked in threads."""

    def __init__(self, table: HostTable) -> None:
        self._table = table

    async def reserve(self, host: str, gap_seconds: float) -> float:
        """Take the next slot."""
        return await asyncio.to_thread(self._table.reserve, host, gap_seconds)

    async def hold(self, host: str, seconds: float) -> None:
        """Give out no slot for so long."""
        await asyncio.to_thread(self._table.hold, host, seconds)

    async def set_slowdown(self, host: str, slowdown: float) -> None:
        """Multiply the gap."""
        await asyncio.to_thread(self._table.set_slowdown, host, slowdown)


class MemoryClock:
    """A HostClock of one process: for a gap of zero, for single requests, and for tests."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._slowdown: dict[str, float] = {}

    async def reserve(self, host: str, gap_seconds: float) -> float:
        """Take the next slot."""
        now = time.monotonic()
        slot = max(now, self._next.get(host, now))
        self._next[host] = slot + gap_seconds * self._slowdown.get(host, 1.0)
        return slot - now

    async def hold(self, host: str, seconds: float) -> None:
        """Give out no slot for so long."""
        self._next[host] = max(self._next.get(host, 0.0), time.monotonic() + seconds)

    async def set_slowdown(self, host: str, slowdown: float) -> None:
        """Multiply the gap."""
        self._slowdown[host] = max(1.0, slowdown)


@dataclass(slots=True)
class _Host:
    connections: asyncio.Semaphore
    held_until: float = 0.0
    closed_until: float = 0.0
    crawl_delay: float = 0.0
    slowdown: float = 1.0
    stored_slowdown: float = 0.0
    """As last written to the clock; 0 before that, so that what a killed run left behind is overwritten."""
    usual_seconds: float | None = None
    refusals: int = 0
    """429 and 503 in a row."""
    pending_hold: float = 0.0
    looked_up: asyncio.Lock | None = field(default_factory=asyncio.Lock)
    """Held while the clock is asked for what earlier runs left; None once it was."""


@dataclass(slots=True)
class _HostTurn:
    """One request's turn; implements fetch.turns.Turn."""

    politeness: Politeness
    host: _Host

    def answered(self, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Learn from an answer how the host does."""
        self.politeness.note_answer(self.host, status, headers, seconds)

    def failed(self) -> None:
        """No answer came: as good a sign of strain as a 503."""
        self.politeness.note_strain(self.host, 1.25)


class Politeness:
    """Turns at hosts. One for each run; what runs share goes through the clock.

    `gap` and `max_crawl_delay` are seconds. Without a gap the clock is asked once for each host, whether an earlier
    run was told to wait; a host that refuses or slows is given time all the same.
    """

    def __init__(self, clock: HostClock, *, gap: float, max_crawl_delay: float, host_connections: int) -> None:
        self._clock = clock
        self._local = MemoryClock()
        self._gap = gap
        self._max_crawl_delay = max_crawl_delay
        self._host_connections = host_connections
        self._hosts: dict[str, _Host] = {}

    def set_crawl_delay(self, url: str, seconds: float | None) -> None:
        """Honour a robots.txt Crawl-delay at the host of `url`, up to the cap."""
        self._of(host_of(url)).crawl_delay = min(seconds or 0.0, self._max_crawl_delay)

    @contextlib.asynccontextmanager
    async def turn(self, url: str, *, prompt: bool = False) -> AsyncIterator[_HostTurn]:
        """Wait for a turn at the host of `url`; the request is made inside the block. A `prompt` one does not wait
        the gap, and obeys all else.

        Raises HostOnHold when the host has asked, again and again, to be left alone for longer than a run waits.
        """
        name = host_of(url)
        host = self._of(name)
        async with host.connections:
            await self._wait(name, host, 0.0 if prompt else max(self._gap, host.crawl_delay))
            try:
                yield _HostTurn(self, host)
            finally:
                await self._share(name, host)

    def note_answer(self, host: _Host, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Take one answer into account."""
        if status in {_TOO_MANY_REQUESTS, _UNAVAILABLE}:
            host.refusals += 1
            self._obey(host, status, retry_after_seconds(headers, datetime.now(UTC)))
            self.note_strain(host, 2.0 if status == _TOO_MANY_REQUESTS else 1.5)
            return
        host.refusals = 0
        usual = seconds if host.usual_seconds is None else host.usual_seconds
        if seconds > max(_SLOW_ANSWER, _SLOWER_THAN_USUAL * usual):
            self.note_strain(host, 1.25)
            return
        host.usual_seconds = 0.9 * usual + 0.1 * seconds
        host.slowdown = max(1.0, host.slowdown * 0.8)

    def note_strain(self, host: _Host, factor: float) -> None:
        """Widen the gap."""
        host.slowdown = min(_MOST_SLOWDOWN, host.slowdown * factor)

    @staticmethod
    def _obey(host: _Host, status: int, wait: float | None) -> None:
        # One page that is down for maintenance says 503 as well: it takes a second refusal to stop the others.
        if not wait or (status == _UNAVAILABLE and host.refusals == 1):
            return
        now = time.monotonic()
        host.pending_hold = min(wait, LONGEST_HOLD)
        host.held_until = max(host.held_until, now + host.pending_hold)
        if wait > _CLOSING_WAIT and host.refusals >= _CLOSING_REFUSALS:
            host.closed_until = max(host.closed_until, now + wait)

    async def _wait(self, name: str, host: _Host, gap: float) -> None:
        self._check_open(name, host)
        if gap > 0:
            await self._sleep(name, await self._clock.reserve(name, gap))
        else:
            await self._look_up(name, host)
            if host.slowdown > 1.0:
                await asyncio.sleep(await self._local.reserve(name, _STRAINED_GAP * host.slowdown))
        while (left := host.held_until - time.monotonic()) > 0:
            self._check_open(name, host)
            await self._sleep(name, left)
        self._check_open(name, host)

    @staticmethod
    async def _sleep(name: str, seconds: float) -> None:
        if seconds >= _LONG_WAIT:
            log.info("crawl.waiting_for_host", host=name, seconds=round(seconds))
        await asyncio.sleep(seconds)

    async def _look_up(self, name: str, host: _Host) -> None:
        """Take over, once, the hold that earlier runs left at the clock."""
        if host.looked_up is None:
            return
        async with host.looked_up:
            if host.looked_up is not None:
                held = await self._clock.reserve(name, 0.0)
                host.held_until = max(host.held_until, time.monotonic() + held)
                host.looked_up = None

    @staticmethod
    def _check_open(name: str, host: _Host) -> None:
        left = host.closed_until - time.monotonic()
        if left > 0:
            message = f"{name} asked to be left alone for {left / 60:.0f} more minutes"
            raise HostOnHold(message, seconds=left)

    async def _share(self, name: str, host: _Host) -> None:
        """Tell the other runs what was learnt in this turn."""
        if host.pending_hold:
            seconds, host.pending_hold = host.pending_hold, 0.0
            await self._clock.hold(name, seconds)
        shared = max(self._gap, host.crawl_delay) > 0
        changed = abs(host.slowdown - host.stored_slowdown) > 0.2 * host.stored_slowdown
        if shared and (changed or host.slowdown == 1.0 != host.stored_slowdown):
            host.stored_slowdown = host.slowdown
            await self._clock.set_slowdown(name, host.slowdown)

    def _of(self, name: str) -> _Host:
        if name not in self._hosts:
            self._hosts[name] = _Host(asyncio.Semaphore(self._host_connections))
        return self._hosts[name]
