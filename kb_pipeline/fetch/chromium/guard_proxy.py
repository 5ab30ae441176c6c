"""The only way out for a browser: a forward proxy on loopback that dials through the guard.

Plain requests come in absolute form, TLS and WebSockets as CONNECT (RFC 9110 §9.3.6); each names its page by
Proxy-Authorization, and whoever cannot is turned away. Names are looked up here, once a connection, and the connection
goes to the address that was checked: the browser never resolves one.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
from typing import TYPE_CHECKING, Final

import h11
import httpcore
import structlog

from kb_pipeline.errors import FetchError, GuardRefused
from kb_pipeline.fetch.chromium.few_dials import FewDials
from kb_pipeline.fetch.chromium.proxy_client import PIECE, ProxyClient
from kb_pipeline.fetch.chromium.traffic import MAX_CONNECTIONS, PageTraffic
from kb_pipeline.fetch.transport import translated_errors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kb_pipeline.fetch.guard import Guard, Target

log = structlog.get_logger(__name__)

FAILED: Final = "x-kb-not-reached"
"""Marks an answer that is ours and not the site's; its value is the page's own mark."""

_MOST_CONNECTIONS: Final = 2048
_HOP_BY_HOP: Final = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OPEN: Final = b"HTTP/1.1 200 Connection Established\r\n\r\n"
_ENDED: Final = (OSError, TimeoutError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


class GuardProxy:
    """Serves pages of this run's browsers until it is closed.

    `backend` dials: it resolves, checks, and connects to what was checked (fetch.guard.PinnedBackend). Its limits are
    `connect_seconds` for a connection to come up, and `idle_seconds` for an answer to stay away; a tunnel ends with its
    page.
    """

    def __init__(
        self,
        guard: Guard,
        backend: httpcore.AsyncNetworkBackend,
        *,
        connect_seconds: float,
        idle_seconds: float,
    ) -> None:
        self._guard = guard
        self._backend = backend = FewDials(backend)
        self._connect_seconds = connect_seconds
        self._idle_seconds = idle_seconds
        self._pages: dict[str, PageTraffic] = {}
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=None, max_keepalive_connections=32, keepalive_expiry=5.0, network_backend=backend
        )

    @property
    def address(self) -> str:
        """`http://127.0.0.1:port`."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=PIECE)

    async def aclose(self) -> None:
        """End every connection."""
        if self._server is not None:
            self._server.close()
        for connection in self._serving:
            connection.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._pool.aclose()

    @contextlib.asynccontextmanager
    async def page(self, traffic: PageTraffic) -> AsyncIterator[PageTraffic]:
        """Serve one page for the block."""
        self._pages[traffic.user] = traffic
        try:
            yield traffic
        finally:
            del self._pages[traffic.user]
            traffic.drop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._serving) >= _MOST_CONNECTIONS:
            writer.close()
            return
        self._serving.add(task)
        client = ProxyClient(reader, writer)
        try:
            await self._answer_all(client, task)
        except (*_ENDED, h11.ProtocolError):
            pass  # either side went away, or did not speak HTTP
        except asyncio.CancelledError:
            if client.page is None or not client.page.closed:
                raise
        finally:
            self._serving.discard(task)
            if client.page is not None:
                client.page.connections.discard(task)
            writer.close()

    async def _answer_all(self, client: ProxyClient, task: asyncio.Task[None]) -> None:
        """One request after the other, all of one page, until the connection ends or becomes a tunnel."""
        while (request := await client.next_request()) is not None:
            page = self._page_of(request)
            if page is None:
                await client.answer(407, [("Proxy-Authenticate", 'Basic realm="kb"')])
                continue
            is_full = task not in page.connections and len(page.connections) >= MAX_CONNECTIONS
            if page.closed or is_full or client.page not in {None, page}:
                return
            client.page = page
            page.connections.add(task)
            page.count_request()
            if request.method == b"CONNECT":
                await self._tunnel(client, request, page)
                return
            await self._forward(client, request, page)

    def _page_of(self, request: h11.Request) -> PageTraffic | None:
        """The page whose credentials the request carries (RFC 7617)."""
        given = next((value for name, value in request.headers if name == b"proxy-authorization"), b"")
        scheme, _, encoded = given.partition(b" ")
        if scheme.lower() != b"basic":
            return None
        try:
            user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except ValueError:
            return None
        page = self._pages.get(user)
        return page if page is not None and hmac.compare_digest(page.password.encode(), password.encode()) else None

    async def _tunnel(self, client: ProxyClient, request: h11.Request, page: PageTraffic) -> None:
        """CONNECT: bytes both ways, unread."""
        target = await self._admit(f"https://{request.target.decode('latin-1')}/", client, page)
        if target is None:
            return
        try:
            with translated_errors():
                upstream = await self._backend.connect_tcp(target.host, target.port, self._connect_seconds)
        except FetchError as error:
            page.note_failure(target.host, target.port, error)
            await client.answer(502)
            return
        try:
            client.begin_tunnel()
            await client.write(_OPEN)
            await self._splice(client, upstream, page)
        finally:
            await upstream.aclose()

    async def _splice(self, client: ProxyClient, upstream: httpcore.AsyncNetworkStream, page: PageTraffic) -> None:
        async def up() -> None:
            while piece := await client.read():
                page.count(sent=len(piece))
                await upstream.write(piece, self._idle_seconds)

        async def down() -> None:
            while piece := await upstream.read(PIECE):
                page.count(received=len(piece))
                await client.write(piece)

        both = {asyncio.ensure_future(up()), asyncio.ensure_future(down())}
        try:
            # Either end closing ends the tunnel: neither TLS nor WebSockets go on half-closed.
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        finally:
            for one in both:
                one.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _forward(self, client: ProxyClient, request: h11.Request, page: PageTraffic) -> None:
        """A request in absolute form: sent on, and its answer back."""
        target = await self._admit(request.target.decode("latin-1"), client, page)
        if target is None:
            return
        try:
            with translated_errors():
                response = await self._pool.handle_async_request(self._onward(request, target, client, page))
        except FetchError as error:
            page.note_failure(target.host, target.port, error)
            page.note_lost(target.url)
            await client.answer(502, [(FAILED, page.mark)])
            return
        try:
            await self._give_back(client, response, page)
        finally:
            await response.aclose()

    async def _admit(self, url: str, client: ProxyClient, page: PageTraffic) -> Target | None:
        """The guard's word on an address, as far as it goes without a look-up; a refusal is answered."""
        try:
            return self._guard.check_url(url)
        except GuardRefused as error:
            log.debug("browser.request_refused", why=str(error))
            page.refused += 1
            await client.answer(403, [(FAILED, page.mark)])
            return None

    def _onward(self, request: h11.Request, target: Target, client: ProxyClient, page: PageTraffic) -> httpcore.Request:
        headers = [(name, value) for name, value in request.headers.raw_items() if name.lower() not in _HOP_BY_HOP]
        has_body = any(name in {b"content-length", b"transfer-encoding"} for name, _ in request.headers)
        limits = {"connect": self._connect_seconds, "read": self._idle_seconds, "write": self._idle_seconds}
        return httpcore.Request(
            request.method,
            httpcore.URL(scheme=b"http", host=target.host.encode(), port=target.port, target=target.path.encode()),
            headers=headers,
            content=client.body(page) if has_body else None,
            extensions={"timeout": limits},
        )

    @staticmethod
    async def _give_back(client: ProxyClient, response: httpcore.Response, page: PageTraffic) -> None:
        headers = [(name, value) for name, value in response.headers if name.lower() not in _HOP_BY_HOP]
        await client.send(h11.Response(status_code=response.status, headers=headers))
        async for piece in response.aiter_stream():
            page.count(received=len(piece))
            await client.send(h11.Data(data=piece))
        await client.send(h11.EndOfMessage())
