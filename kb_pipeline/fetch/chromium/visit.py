"""One page, opened: the way there, and every way in which it can fail on it."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.core.urls import is_http, without_fragment
from kb_pipeline.errors import ConnectionBroken, FetchError, NotADocument, TimedOut
from kb_pipeline.fetch.chromium.guard_proxy import FAILED
from kb_pipeline.fetch.chromium.net_errors import from_net_error, net_code
from kb_pipeline.fetch.chromium.waiting import Patience, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from playwright.async_api import Page

    from kb_pipeline.fetch.answers import PageRequest
    from kb_pipeline.fetch.chromium.navigation import Navigation
    from kb_pipeline.fetch.chromium.traffic import PageTraffic
    from kb_pipeline.fetch.guard import Guard
    from kb_pipeline.fetch.turns import Turn

_LEADS_ON: Final = 302
_LAST_BYTES_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 0.5
_LONGEST_ADDRESS: Final = 8_192
_NO_DOCUMENT: Final = ("image/", "video/", "audio/", "application/pdf")
_WITHOUT_BODY: Final = frozenset({204, 205, 304})
_NO_BODY: Final = frozenset({"ERR_HTTP_RESPONSE_CODE_FAILURE", "ERR_EMPTY_RESPONSE"})


@dataclass(slots=True)
class Visit:
    """A page on its way."""

    page: Page
    request: PageRequest
    navigation: Navigation
    traffic: PageTraffic
    guard: Guard
    check_hop: Callable[[str, str], Awaitable[None]]
    patience: Patience
    lacking: list[str] = field(default_factory=list)
    is_empty: bool = False
    """The site answered with a status and no document."""

    async def open(self, turn: Turn, end_turn: Callable[[], Awaitable[None]]) -> None:
        """Go there and wait until the page can be read. `end_turn` is called when the site has answered: what follows
        is no business of other requests to the host. Raises FetchError."""
        started = time.monotonic()
        going = asyncio.ensure_future(self._go())
        answered = asyncio.ensure_future(self.navigation.answered.wait())
        try:
            try:
                await asyncio.wait({going, answered}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._tell(turn, time.monotonic() - started)
            await end_turn()
            await going
        finally:
            going.cancel()
            answered.cancel()
            await asyncio.gather(going, answered, return_exceptions=True)
        self._check_document()
        if not self.is_empty:
            self.lacking += await self._ready()
            await self._check_whole()

    async def _ready(self) -> list[str]:
        """Wait until the page can be read. One whose document broke off never can, unless it is on its way to another:
        two looks tell."""
        waiting = asyncio.ensure_future(
            wait_until_ready(self.page, self.navigation, self.request.policy, self.patience)
        )
        broken_before = False
        try:
            while not waiting.done():
                await asyncio.wait({waiting}, timeout=_LOOK_SECONDS)
                broken = bool(self.navigation.document_broke)
                if broken and broken_before:
                    await self._check_whole()
                broken_before = broken
            return await waiting
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    def _tell(self, turn: Turn, seconds: float) -> None:
        if self.navigation.answered.is_set() and not self._is_of_proxy():
            turn.answered(self.navigation.status or _LEADS_ON, self.navigation.headers, seconds)
        else:
            turn.failed()

    async def _go(self) -> None:
        try:
            await self.page.goto(self.request.url, wait_until="commit", timeout=max(1.0, self.patience.left * 1000))
        except PlaywrightError as error:
            self.navigation.check()
            if self.navigation.is_download or "Download is starting" in str(error):
                message = "this is a download, no page"
                raise NotADocument(message) from error
            if self._came_without_body(net_code(error)):
                self.is_empty = True
                return
            raise self._failure(error) from error

    def _came_without_body(self, code: str) -> bool:
        status = self.navigation.status
        return (code == "ERR_ABORTED" and status in _WITHOUT_BODY) or (code in _NO_BODY and status >= 400)  # noqa: PLR2004

    def _failure(self, error: Exception) -> FetchError:
        """Why the site was not reached: in the proxy's words, who knows it better, else in Chromium's."""
        if "Timeout" in type(error).__name__:
            return TimedOut("the site did not answer in time")
        return self._not_reached() or from_net_error(error)

    def _not_reached(self) -> FetchError | None:
        try:
            target = self.guard.check_url(self.navigation.url or self.request.url)
        except FetchError as error:
            return error
        return self.traffic.failures.get((target.host, target.port))

    def _is_of_proxy(self) -> bool:
        """Whether the answer is the proxy's, in the place of a site that was not reached."""
        return self.navigation.headers.get(FAILED) == self.traffic.mark

    def _check_document(self) -> None:
        """Raise unless what came is the site's, and a document as far as its head says."""
        if self._is_of_proxy():
            raise self._not_reached() or ConnectionBroken("the site was not reached")
        declared = self.navigation.headers.get("content-type", "").partition(";")[0].strip().lower()
        if declared.startswith(_NO_DOCUMENT):
            message = f"this is {declared}, no page"
            raise NotADocument(message)

    async def check_end(self) -> str:
        """The address that the page has in the end; raises when it may not be that."""
        self.navigation.check()
        self._check_document()
        await self._check_whole()
        here = without_fragment(self.page.url)
        if here.startswith("chrome-error:"):
            raise self._not_reached() or ConnectionBroken("the page led to one that did not come")
        if here not in {self.navigation.url, without_fragment(self.request.url)} or not is_http(here):
            await self.check_hop(self.navigation.url, here)
        return here if len(here) <= _LONGEST_ADDRESS else self.navigation.url

    async def _check_whole(self) -> None:
        """Raise for a document that broke off, or has not come to its end: Chromium shows the half that came as if it
        were the page."""
        if self.is_empty:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(max(_LAST_BYTES_SECONDS, self.patience.left)):
                await self.navigation.document_ended.wait()
        if not self.navigation.document_ended.is_set():
            raise _begun(TimedOut("the site stopped sending"))
        if self.navigation.document_broke:
            message = f"the connection to the site broke in the middle of the page ({self.navigation.document_broke})"
            raise _begun(ConnectionBroken(message))

    def degraded(self) -> str:
        """What could not be had, in words."""
        lacking = list(self.lacking)
        if self.traffic.refused:
            lacking.append(f"requests to addresses that are not public were refused: {self.traffic.refused}")
        if self.traffic.exhausted:
            lacking.append(f"loading was stopped: {self.traffic.exhausted}")
        return "; ".join(lacking)


def _begun(error: FetchError) -> FetchError:
    error.began = True
    return error
