"""The walk through a site's sitemaps: what it holds, and when it stops asking."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from kb_pipeline.stages.sitemap_walk import AT_ONCE, Fetched, SitemapWalk

HOST = "https://docs.example"
FILE_BYTES = 8 * 2**20


def addresses(part, number=50):
    return [f"{HOST}/part-{part}/page-{n}" for n in range(number)]


class Sitemaps:
    """A host with an index of text sitemaps, which notes what it was asked for."""

    def __init__(self, parts, *, late=slice(0), pages=50):
        self.paths = [f"{HOST}/part-{part}.txt.gz" for part in range(parts)]
        self.asked = []
        self.bodies = {
            path: gzip.compress("\n".join(addresses(part, pages)).encode()) for part, path in enumerate(self.paths)
        }
        self.late = {path: asyncio.Event() for path in self.paths[late]}

    async def get(self, url):
        self.asked.append(url)
        if url in self.late:
            await self.late[url].wait()
        return Fetched(url, 200, self.bodies[url], "text/plain")

    def walk(self, **limits):
        return SitemapWalk(self.get, max_file_bytes=FILE_BYTES, **limits)


async def settled():
    for _ in range(50):
        await asyncio.sleep(0.002)


def test_a_sitemap_that_is_late_holds_up_only_the_few_that_come_next():
    sitemaps = Sitemaps(20, late=slice(1))

    async def read():
        walk = sitemaps.walk()
        reading = asyncio.create_task(walk.read(sitemaps.paths))
        await settled()
        asked = len(sitemaps.asked)
        sitemaps.late[sitemaps.paths[0]].set()
        await reading
        return asked, walk

    asked, walk = asyncio.run(read())
    assert asked == AT_ONCE, "whatever else had answered would be held until its turn"
    assert [page.url for page in walk.pages] == [url for part in range(20) for url in addresses(part)]
    assert [answer.partition(": ")[0] for answer in walk.answers] == sitemaps.paths


def test_compressed_sitemaps_count_by_what_they_inflate_to():
    sitemaps = Sitemaps(20, pages=5_000)
    compressed = sum(map(len, sitemaps.bodies.values()))
    inflated = len("\n".join(addresses(0, 5_000)))
    walk = sitemaps.walk(max_run_bytes=4 * inflated)
    assert compressed < walk.max_run_bytes
    asyncio.run(walk.read(sitemaps.paths))
    assert 4 <= len(sitemaps.asked) <= 4 + AT_ONCE
    unread = len(sitemaps.paths) - len(sitemaps.asked)
    assert walk.problems[-1].startswith(f"{sitemaps.paths[len(sitemaps.asked)]}: not read ({unread} such sitemaps)")


def test_no_sitemap_is_asked_for_once_there_are_pages_enough():
    sitemaps = Sitemaps(20)
    walk = sitemaps.walk(max_pages=120)
    asyncio.run(walk.read(sitemaps.paths))
    assert [page.url for page in walk.pages] == [url for part in range(3) for url in addresses(part)][:120]
    assert len(sitemaps.asked) <= 3 + AT_ONCE
    unread = len(sitemaps.paths) - len(sitemaps.asked)
    assert walk.problems == [
        "more than 120 pages are listed: the rest was not read",
        f"{sitemaps.paths[len(sitemaps.asked)]}: not read ({unread} such sitemaps): 120 pages are enough",
    ]


def test_a_list_of_exactly_the_most_pages_is_whole():
    sitemaps = Sitemaps(2)
    walk = sitemaps.walk(max_pages=100)
    asyncio.run(walk.read([*sitemaps.paths, sitemaps.paths[0]]))
    assert len(walk.pages) == 100
    assert walk.problems == []


def test_a_walk_that_is_broken_off_leaves_nothing_asking():
    sitemaps = Sitemaps(8, late=slice(1, None))
    del sitemaps.bodies[sitemaps.paths[0]]

    async def read():
        with pytest.raises(KeyError):
            await sitemaps.walk().read(sitemaps.paths)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(read()) == set()
