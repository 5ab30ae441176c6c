"""What one process knows of the hosts that it scrapes: politeness and robots.txt of each. The hosts are bounded in
number, but for those that were asked within minutes, and their robots.txt in bytes. For one event loop."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import host_of
from kb_pipeline.fetch.hops import refuse_by_robots
from kb_pipeline.fetch.politeness import MemoryClock, Politeness
from kb_pipeline.fetch.robots_gate import RobotsGate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from datetime import datetime

    from kb_pipeline.fetch.client import HttpClient
    from kb_pipeline.fetch.robots_gate import RobotsVerdict
    from kb_pipeline.fetch.turns import Turn
    from kb_pipeline.settings import Settings

MOST_HOSTS: Final = 2_000
KEPT_SECONDS: Final = 600.0
"""A host that was asked within these is not forgotten, so that its gap and its Retry-After hold."""
MOST_ROBOTS_BYTES: Final = 16 * 2**20
MOST_PARSED_BYTES: Final = 4 * 2**20
"""Of files whose rules are held. Rules made to be large take twenty times the bytes of their file."""
_ROBOTS_PATH: Final = "/robots.txt"


@dataclass(frozen=True, slots=True)
class _File:
    body: bytes
    fetched_at: datetime


class RecentRobots:
    """Implements fetch.robots_gate.RobotsFiles: the newest files, up to `most_bytes`. Used from threads."""

    def __init__(self, most_bytes: int = MOST_ROBOTS_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, origin: str) -> _File | None:
        """The origin's file."""
        with self._lock:
            return self._files.get(origin)

    def put(self, origin: str, status: int, body: bytes, fetched_at: datetime) -> None:  # noqa: ARG002 - the protocol
        """Replace the origin's file."""
        with self._lock:
            self._drop(origin)
            self._files[origin] = _File(body, fetched_at)
            self._bytes += _weight(origin, body)
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._files)))

    def _drop(self, origin: str) -> None:
        file = self._files.pop(origin, None)
        if file is not None:
            self._bytes -= _weight(origin, file.body)


def _weight(origin: str, body: bytes) -> int:
    return 512 + len(origin) + len(body)


@dataclass(slots=True)
class _Host:
    politeness: Politeness
    gate: RobotsGate
    used_at: float
    uses: int = 0
    parsed_bytes: int = 0


class Hosts:
    """Turns at hosts (fetch.turns.Turns), verdicts of their robots.txt (fetch.asking.Gate), and the hook that decides
    about redirects: those to another site are followed, where its robots.txt allows."""

    def __init__(
        self,
        settings: Settings,
        *,
        most: int = MOST_HOSTS,
        most_parsed_bytes: int = MOST_PARSED_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._most = most
        self._most_parsed_bytes = most_parsed_bytes
        self.parsed_bytes = 0
        """Of all files whose rules are held."""
        self._clock = clock
        self._files = RecentRobots()
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._client: HttpClient | None = None

    def __len__(self) -> int:
        return len(self._hosts)

    def ask_with(self, client: HttpClient) -> None:
        """The client that robots.txt is fetched with; it takes its turns here in its turn."""
        self._client = client

    @contextlib.asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[Turn]:
        """Wait until this address may be asked. The page does not wait the gap after its host's robots.txt."""
        with self._using(url) as host:
            async with host.politeness.turn(url, prompt=url.endswith(_ROBOTS_PATH)) as turn:
                yield turn

    async def verdict(self, url: str) -> RobotsVerdict:
        """Whether `url` may be fetched. Raises GuardRefused for an address that may not be dialled at all."""
        with self._using(url) as host:
            try:
                return await host.gate.verdict(url)
            finally:
                self._weigh(host)
                self._forget_rules()

    async def on_redirect(self, _source: str, target: str) -> None:
        """Raise HopRefused for a hop past a robots.txt (RFC 9309 holds for each target)."""
        refuse_by_robots(target, await self.verdict(target))

    @contextlib.contextmanager
    def _using(self, url: str) -> Iterator[_Host]:
        host = self._of(host_of(url))
        host.uses += 1
        try:
            yield host
        finally:
            host.uses -= 1
            host.used_at = self._clock()

    def _of(self, name: str) -> _Host:
        host = self._hosts.get(name)
        if host is None:
            self._forget_idle()
            host = self._hosts[name] = self._new()
        self._hosts.move_to_end(name)
        return host

    def _forget_idle(self) -> None:
        """Make room. What is in use, or was a little while ago, stays, so that there may be more than the most."""
        while len(self._hosts) >= self._most:
            name, host = next(iter(self._hosts.items()))
            if host.uses or self._clock() - host.used_at < KEPT_SECONDS:
                return
            del self._hosts[name]
            self.parsed_bytes -= host.parsed_bytes

    def _weigh(self, host: _Host) -> None:
        self.parsed_bytes += host.gate.file_bytes - host.parsed_bytes
        host.parsed_bytes = host.gate.file_bytes

    def _forget_rules(self) -> None:
        """Those of the hosts that were not asked for longest. Their politeness stays."""
        for host in self._hosts.values():
            if self.parsed_bytes <= self._most_parsed_bytes:
                return
            if host.parsed_bytes:
                host.gate.forget()
                self._weigh(host)

    def _new(self) -> _Host:
        assert self._client is not None
        settings = self._settings
        politeness = Politeness(
            MemoryClock(),
            gap=settings.request_gap_seconds,
            max_crawl_delay=settings.max_crawl_delay_seconds,
            host_connections=settings.host_connections,
        )
        gate = RobotsGate(
            self._client,
            self._files,
            token=settings.bot_token,
            user_agent=settings.bot_user_agent,
            politeness=politeness,
        )
        return _Host(politeness, gate, self._clock())
