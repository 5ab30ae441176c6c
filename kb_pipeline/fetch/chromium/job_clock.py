"""The time that a page has in browsers of ours: one clock for all that is done for it, whichever browser does it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kb_pipeline.errors import FetchError


class JobClock:
    """`seconds` for one page. It stands while the page waits for its turn, or for a browser that others have: our
    queues say nothing about the page."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.left = seconds

    @contextlib.asynccontextmanager
    async def runs(self, error: type[FetchError], what: str) -> AsyncIterator[None]:
        """Do a part of the job. Raises `error`, with `what` was not done, when the time is up."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(0.0, self.left)):
                yield
        except TimeoutError as up:
            message = f"{what} within {self._seconds:g} s"
            raise error(message) from up
        finally:
            self.left -= time.monotonic() - began
