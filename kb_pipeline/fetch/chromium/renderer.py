"""Renders pages with a Chromium of this machine: fetch.rendering's protocol, over a pool of browsers and a proxy that
is their only way out."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.core.urls import without_fragment
from kb_pipeline.errors import TierUnavailable
from kb_pipeline.fetch.answers import NOT_ASKED
from kb_pipeline.fetch.chromium.finding import chromium_path, why_unavailable
from kb_pipeline.fetch.chromium.guard_proxy import GuardProxy
from kb_pipeline.fetch.chromium.job_clock import JobClock
from kb_pipeline.fetch.hops import refuse_known_redirect
from kb_pipeline.fetch.turns import turn_at

if TYPE_CHECKING:
    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.chromium.page_job import Read, Surroundings
    from kb_pipeline.fetch.chromium.pool import BrowserPool
    from kb_pipeline.fetch.guard import PinnedBackend
    from kb_pipeline.fetch.rendering import Rendered
    from kb_pipeline.fetch.tiers import Workshop

log = structlog.get_logger(__name__)

_TRIES: Final = 2


class ChromiumRenderer:
    """Implements fetch.rendering.Renderer. Close it; nothing is started before the first page.

    Of the workshop it uses the client's guard and dialler, `on_redirect` for where a page may lead, and `turns` for
    when it may be asked for.
    """

    def __init__(self, workshop: Workshop) -> None:
        settings = workshop.settings
        self._guard = workshop.client.guard
        self._settings = settings
        self._on_redirect = workshop.on_redirect
        self._turns = workshop.turns
        self._proxy = _guard_proxy(workshop, workshop.client.backend)
        second = workshop.client.second_backend
        self._second = None if second is None else _guard_proxy(workshop, second)
        """The way by the operator's proxy, where that is taken only after trouble on the direct one."""
        self._pool: BrowserPool | None = None
        self._opening = asyncio.Lock()

    async def content(self, request: PageRequest) -> Rendered:
        """The rendered HTML, frames within. Raises FetchError."""
        await self._opened()
        from kb_pipeline.fetch.chromium.reading import read_html  # noqa: PLC0415 - needs the extra `browser`

        return await self._render(request, partial(read_html, max_bytes=self._settings.max_html_bytes))

    async def screenshot(self, request: PageRequest) -> Rendered:
        """The whole page as a PNG, or a JPEG when that would be too large. Raises FetchError."""
        await self._opened()
        from kb_pipeline.fetch.chromium.reading import take_picture  # noqa: PLC0415 - as above

        return await self._render(request, lambda visit, _: take_picture(visit))

    async def aclose(self) -> None:
        """End every browser and its connections."""
        if self._pool is not None:
            await self._pool.aclose()
        await self._proxy.aclose()
        if self._second is not None:
            await self._second.aclose()

    async def _render(self, request: PageRequest, read: Read) -> Rendered:
        from kb_pipeline.fetch.chromium.alarms import BrowserLost  # noqa: PLC0415 - as above

        self._guard.check_url(request.url)
        pool = await self._opened()
        clock = JobClock(self._settings.render_timeout_seconds)
        for attempt in range(_TRIES):
            try:
                return await self._in_turn(pool, request, read, clock)
            except BrowserLost:
                log.info("browser.lost", url=request.url, attempt=attempt + 1)
        message = f"the browser ended under the page, {_TRIES} times"
        raise TierUnavailable(message)

    async def _opened(self) -> BrowserPool:
        async with self._opening:
            if self._pool is None:
                why = why_unavailable(self._settings)
                chromium = chromium_path(self._settings)
                if why is not None or chromium is None:
                    raise TierUnavailable(why or "there is no Chromium")
                from kb_pipeline.fetch.chromium.pool import BrowserPool  # noqa: PLC0415 - as above

                await self._proxy.start()
                if self._second is not None:
                    await self._second.start()
                self._pool = BrowserPool(self._settings, chromium, self._proxy.address)
            return self._pool

    async def _in_turn(self, pool: BrowserPool, request: PageRequest, read: Read, clock: JobClock) -> Rendered:
        """The turn comes first: a page whose host is on hold would keep a browser from the pages of others. One that
        gets no browser lets others of its host pass, and takes another turn."""
        from kb_pipeline.fetch.chromium.page_job import Turning, render_page  # noqa: PLC0415 - as above

        async with contextlib.AsyncExitStack() as turn_taken, contextlib.AsyncExitStack() as borrowed:
            while True:
                turn = await turn_taken.enter_async_context(turn_at(self._turns, request.url))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._settings.render_timeout_seconds):
                        browser_of_place = await borrowed.enter_async_context(pool.place())
                        break
                await turn_taken.aclose()
            async with clock.starts_browser():
                browser = await browser_of_place()
            async with clock.renders():
                turning = Turning(turn, turn_taken.aclose)
                return await render_page(browser, request, read, self._surroundings(request, clock.left), turning)

    def _surroundings(self, request: PageRequest, seconds: float) -> Surroundings:
        from kb_pipeline.fetch.chromium.page_job import Surroundings  # noqa: PLC0415 - as above

        check_hop = partial(self._check_hop, request)
        return Surroundings(self._way_of(request), self._guard, self._settings, check_hop, seconds)

    def _way_of(self, request: PageRequest) -> GuardProxy:
        """As the first answer came; by the operator's proxy where none came at all."""
        answered = request.answered
        had_trouble = not NOT_ASKED.issuperset(request.before) if answered is None else answered.by_proxy
        return self._second if self._second is not None and had_trouble else self._proxy

    async def _check_hop(self, request: PageRequest, source: str, target: str) -> None:
        """Raise FetchError unless the page may lead there."""
        self._guard.check_url(target)
        refuse_known_redirect(request, target)
        if self._on_redirect is not None and without_fragment(source) != target:
            await self._on_redirect(source, target)


def _guard_proxy(workshop: Workshop, backend: PinnedBackend) -> GuardProxy:
    settings = workshop.settings
    return GuardProxy(
        workshop.client.guard,
        backend,
        connect_seconds=settings.connect_timeout_seconds,
        idle_seconds=settings.read_timeout_seconds,
    )
