"""What a request gives back: the head of a response, and the whole of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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

    @property
    def content_type(self) -> str:
        """The Content-Type header, or ""."""
        return self.headers.get("content-type", "")
