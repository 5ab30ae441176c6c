"""The time that a page has in browsers of ours: one clock for all that is done for it, whichever browser does it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from kb_pipeline.errors import TierUnavailable, TimedOut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kb_pipeline.errors import FetchError


class JobClock:
    """`seconds` for one page. It stands while the page waits for its turn, or for a browser that others have: our
    queues say nothing about the page."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.left = seconds

    @contextlib.asynccontextmanager
    async def starts_browser(self) -> AsyncIterator[None]:
        """Have a browser started. Raises TierUnavailable when the time is up."""
        async with self._runs(lambda: TierUnavailable(f"no browser was up within {self._seconds:g} s")):
            yield

    @contextlib.asynccontextmanager
    async def renders(self) -> AsyncIterator[None]:
        """Have the page rendered and read. Raises TimedOut when the time is up; TierUnavailable when most of it was
        gone before the page was opened, which says nothing about the site."""
        left = self.left

        def too_late() -> FetchError:
            if left < self._seconds / 2:
                return TierUnavailable(f"browsers took all but {left:.1f} s of the page's {self._seconds:g} s")
            return TimedOut(f"the page could not be rendered and read within {self._seconds:g} s")

        async with self._runs(too_late):
            yield

    @contextlib.asynccontextmanager
    async def _runs(self, too_late: Callable[[], FetchError]) -> AsyncIterator[None]:
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self.left)):
                yield
        except TimeoutError as up:
            raise too_late() from up
        finally:
            self.left -= time.monotonic() - began
