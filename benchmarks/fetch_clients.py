"""One client that gets every page of a list, 16 at a time and without a delay, in a process of its own:

    python -m benchmarks.fetch_clients NAME ADDRESSES CONNECTIONS

Prints JSON: pages, bytes, seconds of the fetching, processor seconds of it. The clock starts when the client is ready.
"""

# ruff: noqa: PLC0415 - each process loads its own client only

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Get = Callable[[str], Awaitable[int]]
    """Gets a page; its bytes."""

MAX_BYTES = 10 * 2**20


async def drive(get: Get, addresses: list[str], connections: int) -> dict[str, float]:
    """Call `get` for every address from as many tasks as there are connections."""
    sizes = [await get(addresses[0])]
    left = iter(addresses)

    async def work() -> None:
        sizes.extend([await get(address) for address in left])

    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(connections)))
    return cost(len(sizes) - 1, sum(sizes[1:]), began, spent)


def cost(pages: int, size: int, began: float, spent: float) -> dict[str, float]:
    return {
        "pages": pages,
        "bytes": size,
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - spent,
    }


async def ours(addresses: list[str], connections: int, *, guard: Any = None, reads: bool = False) -> dict[str, float]:
    """HttpClient; with `reads` the whole tier, which also judges and extracts each page."""
    from kb_pipeline.fetch.answers import CLEARS, PageRequest
    from kb_pipeline.fetch.client import HttpClient
    from kb_pipeline.fetch.tiers.plain_http import PlainHttp
    from kb_pipeline.settings import Settings

    settings = Settings(allow_private=(str(urlsplit(addresses[0]).hostname),), host_connections=connections)
    async with HttpClient(settings, guard=guard) as client:
        tier = PlainHttp(client, settings)

        async def get(url: str) -> int:
            return len((await client.get(url, max_bytes=MAX_BYTES)).body)

        async def read(url: str) -> int:
            result = await tier.fetch(PageRequest(url))
            assert result.answer in CLEARS, result
            return result.wire_bytes

        return await drive(read if reads else get, addresses, connections)


async def unguarded(addresses: list[str], connections: int) -> dict[str, float]:
    """HttpClient whose guard parses an address once and checks nothing: the difference is the guard's share."""
    from kb_pipeline.fetch.guard import Guard, Target

    class Open(Guard):
        def check_url(self, url: str) -> Target:
            parts = urlsplit(url)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            return Target(url, parts.scheme, str(parts.hostname), parts.port or 80, path)

        async def addresses(self, host: str, port: int) -> list[str]:  # noqa: ARG002
            return [host]

    return await ours(addresses, connections, guard=Open())


async def bare_httpx(addresses: list[str], connections: int) -> dict[str, float]:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=connections), trust_env=False) as client:

        async def get(url: str) -> int:
            return len((await client.get(url)).content)

        return await drive(get, addresses, connections)


async def aiohttp(addresses: list[str], connections: int) -> dict[str, float]:
    import aiohttp as library

    async with AsyncExitStack() as stack:
        connector = library.TCPConnector(limit=connections)
        session = await stack.enter_async_context(library.ClientSession(connector=connector))

        async def get(url: str) -> int:
            async with session.get(url) as response:
                return len(await response.read())

        return await drive(get, addresses, connections)


async def crawlberg(addresses: list[str], connections: int) -> dict[str, float]:
    """Rust underneath; `scrape` also turns the page into Markdown, and cannot be told not to."""
    import crawlberg as library

    config = library.CrawlConfig(
        respect_robots_txt=False,
        ssrf=library.SsrfPolicy(deny_private=False),
        max_concurrent=connections,
        rate_limit_ms=0,
        retry_count=0,
    )
    engine = library.create_engine(config)

    async def get(url: str) -> int:
        return len((await library.scrape(engine, url)).html)

    return await drive(get, addresses, connections)


def scrapy(addresses: list[str], connections: int) -> dict[str, float]:
    """Its own loop, so that it is timed from its start to its end."""
    import scrapy as library
    from scrapy.crawler import CrawlerProcess

    sizes: list[int] = []

    class Pages(library.Spider):
        name = "pages"

        async def start(self) -> Any:
            for address in addresses:
                yield library.Request(address, dont_filter=True)

        def parse(self, response: Any) -> None:
            sizes.append(len(response.body))

    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": connections,
            "CONCURRENT_REQUESTS_PER_DOMAIN": connections,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    process.crawl(Pages)
    began, spent = time.perf_counter(), time.process_time()
    process.start()
    return cost(len(sizes), sum(sizes), began, spent)


async def tier(addresses: list[str], connections: int) -> dict[str, float]:
    return await ours(addresses, connections, reads=True)


CLIENTS: dict[str, Callable[[list[str], int], Any]] = {
    "ours": ours,
    "unguarded": unguarded,
    "tier": tier,
    "httpx": bare_httpx,
    "aiohttp": aiohttp,
    "scrapy": scrapy,
    "crawlberg": crawlberg,
}


def main() -> None:
    name, file, connections = sys.argv[1:]
    found = CLIENTS[name](json.loads(Path(file).read_text()), int(connections))
    print(json.dumps(asyncio.run(found) if asyncio.iscoroutine(found) else found))


if __name__ == "__main__":
    main()
