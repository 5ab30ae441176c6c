"""When a site says to come back: Retry-After (RFC 9110 §10.2.3), as seconds or as a date."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST: Final = 24 * 3600.0
"""Nobody waits longer than a day for one header."""


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, 0 to a day; None without a header that can be read.

    A date counts from the response's own Date where there is one, so that a wrong clock on either side does
    not matter.
    """
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), LONGEST) if len(value) < 10 else LONGEST  # noqa: PLR2004 - past any sane number
    moment = http_date(value)
    if moment is None:
        return None
    sent = http_date(headers.get("date", "")) or now
    return min(max(0.0, (moment - sent).total_seconds()), LONGEST)


def http_date(value: str) -> datetime | None:
    """The moment that a header names (RFC 9110 §5.6.7), in whichever of the forms that are met; None when in none."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):  # the last for a zone of a million days, say
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
