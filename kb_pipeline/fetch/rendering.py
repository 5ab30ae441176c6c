"""What the browser tiers ask for: a page as a browser shows it, and the text of a picture. A local Chromium and
Cloudflare both render (fetch.chromium, fetch.cloudflare), RapidOCR and Workers AI both read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.fetch.answers import PageRequest


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a browser had it when it was read."""

    body: bytes
    """HTML in UTF-8, the frames' text in it; for a screenshot, a PNG or JPEG."""
    final_url: str
    """Where the page was when it was read: after redirects, and what its scripts made of the address."""
    status: int | None
    """Of the response that the document came with; None where the service does not say."""
    degraded: str = ""
    """What could be had of the page only in part, in words; empty when nothing."""
    requests: int = 1
    wire_bytes: int = 0
    calls: int = 0
    """Calls of a paid service."""
    title: str = ""
    """The page's title, where the body does not hold it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the document, lower-case names, the values of repeated ones in lines; empty where the service does not say."""


@dataclass(frozen=True, slots=True)
class PictureText:
    """What was read off a picture."""

    paragraphs: tuple[str, ...]
    """In reading order."""
    calls: int = 0
    """Calls of a paid service."""
    degraded: str = ""
    """What of the picture was not read, in words; empty when nothing."""


class Renderer(Protocol):
    """Renders pages. Each method raises FetchError: TierUnavailable when its own machinery fails, LimitReached when
    the day's calls are used up, GuardRefused, HopRefused, TimedOut, BodyTooLarge for what the page does."""

    async def content(self, request: PageRequest) -> Rendered:
        """The rendered HTML."""
        ...

    async def screenshot(self, request: PageRequest) -> Rendered:
        """The whole page as a picture."""
        ...


class PictureReader(Protocol):
    """Reads text off a picture."""

    async def read(self, picture: bytes) -> PictureText:
        """Its text; no paragraph when there is none. Raises TierUnavailable, LimitReached, BodyUndecodable when it is
        no picture."""
        ...
