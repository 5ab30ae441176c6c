"""Watches where a page goes: every hop of its main document is decided before its request goes out, and what the
document came with is kept. Reading the page is not its business."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any, Final, NoReturn

from playwright.async_api import Error as PlaywrightError

from kb_pipeline.core.urls import origin_of, without_fragment
from kb_pipeline.errors import TooManyRedirects
from kb_pipeline.fetch.client import MAX_REDIRECTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from playwright.async_api import CDPSession, Page, Request, Response

USELESS: Final = frozenset({"Media", "Font"})
"""Resource types that hold no text."""
_DOCUMENT: Final = "Document"
_OTHER: Final = "Other"


class Navigation:
    """The main document of one page.

    `check_hop(from, to)` raises where the page may not go; `headers` go to the page's own origin and to no other.
    """

    def __init__(
        self,
        page: Page,
        session: CDPSession,
        check_hop: Callable[[str, str], Awaitable[None]],
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.url = ""
        """Of the document that was last allowed."""
        self.requests = 0
        self.refusal: Exception | None = None
        """Why the page was not let go on."""
        self._refused = asyncio.Event()
        self.is_download = False
        self.answered = asyncio.Event()
        """Set when the site has said anything: the document's headers are here, or it leads on."""
        self.document_broke = ""
        """Chromium's word for what ended the document before its end; empty while nothing did."""
        self.document_ended = asyncio.Event()
        """Set when all of the document that was answered last is here, or no more of it comes."""
        self.document_ended.set()
        self._document: Request | None = None
        self._page = page
        self._session = session
        self._check_hop = check_hop
        self._own_headers = tuple(headers)
        self._origin = ""
        self._hops = 0
        self._main = ""
        self._pending: set[Request] = set()
        self._last_change = time.monotonic()
        self._deciding: set[asyncio.Task[None]] = set()

    async def watch(self, url: str) -> None:
        """Begin, before the page goes to `url`. Raises PlaywrightError."""
        self._origin = origin_of(url)
        tree = await self._session.send("Page.getFrameTree")
        self._main = tree["frameTree"]["frame"]["id"]
        self._page.on("request", self._sent)
        self._page.on("requestfinished", self._done)
        self._page.on("requestfailed", self._broke)
        self._page.on("response", self._came)
        self._page.on("download", self._downloads)
        self._session.on("Fetch.requestPaused", self._paused)
        kinds = ("*",) if self._own_headers else (_DOCUMENT, _OTHER, *sorted(USELESS))
        patterns = [{"urlPattern": "*"} | ({} if kind == "*" else {"resourceType": kind}) for kind in kinds]
        await self._session.send("Fetch.enable", {"patterns": patterns})

    def check(self) -> None:
        """Raise what a hop was refused for, if one was."""
        if self.refusal is not None:
            raise self.refusal

    async def refused_hop(self) -> NoReturn:
        """Wait for a hop to be refused, and raise what for."""
        await self._refused.wait()
        assert self.refusal is not None
        raise self.refusal

    def is_quiet(self, seconds: float) -> bool:
        """Whether no request began, ended or is waited for since so long."""
        return not self._pending and time.monotonic() - self._last_change >= seconds

    def _sent(self, request: Request) -> None:
        self.requests += 1
        if request.resource_type not in {"eventsource", "websocket", "media", "ping"}:
            self._pending.add(request)
        self._last_change = time.monotonic()

    def _broke(self, request: Request) -> None:
        if request is self._document:
            self.document_broke = request.failure or "ERR_FAILED"
        self._done(request)

    def _done(self, request: Request) -> None:
        if request is self._document:
            self.document_ended.set()
        self._pending.discard(request)
        self._last_change = time.monotonic()

    def _came(self, response: Response) -> None:
        with contextlib.suppress(PlaywrightError):
            request = response.request
            if not request.is_navigation_request() or request.frame != self._page.main_frame:
                return
            if not 300 <= response.status < 400 or "location" not in response.headers:  # noqa: PLR2004
                self.status, self.headers = response.status, response.headers
                self._document, self.document_broke = request, ""
                self.document_ended.clear()
                self.answered.set()

    def _downloads(self, _download: object) -> None:
        self.is_download = True

    def _paused(self, event: dict[str, Any]) -> None:
        task = asyncio.ensure_future(self._decide(event))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _decide(self, event: dict[str, Any]) -> None:
        kind, url = event["resourceType"], event["request"]["url"]
        may = kind not in USELESS and not _is_icon(event)
        if kind == _DOCUMENT and event["frameId"] == self._main:
            may = await self._may_go(without_fragment(url))
        with contextlib.suppress(PlaywrightError):  # the page may be gone meanwhile
            if may:
                await self._session.send("Fetch.continueRequest", {"requestId": event["requestId"]} | self._with(event))
            else:
                reason = {"requestId": event["requestId"], "errorReason": "Aborted"}
                await self._session.send("Fetch.failRequest", reason)

    def _with(self, event: dict[str, Any]) -> dict[str, Any]:
        """The page's own headers, for a request to its own origin. They do not outlive the hop they are given to."""
        if not self._own_headers or origin_of(event["request"]["url"]) != self._origin:
            return {}
        own = {name.lower() for name, _ in self._own_headers}
        sent = [(name, value) for name, value in event["request"]["headers"].items() if name.lower() not in own]
        return {"headers": [{"name": name, "value": value} for name, value in (*sent, *self._own_headers)]}

    async def _may_go(self, target: str) -> bool:
        """Whether the main document may be `target`; the refusal is kept for whoever renders the page."""
        if self.refusal is not None:
            return False
        source, first = self.url, not self.url
        try:
            if not first:
                self.answered.set()
                self._count_hop()
                await self._check_hop(source, target)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where the page is rendered
            self.refusal = error
            self._refused.set()
            return False
        self.url = target
        self._last_change = time.monotonic()
        return True

    def _count_hop(self) -> None:
        self._hops += 1
        if self._hops > MAX_REDIRECTS:
            message = f"more than {MAX_REDIRECTS} redirects"
            raise TooManyRedirects(message)

    async def aclose(self) -> None:
        """Decide nothing more."""
        for task in list(self._deciding):
            task.cancel()


def _is_icon(event: dict[str, Any]) -> bool:
    """Whether a request is for the page's icon: what is of no other kind, and takes pictures only."""
    headers: dict[str, str] = event["request"]["headers"]
    accepted = next((value for name, value in headers.items() if name.lower() == "accept"), "")
    return event["resourceType"] == _OTHER and accepted.startswith("image/")
