"""What every list of pages is made of: an address with what the list says of it. Shared by sitemaps and feeds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from kb_pipeline.core.urls import is_http, resolve

MAX_ENTRIES: Final = 50_000
"""Most addresses that one list may name (sitemaps.org)."""

_ABSOLUTE_HTTP: Final = re.compile(r"https?://[^\s/?#]", re.IGNORECASE)
_CONTROLS: Final = re.compile("[\0-\x1f]+")
_YEAR_OR_MONTH: Final = re.compile(r"(\d{4})(?:-(\d{2}))?")
_DATE_START: Final = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """One page that a sitemap or a feed names."""

    url: str
    """As published; made absolute where the list has a relative address."""
    lastmod: datetime | None = None
    """UTC."""
    priority: float | None = None
    """0 to 1."""
    alternates: tuple[tuple[str, str], ...] = ()
    """(hreflang, url) of the page's translations."""


def absolute_address(text: str, base: str) -> str | None:
    """The http(s) address that `text` in a list at `base` means, or None when it means none.

    An absolute address comes back as published: rewriting it is for the one who compares or requests it.
    """
    text = _CONTROLS.sub("", text).strip()
    if not text:
        return None
    if _ABSOLUTE_HTTP.match(text):
        return text if resolve(None, text) else None
    host = base.partition("://")[2].partition("/")[0]
    if host and text.lower().startswith(f"{host.lower()}/"):
        # "www.example.com/page": by the letter a relative address, by intent one without its scheme.
        text = f"//{text}"
    url = resolve(base, text)
    return url if url and is_http(url) else None


def parse_date(text: str | None) -> datetime | None:
    """A W3C or RFC 822 date as an instant in UTC; None for anything else. Without an offset it is UTC."""
    text = (text or "").strip()
    if not text:
        return None
    try:
        if match := _YEAR_OR_MONTH.fullmatch(text):
            return datetime(int(match[1]), int(match[2] or 1), 1, tzinfo=UTC)
        # A bare number is no date here, though ISO 8601 would read "20230506" as one.
        instant = datetime.fromisoformat(text) if _DATE_START.match(text) else parsedate_to_datetime(text)
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def parse_priority(text: str | None) -> float | None:
    """A sitemap priority, 0 to 1; None when it is no such number."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None
