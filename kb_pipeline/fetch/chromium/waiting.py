"""When a page is ready to be read: what its policy asks for, else when it has come to rest; and never later than its
time limit, for some pages never stop loading."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.fetch.chromium.scripts import CHANGES, SCROLL

if TYPE_CHECKING:
    from playwright.async_api import Page

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.chromium.navigation import Navigation

MOST_VIEWS: Final = 20
"""Screenfuls that are scrolled through."""
_QUIET_SECONDS: Final = 0.4
"""Without a request or a change of the document: the page has come to rest."""
_REST_SECONDS: Final = 6.0
"""For a page to come to rest; clocks, tickers and long polls never do."""
_VIEW_SECONDS: Final = 1.0
"""For what one screenful loads."""
_LOOK_EVERY: Final = 0.1


@dataclass(slots=True)
class Patience:
    """How long a page may load. `until` is a moment of the monotonic clock."""

    until: float

    @property
    def left(self) -> float:
        """Seconds; 0 when they are over."""
        return max(0.0, self.until - time.monotonic())

    def at_most(self, seconds: float) -> float:
        """So many seconds, if there are so many left."""
        return min(seconds, self.left)


async def wait_until_ready(page: Page, navigation: Navigation, policy: FetchPolicy, patience: Patience) -> list[str]:
    """Wait, scroll, wait. Returns what did not come about, in words. Raises what a refused hop raised."""
    lacking = []
    await _wait_for_state(page, navigation, policy, patience)
    await _scroll(page, navigation, patience)
    navigation.check()
    if policy.wait_for is not None and not await _has_appeared(page, policy.wait_for, patience):
        lacking.append("what the page was to be waited for did not appear")
    if policy.delay_before_return_html:
        await asyncio.sleep(patience.at_most(policy.delay_before_return_html))
    navigation.check()
    return lacking


async def _wait_for_state(page: Page, navigation: Navigation, policy: FetchPolicy, patience: Patience) -> None:
    state = policy.wait_until or "domcontentloaded"
    if state != "commit":
        with suppress(PlaywrightError):  # its time is over: it is read as it is
            await page.wait_for_load_state(state, timeout=max(1.0, patience.left * 1000))
    navigation.check()
    if policy.wait_until is None:
        await _rest(page, navigation, patience.at_most(_REST_SECONDS))


async def _rest(page: Page, navigation: Navigation, seconds: float) -> None:
    """Until neither requests nor the document change, for so many seconds at most."""
    deadline = time.monotonic() + seconds
    seen, since = -1, time.monotonic()
    while (now := time.monotonic()) < deadline and navigation.refusal is None:
        changes = await _changes(page, deadline - now)
        if changes != seen:
            seen, since = changes, now
        elif now - since >= _QUIET_SECONDS and navigation.is_quiet(_QUIET_SECONDS):
            return
        await asyncio.sleep(_LOOK_EVERY)


async def _changes(page: Page, seconds: float) -> int:
    """Changes of the document so far; -1 while it cannot be asked."""
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(seconds):
            changes = await page.evaluate(CHANGES)
            return changes if isinstance(changes, int) else -1
    return -1


async def _scroll(page: Page, navigation: Navigation, patience: Patience) -> None:
    """Down by screenfuls, so that what loads when it is seen does, and up again."""
    with suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(patience.left):
            for step in range(MOST_VIEWS):
                if navigation.refusal is not None or not await page.evaluate(SCROLL, step):
                    break
                await _rest_of_view(navigation)
            await page.evaluate(SCROLL, -1)


async def _rest_of_view(navigation: Navigation) -> None:
    deadline = time.monotonic() + _VIEW_SECONDS
    while time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_EVERY)
        if navigation.is_quiet(_LOOK_EVERY):
            return


async def _has_appeared(page: Page, selector: str, patience: Patience) -> bool:
    try:
        await page.wait_for_selector(selector, state="attached", timeout=max(1.0, patience.left * 1000))
    except PlaywrightError:
        return False
    return True
