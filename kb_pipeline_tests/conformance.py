"""Thin adapters from the public conformance runners' signatures to this project's functions."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import httpcore

from kb_pipeline.core import bodies, charsets, urls
from kb_pipeline.core.extract import extract_html
from kb_pipeline.core.links import harvest
from kb_pipeline.core.page_state import classify
from kb_pipeline.core.pdf import read_pdf
from kb_pipeline.core.robots import Robots, RobotsAccess, access_of
from kb_pipeline.core.scope import Scope, TrapWatch
from kb_pipeline.core.sitemaps import may_list, parse_sitemap
from kb_pipeline.errors import PdfUnreadable
from kb_pipeline.fetch.addresses import parse_address, why_not_public
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.content_coding import Body
from kb_pipeline.fetch.guard import Guard, PinnedBackend
from kb_pipeline.model import SiteOptions
from kb_pipeline.settings import Settings
from kb_pipeline.stages.sitemap_walk import Fetched, SitemapWalk

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.fetch.client import Response


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


def robots_status(responses: list[dict[str, object]]) -> str:
    last = responses[-1]
    if last.get("status") == 304:
        return "keep_cached"
    status = last.get("status")
    access = access_of(status if isinstance(status, int) else None)
    if access is RobotsAccess.UNAVAILABLE:
        return "disallow_all"
    return "parse" if access is RobotsAccess.PARSE and last.get("body") else "allow_all"


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
    body = Body(headers.get("content-encoding"), limit)
    body.feed(data)
    return body.finish()


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


def extract_markdown(html: str, url: str) -> str:
    return extract_html(html, url).markdown


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
    async def get(url: str) -> Fetched:
        for _ in range(10):
            status, headers, body = fetch(url)
            if status not in {301, 302, 303, 307, 308}:
                return Fetched(url, status, body, headers.get("content-type", ""), f"status {status}")
            url = urls.resolve(url, headers.get("location", "")) or url
        return Fetched(url, 0, why="too many redirects")

    walk = SitemapWalk(get, max_file_bytes=8 * 2**20)
    asyncio.run(walk.read([start_url]))
    return [entry.url for entry in walk.pages]
