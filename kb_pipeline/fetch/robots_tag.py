"""`X-Robots-Tag`: what a response's header says about indexing the page and following its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives with a colon of their own: what stands before it is no crawler's name."""


@dataclass(frozen=True, slots=True)
class RobotsTag:
    """The two directives that matter here."""

    noindex: bool = False
    nofollow: bool = False


def parse_robots_tag(lines: Iterable[str], token: str) -> RobotsTag:
    """Read every `X-Robots-Tag` line for the crawler `token`.

    A line, or a part of it, may be addressed to one crawler ("otherbot: noindex"); the restrictions for all and
    those for us add up.
    """
    ours = {directive for line in lines for name, directive in _directives(line) if name in {"", token.lower()}}
    return RobotsTag(noindex=bool(ours & {"noindex", "none"}), nofollow=bool(ours & {"nofollow", "none"}))


def _directives(line: str) -> list[tuple[str, str]]:
    found, crawler = [], ""
    for part in line.lower().split(","):
        name, colon, rest = part.partition(":")
        directive = part
        if colon and name.strip() not in _VALUED:
            crawler, directive = name.strip(), rest
        found.append((crawler, directive.strip()))
    return found
