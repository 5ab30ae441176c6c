"""Thin adapters from the public conformance runners' signatures to this project's functions."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from kb_pipeline.core import bodies, charsets, urls
from kb_pipeline.core.extract import extract_html
from kb_pipeline.core.links import harvest
from kb_pipeline.core.page_state import classify
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.core.robots import Robots
from kb_pipeline.core.scope import Scope, TrapWatch
from kb_pipeline.core.sitemaps import may_list, parse_sitemap
from kb_pipeline.errors import (
    CertificateInvalid,
    ConnectFailed,
    ConnectionBroken,
    NameNotResolved,
    NothingDiscovered,
    PdfUnreadable,
    TimedOut,
)
from kb_pipeline.fetch.addresses import parse_address, why_not_public
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline.fetch.robots_gate import RobotsGate
from kb_pipeline.fetch.transport import GuardedTransport
from kb_pipeline.model import PageSource, Site, SiteOptions, SiteState, SourceType
from kb_pipeline.settings import Settings
from kb_pipeline.stages.listing import SiteReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.core.robots import RobotsAccess
    from kb_pipeline.fetch.client import Response
    from kb_pipeline.fetch.connections import Request
    from kb_pipeline.stages.listing import Listing


SITE: Final = "https://www.example.com/"
BOT: Final = "KbBot"
SETTINGS: Final = Settings()
TRUST: Final = httpx.create_ssl_context()
NETWORK_ERRORS: Final = {
    "dns": NameNotResolved("no such name"),
    "connect": ConnectFailed("refused"),
    "tls": CertificateInvalid("expired"),
    "timeout": TimedOut("no answer"),
    "reset": ConnectionBroken("reset"),
    "truncated": ConnectionBroken("cut short"),
}


def url_canonical(url: str) -> str | None:
    return urls.canonical(url) if urls.resolve(None, url) is not None else None


def url_normal(url: str) -> str:
    return urls.normalize(url)


def url_resolve(ref: str, base: str | None) -> str | None:
    return urls.resolve(base, ref)


def robots_access(body: bytes, user_agent: str, url: str) -> bool:
    return Robots.parse(body).allows(user_agent, url)


def robots_sitemaps(body: bytes, _robots_url: str) -> list[str]:
    return list(Robots.parse(body).sitemap_lines)


def robots_crawl_delay(body: bytes, user_agent: str) -> float | None:
    return Robots.parse(body).crawl_delay(user_agent)


def robots_status(responses: list[dict[str, Any]]) -> str:
    remaining = iter(responses)
    last = responses[-1]

    def answer(_url: str) -> ScriptedAnswer:
        response = next(remaining, last)
        if "error" in response:
            raise NETWORK_ERRORS[response["error"]]
        headers = {"location": response["location"]} if "location" in response else {}
        return ScriptedAnswer(response["status"], headers, response.get("body", "").encode())

    async def access() -> RobotsAccess:
        async with ScriptedClient(answer) as client:
            return await RobotsGate(client, HeldCopy(), token=BOT, user_agent=BOT).access(SITE)

    return asyncio.run(access()).value


def ssrf_ip(ip: str) -> bool:
    return why_not_public(parse_address(ip)) is not None


def ssrf_url(url: str, resolve: Callable[[str], list[str]]) -> bool:
    asyncio.run(_guard(resolve).admit(url))
    return False


def ssrf_redirect(current_url: str, location: str, resolve: Callable[[str], list[str]]) -> bool:
    onward = urls.resolve(current_url, location)
    return onward is None or ssrf_url(onward, resolve)


def ssrf_rebind(url: str, resolve: Callable[[str], list[str]]) -> list[str]:
    """The addresses that are really dialled."""
    dialled: list[str] = []

    class Recorder(httpcore.AsyncMockBackend):
        async def connect_tcp(self, host: str, *_args: object, **_options: object) -> httpcore.AsyncNetworkStream:
            dialled.append(host)
            raise httpcore.ConnectError

    async def dial() -> None:
        guard = _guard(resolve)
        target = guard.check_url(url)
        with contextlib.suppress(httpcore.ConnectError):
            await PinnedBackend(guard, Recorder([])).connect_tcp(target.host, target.port)

    asyncio.run(dial())
    return dialled


def _guard(resolve: Callable[[str], list[str]]) -> Guard:
    async def resolver(host: str, _port: int) -> list[str]:
        return resolve(host)

    return Guard(resolver=resolver)


def body_encoded(data: bytes, headers: dict[str, str], limit: int) -> bytes:
    async def get() -> Response:
        async with ScriptedClient(lambda _url: ScriptedAnswer(200, headers, data)) as client:
            return await client.get(SITE, max_bytes=limit)

    return asyncio.run(get()).body


def body_http(url: str) -> tuple[bool, bytes]:
    async def get() -> Response:
        settings = Settings(allow_private=("127.0.0.1",), read_timeout_seconds=2)
        async with HttpClient(settings) as client:
            return await client.get(url, max_bytes=1 << 20)

    return True, asyncio.run(get()).body


def sitemap_parse(body: bytes, url: str, content_type: str | None) -> dict[str, object]:
    sitemap = parse_sitemap(body, url, content_type)
    return {
        "urls": [entry.url for entry in sitemap.pages],
        "sitemaps": list(sitemap.sitemaps),
        "lastmod": {entry.url: entry.lastmod for entry in sitemap.pages},
    }


def sitemap_location(sitemap_url: str, loc: str) -> bool:
    return may_list(sitemap_url, loc)


def url_links(html: str, url: str) -> list[str]:
    return list(harvest(html, url).pages)


def url_trap(addresses: list[str]) -> bool:
    scope, watch = Scope(addresses[0], SiteOptions()), TrapWatch()
    return any(scope.why_not(address) or watch.why_not(address) for address in addresses)


def extract_markdown(html: str | bytes, url: str) -> str:
    """Of bytes as they came without a declared type; of text that was decoded already."""
    return extract_html(bodies.decode_html(html, "") if isinstance(html, bytes) else html, url).markdown


def page_state(http_status: int, headers: dict[str, str], html: str, url: str) -> str:
    return classify(http_status, headers, html, url).value


def body_label(label: str) -> str | None:
    return charsets.encoding_of_label(label)


def body_sniff(body: bytes, content_type: str) -> str:
    return charsets.sniff_encoding(body, content_type)


def body_decode(body: bytes, content_type: str) -> str:
    return bodies.decode_html(body, content_type)


def body_type(content_type: str | None, body: bytes, url: str) -> str:
    return bodies.kind_of(content_type, body, url).value


def body_pdf(data: bytes) -> dict[str, object]:
    try:
        document = read_pdf(data)
    except PdfUnreadable as error:
        return {"state": error.problem.value, "pages": None, "text": str(error)}
    text = "\n".join(line.text for page in document.pages for line in page)
    return {"state": "ok", "pages": document.page_count, "text": text}


def sitemap_tree(fetch: Callable[[str], tuple[int, dict[str, str], bytes]], start_url: str) -> list[str]:
    def answer(url: str) -> ScriptedAnswer:
        return ScriptedAnswer(*fetch(url))

    async def listing() -> Listing:
        async with ScriptedClient(answer) as client:
            gate = RobotsGate(client, HeldCopy(), token=BOT, user_agent=BOT)
            return await SiteReader(site_at(start_url), client, gate, SETTINGS).read()

    with contextlib.suppress(NothingDiscovered):
        return [page.url for page in asyncio.run(listing()).pages if page.source is not PageSource.GIVEN]
    return []


def site_at(url: str) -> Site:
    """A site registered by its sitemap, or by its start page where the address names no list."""
    source_type = SourceType.AUTO if urlsplit(url).path in {"", "/", "/robots.txt"} else SourceType.SITEMAP
    address = urljoin(url, "/") if source_type is SourceType.AUTO else url
    return Site("site", address, source_type, SiteState.REGISTERED, SiteOptions(), "default", datetime.now(UTC))


class HeldCopy:
    """A robots.txt that is held for too long to stand in for one that cannot be read."""

    body = b"User-agent: *\nDisallow: /held\n"
    fetched_at = datetime(2020, 1, 1, tzinfo=UTC)

    def get(self, _origin: str) -> HeldCopy:
        return self

    def put(self, origin: str, status: int, body: bytes, fetched_at: datetime) -> None:
        pass


class ScriptedAnswer:
    """An answer whose body was not read yet, nor decoded."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.lines = tuple(self.headers.items())
        self._left = body

    async def read(self) -> bytes:
        body, self._left = self._left, b""
        return body

    async def drain(self, _most: int) -> None:
        self._left = b""

    async def aclose(self) -> None:
        pass


class ScriptedTransport(GuardedTransport):
    """Answers without a network. Everything above it is the product's own."""

    answer: Callable[[str], ScriptedAnswer]

    async def send(self, request: Request) -> Any:
        return self.answer(request.target.url)


class ScriptedClient(HttpClient):
    """The product's client, its redirects, limits and decoding, over answers of our own."""

    def __init__(self, answer: Callable[[str], ScriptedAnswer]) -> None:
        self._answer = answer
        super().__init__(SETTINGS, ssl_context=TRUST)

    def _transport(self, *_dialler: object) -> GuardedTransport:
        transport = ScriptedTransport(self.guard, ssl_context=TRUST, connections=1)
        transport.answer = self._answer
        return transport
