"""What a request gives back: the head of a response, and the whole of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import resolve, without_fragment

if TYPE_CHECKING:
    from collections.abc import Mapping

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
"""Statuses that a Location goes with."""
_MOST_SHOWN: Final = 300

ByteLimit = int | Callable[["Head", bytes], int]
"""Most bytes of a decoded body, fixed or told from the response's head and the first bytes of its body. The
function may raise a FetchError to refuse the rest unread."""


@dataclass(frozen=True, slots=True)
class Head:
    """A response before its body."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Lower-case names; repeated headers joined by ", "."""


@dataclass(frozen=True, slots=True)
class Response:
    """The last response of a chain of redirects, its body decoded but never transcoded."""

    url: str
    """As asked for."""
    final_url: str
    status: int
    headers: Mapping[str, str]
    """Lower-case names; repeated headers joined by ", "."""
    body: bytes
    redirects: tuple[str, ...] = ()
    """Addresses the chain went through after `url`, the final one last."""
    elapsed: float = 0.0
    """Seconds on the wire, waits for politeness not counted."""
    wire_bytes: int = 0
    """Body bytes received, before decompression."""
    truncated: bool = False
    header_list: tuple[tuple[str, str], ...] = ()
    """Every header line in order, lower-case names: for headers that may not be joined."""
    requests: int = 1
    """That were made for it: each hop, and those that the proxy made up for."""
    by_proxy: bool = False
    """It came by the operator's proxy after the direct way had failed."""

    @property
    def content_type(self) -> str:
        """The Content-Type header, or ""."""
        return self.headers.get("content-type", "")


def redirect_target(response: Response) -> str | None:
    """Where a redirect leads (RFC 9110 §10.2.2), without a fragment; None when it is none, or names no address."""
    if response.status not in REDIRECTS:
        return None
    location = next((value for name, value in response.header_list if name == "location"), None)
    target = None if location is None else resolve(response.final_url, _octets(location))
    return None if target is None else without_fragment(target)


def shown(url: str) -> str:
    """An address for a sentence: a stranger's may have a hundred thousand characters."""
    return url if len(url) <= _MOST_SHOWN else f"{url[:_MOST_SHOWN]}…"


def _octets(location: str) -> str:
    """Read a Location header as UTF-8 where it is that: raw octets over ASCII are common in the wild."""
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location
