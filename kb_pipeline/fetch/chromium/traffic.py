"""What one page's requests came to: counted and limited by the proxy, read by whoever renders the page."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import GuardRefused

if TYPE_CHECKING:
    from kb_pipeline.errors import FetchError

MAX_BYTES: Final = 64 * 2**20
"""Of all that a page loads. Hundreds of times what a page's text needs; a stream that never ends stops here."""
MAX_REQUESTS: Final = 2_000
"""Of one page, tunnels counted once each: what busies our event loop is not the page's to take."""
MAX_CONNECTIONS: Final = 128
_REMEMBERED: Final = 256
"""Places and addresses whose failure is remembered, of one page."""


@dataclass(slots=True, eq=False)
class PageTraffic:
    """The requests of one page. `user` and `password` are what its browser shows the proxy."""

    max_bytes: int = MAX_BYTES
    user: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_hex(16))
    mark: str = field(default_factory=lambda: secrets.token_hex(16))
    """By which an answer of the proxy's own is known; scripts of the page may see it."""
    received: int = 0
    """Bytes from the sites, as they came."""
    sent: int = 0
    requests: int = 0
    refused: int = 0
    """Requests to addresses that are not public."""
    failures: OrderedDict[tuple[str, int], FetchError] = field(default_factory=OrderedDict)
    """Why a place could not be reached, by host and port; the latest of each."""
    lost: set[str] = field(default_factory=set)
    """Addresses that got an answer of the proxy's in the place of their own; of the first so many."""
    connections: set[asyncio.Task[None]] = field(default_factory=set)
    closed: bool = False

    @property
    def exhausted(self) -> str:
        """What the page has had too much of; empty when nothing."""
        if self.received + self.sent > self.max_bytes:
            return f"more than {self.max_bytes / 2**20:,.0f} MB"
        return f"more than {MAX_REQUESTS:,} requests" if self.requests > MAX_REQUESTS else ""

    def count_request(self) -> None:
        """Count one. Raises ConnectionAbortedError once the page has made enough of them."""
        self.requests += 1
        self.count()

    def count(self, *, received: int = 0, sent: int = 0) -> None:
        """Add bytes. Raises ConnectionAbortedError once the page has had enough of them."""
        self.received += received
        self.sent += sent
        if self.exhausted:
            self.drop()
            raise ConnectionAbortedError

    def note_failure(self, host: str, port: int, error: FetchError) -> None:
        """Remember why a place could not be reached."""
        if isinstance(error, GuardRefused):
            self.refused += 1
        self.failures[host, port] = error
        self.failures.move_to_end((host, port))
        if len(self.failures) > _REMEMBERED:
            self.failures.popitem(last=False)

    def note_lost(self, url: str) -> None:
        """Remember an address that the site gave no answer for."""
        if len(self.lost) < _REMEMBERED:
            self.lost.add(url)

    def drop(self) -> None:
        """End every connection, and open no more."""
        self.closed = True
        ours = asyncio.current_task()
        for connection in list(self.connections):
            if connection is not ours:
                connection.cancel()
