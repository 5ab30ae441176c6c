"""What ends a page's job before it is done: it leads where it may not, its renderer crashed, its browser went away, its
memory ran over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.errors import BodyTooLarge, TierUnavailable

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from playwright.async_api import Page

    from kb_pipeline.fetch.chromium.browser import Browser
    from kb_pipeline.fetch.chromium.navigation import Navigation

T = TypeVar("T")

_LOOK_EVERY: Final = 1.0


class BrowserLost(Exception):
    """The browser went away, and the page may not be to blame. Never leaves this package."""


async def unless_alarmed(
    job: Coroutine[object, object, T], page: Page, navigation: Navigation, browser: Browser, max_mb: int
) -> T:
    """Do the job. Raises what it raises; what a hop was refused for, as soon as it is; TierUnavailable when the page
    crashes, BodyTooLarge when the browser grows by more than `max_mb` MB under it, BrowserLost."""
    crashed, gone = asyncio.Event(), asyncio.Event()
    page.on("crash", lambda _: crashed.set())

    def went(_browser: object) -> None:
        gone.set()

    browser.driven.on("disconnected", went)
    working = asyncio.ensure_future(job)
    alarms = [
        asyncio.ensure_future(navigation.refused_hop()),
        asyncio.ensure_future(_crash(crashed, browser)),
        asyncio.ensure_future(_gone(gone)),
        asyncio.ensure_future(_memory(browser, max_mb)),
    ]
    try:
        await asyncio.wait({working, *alarms}, return_when=asyncio.FIRST_COMPLETED)
        for alarm in alarms:
            if alarm.done():
                alarm.result()
        return await working
    except PlaywrightError as error:
        raise meaning(error, browser) from error
    finally:
        browser.driven.remove_listener("disconnected", went)
        for task in (working, *alarms):
            task.cancel()
        await asyncio.gather(working, *alarms, return_exceptions=True)


def meaning(error: PlaywrightError, browser: Browser) -> Exception:
    """What a driver's error says about the page, or its browser."""
    if "crash" in str(error).lower():
        return _crash_error(browser)
    if not browser.driven.is_connected() or "has been closed" in str(error):
        browser.broken = browser.broken or "it went away"
        return BrowserLost(str(error))
    return TierUnavailable(f"Chromium failed on the page ({str(error).partition(chr(10))[0][:200]})")


def _crash_error(browser: Browser) -> TierUnavailable:
    browser.broken = "a page crashed it"
    return TierUnavailable("the page crashed the browser")


async def _crash(crashed: asyncio.Event, browser: Browser) -> NoReturn:
    await crashed.wait()
    raise _crash_error(browser)


async def _gone(gone: asyncio.Event) -> NoReturn:
    await gone.wait()
    raise BrowserLost


async def _memory(browser: Browser, most: int) -> NoReturn:
    before = await browser.memory_mb()
    grown = 0
    while grown <= most:
        await asyncio.sleep(_LOOK_EVERY)
        grown = await browser.memory_mb() - before
    browser.broken = f"a page took {grown} MB"
    message = f"the page takes {grown} MB of memory to render, and {most} are allowed"
    raise BodyTooLarge(message)
