"""One GET with its redirects: guarded, limited in time and size, decoded by us. Knows nothing of pages, robots.txt
or politeness beyond the hooks it offers for them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final, Protocol, Self

import httpx

from kb_pipeline.core.urls import without_fragment
from kb_pipeline.errors import ConnectionBroken, GuardRefused, TimedOut, TooManyRedirects
from kb_pipeline.fetch.content_coding import ACCEPT_ENCODING, Body
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.response import REDIRECTS, ByteLimit, Head, Response, read_head, redirect_target
from kb_pipeline.fetch.transport import GuardedTransport, wire_headers

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from types import TracebackType

    from kb_pipeline.fetch.content_coding import Limit
    from kb_pipeline.settings import Settings

__all__ = ["ByteLimit", "Head", "HttpClient", "Response", "Turn", "Turns"]

MAX_REDIRECTS: Final = 10
_ERROR_BODY_BYTES: Final = 256 * 1024
"""Read of a body under a 4xx or 5xx: enough to tell a challenge from a plain refusal."""
_DRAINED_BYTES: Final = 16 * 1024
"""A redirect's body up to this size is read, so that its connection can be used again."""


class Turn(Protocol):
    """One request's turn at a host, as politeness sees it."""

    def answered(self, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Tell how the host did: status, and seconds until the headers came."""
        ...

    def failed(self) -> None:
        """Tell that no answer came."""
        ...


class Turns(Protocol):
    """Decides when a request may start (fetch.politeness)."""

    def turn(self, url: str) -> AbstractAsyncContextManager[Turn]:
        """Wait until this address may be asked; the request is made inside the block."""
        ...


@dataclass(slots=True)
class _Chain:
    """State of one `get`."""

    url: str
    seconds_left: float
    cookies: httpx.Cookies = field(default_factory=httpx.Cookies)
    redirects: list[str] = field(default_factory=list)
    seen: set[tuple[str, int]] = field(default_factory=set)
    elapsed: float = 0.0
    wire_bytes: int = 0


class HttpClient:
    """GETs addresses that came from a site. Close it, or use it as an async context manager.

    Cookies live for one chain of redirects and no longer. `turns` makes every request, each hop of a redirect
    too, wait for its turn; without it nothing waits.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        guard: Guard | None = None,
        turns: Turns | None = None,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self.guard = guard or Guard(settings.allow_private)
        self._settings = settings
        self._turns = turns
        self._transport = GuardedTransport(
            self.guard,
            ssl_context=ssl_context or httpx.create_ssl_context(),
            connections=max(64, settings.host_connections),
        )
        no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._http = httpx.AsyncClient(transport=self._transport, cookies=no_cookies, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def get(
        self,
        url: str,
        *,
        max_bytes: ByteLimit,
        headers: Mapping[str, str] | None = None,
        user_agent: str | None = None,
        on_redirect: Callable[[str, str], Awaitable[None]] | None = None,
        max_redirects: int = MAX_REDIRECTS,
        truncate: bool = False,
    ) -> Response:
        """GET `url` and follow its redirects.

        `max_bytes` bounds the decoded body; with `truncate` a longer body is cut there instead of refused.
        `on_redirect(from, to)` is awaited before each hop and may raise to end the chain. Without a
        `user_agent` the browser's name is given. Raises FetchError.
        """
        chain = _Chain(url, self._settings.page_timeout_seconds)
        sent = self._headers(headers, user_agent)
        here = self.guard.check_url(url).url
        chain.seen.add((here, 0))
        while True:
            response = await self._hop(chain, here, sent, max_bytes, truncate=truncate)
            onward = redirect_target(response)
            if onward is None:
                return response
            self._check_hop(chain, onward, max_redirects)
            onward = self.guard.check_url(onward).url
            if on_redirect is not None:
                await on_redirect(here, onward)
            chain.redirects.append(onward)
            here = onward

    def _headers(self, headers: Mapping[str, str] | None, user_agent: str | None) -> dict[str, str]:
        return {
            "User-Agent": user_agent or self._settings.browser_user_agent,
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en-US,en;q=0.9,*;q=0.5",
            "Accept-Encoding": ACCEPT_ENCODING,
        } | dict(headers or {})

    @staticmethod
    def _check_hop(chain: _Chain, onward: str, max_redirects: int) -> None:
        """Refuse an eleventh hop, and an address seen before unless a cookie was set meanwhile."""
        visit = (without_fragment(onward), len(chain.cookies.jar))
        if visit in chain.seen:
            message = f"the redirects run in a loop at {onward}"
            raise TooManyRedirects(message)
        if len(chain.redirects) >= max_redirects:
            message = f"more than {max_redirects} redirects"
            raise TooManyRedirects(message)
        chain.seen.add(visit)

    async def _hop(
        self, chain: _Chain, url: str, headers: Mapping[str, str], max_bytes: ByteLimit, *, truncate: bool
    ) -> Response:
        async with self._turn(url) as turn:
            started = time.monotonic()
            try:
                async with asyncio.timeout(chain.seconds_left):
                    return await self._exchange(chain, url, headers, max_bytes, turn, truncate=truncate)
            except TimeoutError as error:
                message = f"no complete answer within {self._settings.page_timeout_seconds:g} s"
                raise TimedOut(message) from error
            finally:
                spent = time.monotonic() - started
                chain.elapsed += spent
                chain.seconds_left = max(0.0, chain.seconds_left - spent)

    @contextlib.asynccontextmanager
    async def _turn(self, url: str) -> AsyncIterator[Turn]:
        if self._turns is None:
            yield _NoTurn()
            return
        async with self._turns.turn(url) as turn:
            yield turn

    async def _exchange(
        self, chain: _Chain, url: str, headers: Mapping[str, str], max_bytes: ByteLimit, turn: Turn, *, truncate: bool
    ) -> Response:
        started = time.monotonic()
        answered = False
        request = self._request(url, headers, chain.cookies)
        try:
            # Past httpx's own client, which reads a Location even of redirects that it does not follow, and raises
            # for those that lead nowhere.
            response = await self._transport.handle_async_request(request)
            response.request = request
            answered = True
        finally:
            if not answered:
                turn.failed()
        try:
            head, lines = read_head(url, response)
            turn.answered(head.status, head.headers, time.monotonic() - started)
            if "set-cookie" in head.headers:
                chain.cookies.extract_cookies(response)
            body = await self._body(head, response, max_bytes, chain, truncate=truncate)
        finally:
            await response.aclose()
        final = chain.redirects[-1] if chain.redirects else url
        return Response(
            url=chain.url,
            final_url=final,
            status=head.status,
            headers=head.headers,
            body=body.finish(),
            redirects=tuple(chain.redirects),
            elapsed=chain.elapsed + time.monotonic() - started,
            wire_bytes=chain.wire_bytes,
            truncated=body.full,
            header_list=lines,
        )

    def _request(self, url: str, headers: Mapping[str, str], cookies: httpx.Cookies) -> httpx.Request:
        target = self.guard.check_url(url)
        settings = self._settings
        timeout = httpx.Timeout(settings.read_timeout_seconds, connect=settings.connect_timeout_seconds)
        try:
            request = self._http.build_request("GET", target.url, headers=wire_headers(headers), timeout=timeout)
        except httpx.InvalidURL as error:
            message = f"the address cannot be requested ({error})"
            raise GuardRefused(message) from error
        # The path as the site published it: httpx would escape some characters that browsers send as they are.
        request.extensions["target"] = target.path.encode()
        cookies.set_cookie_header(request)
        return request

    async def _body(
        self, head: Head, response: httpx.Response, max_bytes: ByteLimit, chain: _Chain, *, truncate: bool
    ) -> Body:
        if head.status in REDIRECTS and "location" in head.headers:
            return await self._drain(response)
        refused = head.status >= 400  # noqa: PLR2004 - the status is the answer; its body only adds to it
        limit = _ERROR_BODY_BYTES if refused else _limit_for(max_bytes, head)
        body = Body(head.headers.get("content-encoding"), limit, cut=truncate or refused)
        async for piece in response.aiter_raw():
            chain.wire_bytes += len(piece)
            body.feed(piece)
            if body.full:
                break
        return body

    @staticmethod
    async def _drain(response: httpx.Response) -> Body:
        body = Body(None, 0, cut=True)
        with contextlib.suppress(ConnectionBroken, ValueError):
            if 0 < int(response.headers.get("content-length", "0")) <= _DRAINED_BYTES:
                async for _piece in response.aiter_raw():
                    pass
        return body


class _NoTurn:
    def answered(self, status: int, headers: Mapping[str, str], seconds: float) -> None:
        """Nobody listens."""

    def failed(self) -> None:
        """Nobody listens."""


def _limit_for(max_bytes: ByteLimit, head: Head) -> Limit:
    return max_bytes if isinstance(max_bytes, int) else partial(max_bytes, head)
