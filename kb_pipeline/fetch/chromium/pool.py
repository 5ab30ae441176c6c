"""The browsers of a run: so many at once, each replaced by its uses, age and memory, all ended at the end."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

import structlog
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from kb_pipeline.errors import TierUnavailable
from kb_pipeline.fetch.chromium.browser import Browser, start_browser
from kb_pipeline.fetch.chromium.folders import RunFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    from playwright.async_api import Playwright

    from kb_pipeline.settings import Settings

log = structlog.get_logger(__name__)

T = TypeVar("T")

_STOP_SECONDS: Final = 10.0
_CLOSE_SECONDS: Final = 60.0
"""For what is starting or ending to be done: longer than a start may take."""


class BrowserPool:
    """Lends browsers, one borrower each. Nothing is started before the first is asked for.

    A borrower may be cancelled at any moment. What starts and ends processes is therefore never done in its own task:
    a start that was cut off in its middle would leave processes that nobody knows of.
    """

    def __init__(self, settings: Settings, chromium: str, proxy: str) -> None:
        self._settings = settings
        self._chromium = chromium
        self._proxy = proxy
        self._slots = asyncio.Semaphore(settings.browsers)
        self._starting = asyncio.Lock()
        self._idle: list[Browser] = []
        self._all: set[Browser] = set()
        self._folder: RunFolder | None = None
        self._playwright: Playwright | None = None
        self._drivers: list[Playwright] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._closed = False

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[Callable[[], Awaitable[Browser]]]:
        """A place among the browsers, as soon as one is free. What it gives has the browser of that place, started if
        need be, and raises TierUnavailable."""
        await self._slots.acquire()
        fresh = self._task(self._fresh())

        async def browser() -> Browser:
            browser = await asyncio.shield(fresh)
            browser.pages += 1
            return browser

        try:
            yield browser
        finally:
            taking_back = self._task(self._take_back(fresh))
            if fresh.done():  # else the borrower was cancelled, and is not to wait for what it does not want any more
                await asyncio.shield(taking_back)

    async def aclose(self) -> None:
        """End every browser, also those that are starting, and the driver. Never raises."""
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                while self._tasks:
                    await asyncio.wait(self._tasks)
        await asyncio.gather(*(self._end(browser) for browser in list(self._all)))
        await asyncio.gather(*(_stop(driver) for driver in self._drivers))
        if self._folder is not None:
            await asyncio.to_thread(self._folder.remove)
            self._folder = None

    async def _fresh(self) -> Browser:
        while self._idle:
            browser = self._idle.pop()
            if not self._is_worn(browser):
                return browser
            await self._end(browser)
        # One at a time: starting takes a core for a second.
        async with self._starting:
            if self._closed:
                message = "the browsers are closed"
                raise TierUnavailable(message)
            return await self._start()

    async def _start(self) -> Browser:
        if self._folder is None:
            self._folder = await asyncio.to_thread(RunFolder)
        try:
            browser = await self._launch(self._folder)
        except TierUnavailable:
            if self._closed:
                raise
            self._playwright = None  # the driver may be what is broken
            browser = await self._launch(self._folder)
        self._all.add(browser)
        log.debug("browser.started", version=browser.driven.version, keeper=browser.keeper.pid)
        return browser

    async def _launch(self, folder: RunFolder) -> Browser:
        if self._playwright is None:
            try:
                self._playwright = await async_playwright().start()
                self._drivers.append(self._playwright)
            except (PlaywrightError, OSError) as error:
                message = f"Playwright could not be started ({str(error).partition(chr(10))[0]})"
                raise TierUnavailable(message) from error
        max_mb = self._settings.browser_max_mb
        return await start_browser(
            self._playwright, self._chromium, folder.for_browser(), folder.lock, self._proxy, max_mb
        )

    def _task(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _take_back(self, fresh: asyncio.Task[Browser]) -> None:
        """With it the slot comes back: a browser that is starting for nobody counts as one."""
        try:
            with contextlib.suppress(TierUnavailable):
                await self._keep_or_end(await fresh)
        finally:
            self._slots.release()

    async def _keep_or_end(self, browser: Browser) -> None:
        if not self._is_worn(browser) and not self._closed:
            memory = await browser.memory_mb()
            if memory > self._settings.browser_max_mb:
                browser.broken = f"it holds {memory} MB"
        if self._is_worn(browser) or self._closed:
            log.debug("browser.replaced", pages=browser.pages, why=browser.broken)
            await self._end(browser)
        else:
            self._idle.append(browser)

    def _is_worn(self, browser: Browser) -> bool:
        return browser.is_worn(self._settings.browser_pages, self._settings.browser_minutes * 60)

    async def _end(self, browser: Browser) -> None:
        if browser in self._all:
            self._all.discard(browser)
            await browser.end()


async def _stop(driver: Playwright) -> None:
    """The browsers that it knows end with it."""
    with contextlib.suppress(TimeoutError, PlaywrightError, OSError):
        async with asyncio.timeout(_STOP_SECONDS):
            await driver.stop()
