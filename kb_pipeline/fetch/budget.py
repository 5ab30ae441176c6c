"""Daily caps of calls that cost money. The count is whoever runs the chain's: all processes share one in PostgreSQL
(store.usage), a program that only scrapes counts for itself."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

BROWSER_CALLS: Final = "cloudflare_browser"
"""Content, markdown and screenshot together."""
VISION_CALLS: Final = "cloudflare_vision"


class Budget(Protocol):
    """Counts calls of a day (UTC)."""

    async def take(self, name: str, most: int) -> bool:
        """Count one call of the day, unless `most` of them were made; whether it may be made. 0: no limit, and
        counted all the same. Atomic."""
        ...


class OwnBudget:
    """Counts the calls of this process."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._made: Counter[tuple[str, str]] = Counter()

    async def take(self, name: str, most: int) -> bool:
        """Count one call, unless the day has had its `most`."""
        day = (self._now().date().isoformat(), name)
        with self._lock:  # a program may scrape in several threads
            if most and self._made[day] >= most:
                return False
            self._made[day] += 1
            return True
