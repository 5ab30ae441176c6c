"""One chain of redirects over one transport: each hop guarded, in its turn, limited in time and size, decoded by us."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.urls import without_fragment
from kb_pipeline.errors import (
    BodyUndecodable,
    ConnectionBroken,
    FetchError,
    GuardRefused,
    HostnameMismatch,
    ProxyFailed,
    TimedOut,
    TooManyRedirects,
)
from kb_pipeline.fetch.connections import Request
from kb_pipeline.fetch.content_coding import Body
from kb_pipeline.fetch.cookies import ChainCookies
from kb_pipeline.fetch.http1 import request_head
from kb_pipeline.fetch.response import REDIRECTS, ByteLimit, Head, Response, redirect_target, shown
from kb_pipeline.fetch.sent import Sent, same_origin
from kb_pipeline.fetch.transport import translated_errors
from kb_pipeline.fetch.turns import turn_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kb_pipeline.core.fetch_policy import FetchPolicy
    from kb_pipeline.fetch.connections import Answer
    from kb_pipeline.fetch.content_coding import Limit
    from kb_pipeline.fetch.guard import Guard
    from kb_pipeline.fetch.transport import GuardedTransport
    from kb_pipeline.fetch.turns import Turn, Turns

_ERROR_BODY_BYTES: Final = 256 * 1024
"""Read of a body under a 4xx or 5xx: enough to tell a challenge from a plain refusal."""
_PARTIAL: Final = 206
_PIECES_AT_ONCE: Final = 16
_MOST_PATH: Final = 64 * 1024
"""Characters of a path with its query; servers take a tenth of that."""
_DRAINED_BYTES: Final = 16 * 1024
_DRAINED_SECONDS: Final = 1.0
"""A redirect's body within these is read, so that its connection can be used again; the redirect itself is told by its
head, and whatever goes wrong behind it costs nothing but the connection."""
_MISSING: Final = frozenset({404, 410})
"""A page may be removed for them: half of one is no answer."""


@dataclass(frozen=True, slots=True)
class Get:
    """One `HttpClient.get`, as its caller asked for it."""

    url: str
    max_bytes: ByteLimit
    headers: Mapping[str, str] | None
    user_agent: str | None
    policy: FetchPolicy | None
    on_redirect: Callable[[str, str], Awaitable[None]] | None
    max_redirects: int
    truncate: bool
    """A longer body is cut instead of refused."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the settings and the policy make of it. Times are seconds."""

    get: Get
    sent: Sent
    page_seconds: float
    """For all hops together, waits for politeness and for our own queue not counted."""
    read_seconds: float
    connect_seconds: float


@dataclass(slots=True)
class Walk:
    """The state of one chain. `run` once."""

    asked: Asked
    transport: GuardedTransport
    guard: Guard
    turns: Turns | None
    cookies: ChainCookies = field(default_factory=ChainCookies)
    redirects: list[str] = field(default_factory=list)
    seen: set[tuple[str, int]] = field(default_factory=set)
    at_home: bool = True
    """No hop has left the page's own origin yet; once one has, no later one is trusted with its secrets."""
    elapsed: float = 0.0
    wire_bytes: int = 0
    sent: int = 0
    """Requests, as the access logs of the hosts have them."""
    began: bool = False
    """Whether the last hop has begun to send a page."""

    async def run(self) -> Response:
        """Follow the chain to its end. Raises FetchError, which says how many requests were sent, and whether the page
        had begun to come."""
        try:
            return await self._follow()
        except FetchError as error:
            error.requests, error.began = self.sent, self.began
            raise

    async def _follow(self) -> Response:
        start = here = self.guard.check_url(self.asked.get.url).url
        self.seen.add((here, 0))
        while True:
            response = await self._hop(here)
            onward = redirect_target(response)
            if onward is None:
                return response
            self._check_hop(onward)
            onward = self.guard.check_url(onward).url
            if self.asked.get.on_redirect is not None:
                await self.asked.get.on_redirect(here, onward)
            self.redirects.append(onward)
            self.at_home = self.at_home and same_origin(onward, start)
            here = onward

    def _check_hop(self, onward: str) -> None:
        """Refuse an eleventh hop, and an address seen before unless a cookie was set meanwhile."""
        visit = (without_fragment(onward), len(self.cookies))
        if visit in self.seen:
            message = f"the redirects run in a loop at {shown(onward)}"
            raise TooManyRedirects(message)
        if len(self.redirects) >= self.asked.get.max_redirects:
            message = f"more than {self.asked.get.max_redirects} redirects"
            raise TooManyRedirects(message)
        self.seen.add(visit)

    async def _hop(self, url: str) -> Response:
        # The clock starts with the slot: that other hosts are slow is no fault of this one.
        async with turn_at(self.turns, url) as turn, self.transport.slot():
            started = time.monotonic()
            try:
                async with asyncio.timeout(max(0.0, self.asked.page_seconds - self.elapsed)) as clock:
                    return await self._exchange(url, turn, clock)
            except TimeoutError as error:
                message = f"no complete answer within {self.asked.page_seconds:g} s"
                raise TimedOut(message) from error
            except HostnameMismatch as error:
                error.url = url
                raise
            finally:
                self.elapsed += time.monotonic() - started

    async def _exchange(self, url: str, turn: Turn, clock: asyncio.Timeout) -> Response:
        started, self.began = time.monotonic(), False
        answer = await self._answer(self._request(url), turn)
        try:
            turn.answered(answer.status, answer.headers, time.monotonic() - started)
            if "set-cookie" in answer.headers:
                set_cookies = [value for name, value in answer.lines if name == "set-cookie"]
                self.cookies.take(self.guard.check_url(url), set_cookies)
            body = await self._body(Head(url, answer.status, answer.headers), answer, clock)
        finally:
            await answer.aclose()
        return Response(
            url=self.asked.get.url,
            final_url=self.redirects[-1] if self.redirects else url,
            status=answer.status,
            headers=answer.headers,
            body=body.finish(),
            redirects=tuple(self.redirects),
            elapsed=self.elapsed + time.monotonic() - started,
            wire_bytes=self.wire_bytes,
            truncated=body.full,
            header_list=answer.lines,
            requests=self.sent,
        )

    async def _answer(self, request: Request, turn: Turn) -> Answer:
        self.sent += 1
        try:
            return await self.transport.send(request)
        except (GuardRefused, ProxyFailed):
            self.sent -= 1
            raise  # Nobody asked the host: it shows no strain.
        except BaseException:
            turn.failed()
            raise
        finally:
            self.sent += request.resent

    def _request(self, url: str) -> Request:
        target = self.guard.check_url(url)
        if len(target.path) > _MOST_PATH:
            message = f"the address cannot be requested: it has {len(target.path):,} characters"
            raise GuardRefused(message)
        headers = {"Host": target.authority} | self.asked.sent.on_hop(at_home=self.at_home)
        cookies = self.cookies.header(target, self.asked.sent.own_cookies if self.at_home else ())
        if cookies:
            headers["Cookie"] = cookies
        with translated_errors():
            # The path as the site published it.
            octets = request_head(target.path, headers.items())
        return Request(target, octets, self.asked.connect_seconds, self.asked.read_seconds)

    async def _body(self, head: Head, answer: Answer, clock: asyncio.Timeout) -> Body:
        if head.status in REDIRECTS and "location" in head.headers:
            return await _drain(answer)
        is_error = head.status >= 400  # noqa: PLR2004 - the status is the answer; its body only adds to it
        if is_error and head.status not in _MISSING:
            return await self._body_of_refusal(head, answer, clock)
        self.began = True
        if head.status == _PARTIAL:
            message = "the site sent a part of the page, and was not asked for one (206)"
            raise ConnectionBroken(message)
        limit = _ERROR_BODY_BYTES if is_error else _limit_for(self.asked.get.max_bytes, head)
        body = Body(head.headers.get("content-encoding"), limit, cut=self.asked.get.truncate or is_error)
        await self._read(answer, body)
        return body

    async def _body_of_refusal(self, head: Head, answer: Answer, clock: asyncio.Timeout) -> Body:
        """As much as comes: shields break off and stall, and the refusal, with its Retry-After, stands all the same."""
        try:
            body = Body(head.headers.get("content-encoding"), _ERROR_BODY_BYTES, cut=True)
        except BodyUndecodable:
            return Body(None, 0, cut=True)
        ends = clock.when()
        clock.reschedule(None)  # From here on the page's time ends the body, and not the page.
        with contextlib.suppress(ConnectionBroken, TimedOut, TimeoutError):
            async with asyncio.timeout_at(ends):
                await self._read(answer, body)
        return body

    async def _read(self, answer: Answer, body: Body) -> None:
        pieces = 0
        with translated_errors():
            while not body.full and (piece := await answer.read()):
                self.wire_bytes += len(piece)
                body.feed(piece)
                pieces += 1
                if pieces % _PIECES_AT_ONCE == 0:
                    # Chunks of one octet come by the ten thousand in what one read brings: the clock must get its turn.
                    await asyncio.sleep(0)


async def _drain(answer: Answer) -> Body:
    with contextlib.suppress(FetchError, TimeoutError), translated_errors():
        async with asyncio.timeout(_DRAINED_SECONDS):
            await answer.drain(_DRAINED_BYTES)
    return Body(None, 0, cut=True)


def _limit_for(max_bytes: ByteLimit, head: Head) -> Limit:
    return max_bytes if isinstance(max_bytes, int) else partial(max_bytes, head)
