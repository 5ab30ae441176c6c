"""A page whose body is too much for the extractor ends no stage."""

from __future__ import annotations

import pytest

from kb_pipeline.core import extract as extraction
from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.model import Discovered, PageSource, RefreshKind, RefreshOutcome, SiteOptions
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.removals import fold_canonical_duplicates
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.frontier import Frontier
from kb_pipeline.store.indexing import Indexing
from kb_pipeline.store.lance import SiteStore
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite

SITE = "docs"
COPIES = ("/p?currency=eur", "/p?currency=usd", "/p?currency=yen")


@pytest.fixture
def server():
    """A page under four addresses, three of which name the first as canonical."""
    priced = page("Pricing", prose("pricing"), head_extra='<link rel=canonical href="/p">')
    with LoopbackSite({"/p": priced} | dict.fromkeys(COPIES, priced)) as site:
        site.pages["/sitemap.xml"] = sitemap(*[site.url(path) for path in ("/p", *COPIES)])
        yield site


@pytest.fixture
def examined(monkeypatch):
    """The addresses that the stages had examined, with an extractor that fails on those of `too_deep`."""

    class Extractor:
        def __init__(self):
            self.examined, self.too_deep, self.examine = [], (), extraction.examine

        def __call__(self, body, content_type, url, **options):
            self.examined.append(url)
            if self.too_deep and url.endswith(self.too_deep):
                raise RecursionError(url)
            return self.examine(body, content_type, url, **options)

    extractor = Extractor()
    monkeypatch.setattr(extraction, "examine", extractor)
    return extractor


class Fetching:
    """A registered site, its pages on the list."""

    def __init__(self, stores, settings, server):
        self.stores, self.settings, self.server = stores, settings, server
        stores.sites.add(SITE, server.url("/p"), options=SiteOptions(auto_approve_pages=10))
        self.generation = stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, stores.now()).generation
        found = [Discovered(self.id(path), server.url(path), PageSource.SITEMAP) for path in ("/p", *COPIES)]
        stores.pages.record_discovered(SITE, self.generation, found, stores.now())
        stores.pages.want_unseen(SITE, self.generation)
        stores.refreshes.approve(SITE, self.generation, by="test", now=stores.now())

    def id(self, path):
        return page_id(url_key(self.server.url(path)))

    def fetch(self):
        return fetch_pages(self.stores, self.settings, SITE)


@pytest.mark.parametrize("too_deep", [("/p",), COPIES[:1]], ids=["the original", "a copy"])
def test_the_end_of_the_fetching_takes_a_page_that_it_cannot_read_for_no_copy(
    stores, settings, server, examined, too_deep
):
    examined.too_deep = too_deep
    report = Fetching(stores, settings, server).fetch()
    assert report.folded == (0 if too_deep == ("/p",) else 2)
    assert Indexing(stores.database).refresh_to_end(SITE).generation == report.generation


def test_each_page_is_read_once_however_many_pairs_it_is_in(stores, settings, server, examined, monkeypatch):
    site = Fetching(stores, settings, server)
    examined.too_deep = ("/p",)
    assert site.fetch().folded == 0
    spellings = [Alias(site.id(path), server.url(f"{path}&"), site.id("/p"), "canonical") for path in COPIES]
    stores.aliases.add(SITE, spellings, stores.now())
    examined.too_deep, examined.examined = (), []
    opened, table = [], SiteStore.table
    monkeypatch.setattr(SiteStore, "table", lambda self, name: opened.append(name) or table(self, name))
    folded = fold_canonical_duplicates(stores, Frontier(stores.database, SITE, site.generation), SITE)
    assert sorted(pair.page_id for pair in folded) == sorted(map(site.id, COPIES))
    assert sorted(examined.examined) == sorted(server.url(path) for path in ("/p", *COPIES))
    assert opened == ["snapshots"]


def test_a_page_that_cannot_be_read_is_no_part_of_the_sample(stores, settings, server, examined):
    stores.sites.add(SITE, server.url("/p"), options=SiteOptions(auto_approve_pages=10))
    examined.too_deep = COPIES
    report = discover(stores, settings, SITE)
    assert report.estimate.sampled_pages < report.kept
    assert report.estimate.tokens > 0


def test_a_page_that_cannot_be_read_fails_alone_in_the_extraction(stores, settings, server, examined):
    site = Fetching(stores, settings, server)
    report = site.fetch()
    stores.refreshes.finish(SITE, report.generation, RefreshOutcome.PUBLISHED, None, stores.now())
    examined.too_deep = ("/p",)
    report = extract_texts(stores, settings, SITE)
    assert report.counts["failed"] == 1
    assert report.changes[0].detail == f"RecursionError: {server.url('/p')}"
