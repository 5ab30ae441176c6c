"""What of a listing is kept, over a robots.txt that allows everything."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.fetch.robots_gate import Access, RobotsVerdict
from kb_pipeline.model import PageSource, Site, SiteOptions, SiteState, SourceType
from kb_pipeline.stages.listing import Listed
from kb_pipeline.stages.selection import MAX_EXCLUDED_ROWS, Selector

HOME = "https://example.org/"


class OpenGate:
    async def verdict(self, _url):
        return RobotsVerdict(Access.ALLOWED)


def select(urls, *, with_copy=(), approved_pages=None):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    site = Site("docs", HOME, SourceType.AUTO, SiteState.ACTIVE, SiteOptions(), "acme", now, now, approved_pages)
    listed = [Listed(url, PageSource.SITEMAP) for url in urls]
    return asyncio.run(Selector(site, OpenGate()).select(listed, {page_id(url_key(url)) for url in with_copy}))


def test_every_copy_beyond_the_approved_number_is_left_out_however_many_there_are():
    indexed = [f"{HOME}old/{number}" for number in range(MAX_EXCLUDED_ROWS + 50)]
    selection = select(indexed, with_copy=indexed, approved_pages=10)
    assert len(selection.kept) == 10
    assert len(selection.excluded) == len(indexed) - 10


def test_rows_of_pages_that_were_never_fetched_are_written_up_to_a_bound_and_all_are_counted():
    selection = select([f"{HOME}{number}" for number in range(MAX_EXCLUDED_ROWS + 50)], approved_pages=10)
    assert len(selection.excluded) == MAX_EXCLUDED_ROWS
    assert selection.reasons.total() == MAX_EXCLUDED_ROWS + 40
