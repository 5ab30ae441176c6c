"""The service that other programs call, from any thread and any event loop."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from kb_pipeline.errors import InvalidAddress

if TYPE_CHECKING:
    from kb_pipeline.fetch.tiers import TiersFor
    from kb_pipeline.settings import Settings
    from kb_pipeline.web_scraper.background import Background
    from kb_pipeline.web_scraper.content import ScrapedContent
    from kb_pipeline.web_scraper.scraper import Scraper

_CLOSED: Final = "the web scraper service is closed"


class WebScraperService:
    """Scrapes pages with the chain, the guard, robots.txt and the politeness that a refresh has, and needs neither
    PostgreSQL nor Dagster.

    Safe to share: one event loop in a thread of its own does the work, begun by the first call. What is learnt of hosts
    (gaps, Retry-After, robots.txt), the pages won within the last five minutes and the count of paid calls are the
    service's own, so that a program wants one of them (`get_web_scraper_service`). Close it, or use it as a context
    manager, sync or async; what is open when the process ends is closed then.
    """

    def __init__(
        self, settings: Settings | None = None, *, tiers_for: TiersFor | None = None, ignore_noindex: bool = False
    ) -> None:
        """`settings`: those of the environment unless given. `tiers_for`: other tiers than those of KB_TIERS.
        `ignore_noindex`: read pages that ask not to be indexed, for what is not an index. Raises ConfigError."""
        if settings is None:
            from kb_pipeline.settings import load_settings  # noqa: PLC0415 - importing us is quick

            settings = load_settings()
        self._settings = settings
        self._tiers_for = tiers_for
        self._ignore_noindex = ignore_noindex
        self._lock = threading.Lock()
        self._background: Background[Scraper] | None = None
        self._process = os.getpid()
        self._closed = False
        _services.add(self)

    def scrape_url(self, url: str, *, timeout: float | None = None) -> ScrapedContent:
        """The page at `url`, or why there is none. Blocks; works in any thread, also in one whose event loop runs.

        What a site does, or fails to do, is in the result. `timeout` (seconds, waiting for the host's turn included)
        ends as a result as well. Raises InvalidAddress for what is no absolute http(s) URL, ConfigError for settings
        that are wrong, RuntimeError when the service is closed.
        """
        future = self._start(url, timeout)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise RuntimeError(_CLOSED) from None
        finally:
            future.cancel()  # an interrupt of the caller; nothing once there is a result

    async def scrape_url_async(self, url: str, *, timeout: float | None = None) -> ScrapedContent:  # noqa: ASYNC109
        """`scrape_url` for a coroutine, on any event loop. Cancelling it stops the scrape."""
        _check(url)
        if self._background is None:
            await asyncio.to_thread(self._opened)
        future = self._start(url, timeout)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if self._closed:
                raise RuntimeError(_CLOSED) from None
            raise

    def close(self) -> None:
        """Stop what is under way, and close connections and browsers. Repeatable."""
        with self._lock:
            self._closed = True
            background, self._background = self._background, None
        _services.discard(self)
        if background is not None and self._process == os.getpid():
            background.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _start(self, url: str, timeout: float | None) -> concurrent.futures.Future[ScrapedContent]:
        _check(url)
        return self._opened().submit(lambda scraper: scraper.scrape(url, timeout))

    def _opened(self) -> Background[Scraper]:
        with self._lock:
            if self._closed:
                raise RuntimeError(_CLOSED)
            if self._process != os.getpid():
                # A child of fork has its parent's objects and none of its threads: what is the parent's is neither
                # used here nor closed.
                _of_parents.append(self._background)
                self._background, self._process = None, os.getpid()
            if self._background is None:
                self._background = _open(self._settings, self._tiers_for, ignore_noindex=self._ignore_noindex)
                # One that nobody holds any more ends its thread. At the end of the process it is closed, below.
                weakref.finalize(self, self._background.stop).atexit = False
            return self._background

    def _after_fork(self) -> None:
        self._lock = threading.Lock()


def _open(settings: Settings, tiers_for: TiersFor | None, **options: Any) -> Background[Scraper]:
    from kb_pipeline.logs import leave_logs_to_logging  # noqa: PLC0415 - importing us is quick
    from kb_pipeline.web_scraper.background import Background  # noqa: PLC0415
    from kb_pipeline.web_scraper.scraper import Scraper  # noqa: PLC0415

    leave_logs_to_logging()
    return Background(partial(Scraper.open, settings, tiers_for=tiers_for, **options), "web-scraper")


def _check(url: str) -> None:
    """Raise InvalidAddress for what cannot be a page's address, whoever might be asked."""
    from kb_pipeline.core.urls import host_of, is_http, resolve  # noqa: PLC0415 - importing us is quick

    address = resolve(None, url)
    if address is None or not is_http(address) or not host_of(address):
        message = f"{url[:200]!r} is no address of a page: it takes a whole one, https://example.org/page"
        raise InvalidAddress(message)


_services: weakref.WeakSet[WebScraperService] = weakref.WeakSet()
_of_parents: Final[list[object]] = []
_of_process: WebScraperService | None = None
_lock = threading.Lock()


def get_web_scraper_service() -> WebScraperService:
    """The service of this process, with the settings of its environment when first asked for. Raises ConfigError."""
    global _of_process  # noqa: PLW0603 - the one of the process
    with _lock:
        if _of_process is None or _of_process.closed:
            _of_process = WebScraperService()
        return _of_process


def _close_all() -> None:
    for service in list(_services):
        service.close()


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have held it when the process was copied
    _lock = threading.Lock()
    for service in list(_services):
        service._after_fork()  # noqa: SLF001 - this module's own


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
