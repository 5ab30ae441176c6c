"""The whole job of a page in one browser: a blank page, the way there, the reading, and what goes wrong meanwhile."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.fetch.chromium.alarms import meaning, unless_alarmed
from kb_pipeline.fetch.chromium.context import blank_page
from kb_pipeline.fetch.chromium.navigation import Navigation
from kb_pipeline.fetch.chromium.traffic import PageTraffic
from kb_pipeline.fetch.chromium.visit import Visit
from kb_pipeline.fetch.chromium.waiting import Patience

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.chromium.browser import Browser
    from kb_pipeline.fetch.chromium.guard_proxy import GuardProxy
    from kb_pipeline.fetch.guard import Guard
    from kb_pipeline.fetch.rendering import Rendered
    from kb_pipeline.fetch.turns import Turn
    from kb_pipeline.settings import Settings

Read = Callable[[Visit, "CDPSession"], "Awaitable[Rendered]"]

_LOAD_SHARE: Final = 0.65
"""Of a page's time that goes to loading it; the rest is for reading it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a page is rendered among. `check_hop(from, to)` raises FetchError where it may not lead."""

    proxy: GuardProxy
    guard: Guard
    settings: Settings
    check_hop: Callable[[str, str], Awaitable[None]]
    seconds: float
    """Left of the page's time."""


@dataclass(frozen=True, slots=True)
class Turning:
    """A turn at the page's host, and how it is given back."""

    turn: Turn
    end: Callable[[], Awaitable[None]]


async def render_page(
    browser: Browser, request: PageRequest, read: Read, among: Surroundings, turning: Turning
) -> Rendered:
    """Open the page and read it. Raises FetchError, and BrowserLost when another browser may do better."""
    async with among.proxy.page(PageTraffic()) as traffic:
        try:
            async with blank_page(browser, request, traffic, among.proxy.address, among.settings) as page:
                return await _visited(page, browser, traffic, request, read, among, turning)
        except PlaywrightError as error:
            raise meaning(error, browser) from error


async def _visited(
    page: Page,
    browser: Browser,
    traffic: PageTraffic,
    request: PageRequest,
    read: Read,
    among: Surroundings,
    turning: Turning,
) -> Rendered:
    session = await page.context.new_cdp_session(page)
    navigation = Navigation(page, session, among.check_hop, request.policy.headers)
    patience = _patience(request, among.seconds)
    visit = Visit(page, request, navigation, traffic, among.guard, among.check_hop, patience)

    async def job() -> Rendered:
        await navigation.watch(request.url)
        await visit.open(turning.turn, turning.end)
        return await read(visit, session)

    try:
        return await unless_alarmed(job(), page, navigation, browser, among.settings.browser_max_mb)
    finally:
        await navigation.aclose()


def _patience(request: PageRequest, seconds: float) -> Patience:
    most = seconds * _LOAD_SHARE
    asked = request.policy.page_timeout_ms
    return Patience(time.monotonic() + (most if asked is None else min(asked / 1000, most)))
