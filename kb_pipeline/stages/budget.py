"""Daily caps that every process shares: the counters are rows of PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from kb_pipeline.store.stores import Stores

_ALL: Final = ""
"""The account is one, whichever tenant a site belongs to."""


class SharedBudget:
    """Implements fetch.budget.Budget. The day is that of UTC, by the clock of the stores."""

    def __init__(self, stores: Stores, now: Callable[[], datetime] | None = None) -> None:
        self._usage = stores.usage
        self._now = now or stores.now

    async def take(self, name: str, most: int) -> bool:
        """Count one call of the day, unless `most` of them were made. Raises StoreError."""
        day = self._now().date()
        return await asyncio.to_thread(self._usage.add, day, _ALL, name, most=most or None)
