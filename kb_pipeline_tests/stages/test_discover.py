"""Discovery from the wire to the ledger, over a real server and a real PostgreSQL."""

from __future__ import annotations

import gzip
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.errors import NothingDiscovered, SiteBusy, SiteNotFound
from kb_pipeline.model import (
    Discovered,
    Outcome,
    PageSource,
    PageStatus,
    RefreshKind,
    SiteOptions,
    SiteState,
    SourceType,
)
from kb_pipeline.stages.approve import approve
from kb_pipeline.stages.discover import add_links, discover
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.lifecycle import start_retry
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Frontier
from kb_pipeline_tests.sites.replies import Reply, Reset, Stall, page, prose, redirect
from kb_pipeline_tests.sites.server import LoopbackSite

SITE = "docs"
XML = "application/xml"


def urlset(server, *paths, **extra):
    rows = "".join(f"<url><loc>{server.url(path)}</loc>{extra.get(path, '')}</url>" for path in paths)
    return Reply(f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{rows}</urlset>", content_type=XML)


def index(server, *paths):
    rows = "".join(f"<sitemap><loc>{server.url(path)}</loc></sitemap>" for path in paths)
    return Reply(f"<sitemapindex>{rows}</sitemapindex>", content_type=XML)


def robots(*lines):
    return Reply("\n".join(lines), content_type="text/plain")


@pytest.fixture
def server():
    with LoopbackSite() as site:
        yield site


class Site:
    """One registered site, and what its ledger says."""

    def __init__(self, stores, settings, server, source_type=SourceType.AUTO, path="/", **options):
        self.stores, self.settings, self.server = stores, settings, server
        stores.sites.add(SITE, server.url(path), source_type, SiteOptions(**options))

    def discover(self, **options):
        return discover(self.stores, self.settings, SITE, **options)

    def row(self, path):
        return self.stores.pages.get(SITE, page_id(url_key(self.server.url(path))))

    def kept(self):
        refresh = self.stores.refreshes.latest(SITE)
        return {
            row.url.removeprefix(self.server.origin): row
            for row in self.stores.pages.stream(SITE)
            if row.wanted_generation == refresh.generation > row.done_generation
        }

    def left_out(self):
        states = [PageStatus.EXCLUDED, PageStatus.FORBIDDEN]
        rows = self.stores.pages.stream(SITE, states)
        return {row.url.removeprefix(self.server.origin): row.reason for row in rows}

    def publish(self, *paths):
        """Pretend that the open refresh fetched these pages, and end it."""
        refresh = self.stores.refreshes.open(SITE)
        for path in paths or self.kept():
            self._fetched(page_id(url_key(self.server.url(path))), refresh.generation)
        with_copy = self.stores.pages.count_with_copy(SITE)
        assert with_copy >= len(paths)
        self.stores.refreshes.finish(SITE, refresh.generation, "published", None, self.stores.now())

    def _fetched(self, identity, generation):
        frontier = Frontier(self.stores.database, SITE, generation)
        ending = Ending(identity, Outcome.FRESH, Attempt(None, None, 200), 0, copy=Copy("f" * 32, 100, None, None))
        frontier.commit([ending], [], self.stores.now())


def test_every_source_of_an_auto_site_adds_to_one_list(stores, settings, server):
    server.pages |= {
        "/robots.txt": robots("Sitemap: /maps/main.xml", "User-agent: *", "Disallow: /private/"),
        "/maps/main.xml": index(server, "/maps/a.xml", "/maps/b.xml.gz"),
        "/maps/a.xml": urlset(server, "/a", **{"/a": "<lastmod>2024-05-06</lastmod><priority>0.9</priority>"}),
        "/maps/b.xml.gz": Reply(gzip.compress(urlset(server, "/b", "/private/x").raw), content_type="text/plain"),
        "/sitemap.xml": urlset(server, "/a", "/c"),
        "/sitemap.txt": Reply(f"{server.url('/d')}\n", content_type="text/plain"),
        "/": page("Home", prose("home"), head_extra='<link rel=alternate type="application/rss+xml" href="/feed">'),
        "/feed": Reply(f"<rss><channel><item><link>{server.url('/post')}</link></item></channel></rss>"),
        "/llms.txt": Reply("# Docs\n- [E](/e)\n", content_type="text/markdown"),
    }
    site = Site(stores, settings, server)
    report = site.discover()
    kept = site.kept()
    assert {path: row.source for path, row in kept.items()} == {
        "/": PageSource.GIVEN,
        "/a": PageSource.SITEMAP,
        "/b": PageSource.SITEMAP,
        "/c": PageSource.SITEMAP,
        "/d": PageSource.SITEMAP,
        "/post": PageSource.FEED,
        "/e": PageSource.LLMS_TXT,
    }
    assert kept["/a"].priority == pytest.approx(0.9)
    assert kept["/a"].sitemap_lastmod.year == 2024
    assert site.left_out() == {"/private/x": "robots.txt does not allow this page"}
    assert report.kept == report.counts["kept"] == 7
    assert report.counts["forbidden"] == 1
    assert report.estimate.pages == 7
    assert report.problems == []


def test_finding_a_site_does_not_wait_the_gap_of_its_pages(stores, settings, server):
    paths = [f"/p{number}" for number in range(10)]
    server.pages |= {path: page(path, prose(path)) for path in paths} | {"/sitemap.xml": urlset(server, *paths)}
    patient = settings.model_copy(update={"request_gap_seconds": 5.0})
    site = Site(stores, patient, server)
    started = time.monotonic()
    site.discover()
    took = time.monotonic() - started
    assert len(server.requests) > 10
    assert took < 15  # with the gap it would be a minute


def test_a_retry_after_that_discovery_meets_holds_for_the_fetch_too(stores, settings, server):
    busy = Reply(status=429, headers={"Retry-After": "4"})
    server.pages |= {"/sitemap.xml": urlset(server, "/a"), "/a": [busy, page("A", prose("a"))]}
    Site(stores, settings, server).discover()
    approve(stores, settings, SITE, pages=10, by="test")
    asked = len(server.requests)
    fetch_pages(stores, settings, SITE)
    [refused] = [request.at for request in server.requests if request.status == 429]
    assert min(request.at for request in server.requests[asked:]) - refused >= 3.9


def test_a_retry_after_holds_for_the_rest_of_discovery(stores, settings, server, monkeypatch):
    monkeypatch.setattr("kb_pipeline.stages.site_session.PROMPT_REQUESTS", 2)
    server.pages["/map"] = [Reply(status=429, headers={"Retry-After": "2"}), urlset(server, "/a")]
    Site(stores, settings, server, SourceType.SITEMAP, "/map").discover()
    refused, again = [request.at for request in server.requests if request.path == "/map"]
    assert again - refused >= 1.9


def test_a_new_site_waits_for_approval(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    report = Site(stores, settings, server).discover()
    refresh = stores.refreshes.open(SITE)
    assert not report.approved
    assert refresh.approved_at is None
    assert refresh.reason == "it waits for approval"
    assert refresh.counts["kept"] == 2
    assert stores.sites.get(SITE).state is SiteState.AWAITING_APPROVAL


def test_small_imports_go_on_unasked_when_the_operator_or_the_site_says_so(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    generous = settings.model_copy(update={"auto_approve_pages": 2})
    assert Site(stores, generous, server).discover().approved
    assert stores.sites.get(SITE).state is SiteState.ACTIVE
    assert stores.sites.get(SITE).approved_pages == 2


def test_without_a_list_the_links_of_the_start_page_are_the_list(stores, settings, server):
    server.pages["/"] = page("Home", prose("home"), links=["/a", "/b#x", "https://elsewhere.example/", "/login"])
    site = Site(stores, settings, server)
    site.discover()
    assert {path: row.depth for path, row in site.kept().items()} == {"/": 0, "/a": 1, "/b": 1}
    assert site.left_out()["/login"] == "is a login or registration page"


def test_a_sitemap_that_is_a_page_is_a_problem_and_no_list(stores, settings, server):
    server.pages |= {
        "/robots.txt": robots("Sitemap: /sitemap.xml"),
        "/sitemap.xml": page("Not a sitemap", prose("x"), links=["/wrong"]),
        "/": page("Home", prose("home"), links=["/a"]),
    }
    site = Site(stores, settings, server)
    report = site.discover()
    assert set(site.kept()) == {"/", "/a"}
    assert any("HTML page, not a sitemap" in problem for problem in report.problems)


def test_one_page_under_several_addresses_is_one_page_with_aliases(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/a?utm_source=x", "/a#top", "/%61")
    site = Site(stores, settings, server)
    assert site.discover().kept == 1
    row = site.row("/a")
    assert row.url == server.url("/a")
    assert {alias.url for alias in stores.aliases.of_page(SITE, row.page_id)} == {
        server.url("/a?utm_source=x"),
        server.url("/%61"),
    }


def test_every_address_left_out_says_why(stores, settings, server):
    paths = ["/docs/a", "/docs/old/b", "/blog", "/docs/cart/x.zip"]
    server.pages["/sitemap.xml"] = urlset(server, *paths)
    server.pages["/sitemap.txt"] = Reply("https://other.example/x\nhttp://[bad\n", content_type="text/plain")
    site = Site(stores, settings, server, include=("/docs/*",), exclude=("/docs/old/*",))
    report = site.discover()
    assert set(site.kept()) == {"/docs/a"}
    assert site.left_out() == {
        "/docs/old/b": "matches the site's exclude pattern /docs/old/*",
        "/blog": "matches none of the site's include patterns",
        "/docs/cart/x.zip": "is a .zip file, neither a page nor a PDF",
        "https://other.example/x": "is on another host",
    }
    assert sum(report.excluded_by_reason.values()) == 4


def test_the_most_important_pages_come_first_where_the_limit_cuts(stores, settings, server):
    priority = {f"/p{number}": f"<priority>0.{number}</priority>" for number in range(1, 6)}
    server.pages["/sitemap.xml"] = urlset(server, *priority, **priority)
    site = Site(stores, settings, server, max_pages=2)
    site.discover()
    assert set(site.kept()) == {"/p5", "/p4"}
    assert "max_pages" in site.left_out()["/p1"]


@pytest.mark.parametrize("answer", [Reply(status=503), Reply(status=429), Reset()], ids=["503", "429", "reset"])
def test_a_robots_txt_that_cannot_be_read_stops_everything_and_removes_nothing(stores, settings, server, answer):
    server.pages |= {"/robots.txt": answer, "/sitemap.xml": urlset(server, "/a")}
    site = Site(stores, settings, server)
    with pytest.raises(NothingDiscovered, match=r"robots\.txt"):
        site.discover()
    assert list(stores.pages.stream(SITE)) == []
    assert {request.path for request in server.requests} == {"/robots.txt"}


def test_the_copy_of_robots_txt_serves_for_a_day(stores, settings, server):
    server.pages |= {"/robots.txt": robots("User-agent: *", "Disallow: /b"), "/sitemap.xml": urlset(server, "/a", "/b")}
    site = Site(stores, settings, server)
    site.discover()
    server.pages["/robots.txt"] = Reply(status=503)
    site.discover()
    assert set(site.kept()) == {"/a"}


def test_a_site_with_no_page_says_what_each_source_answered(stores, settings, server):
    with pytest.raises(NothingDiscovered, match=r"We couldn't find this page \(404\).*/sitemap.xml: status 404") as why:
        Site(stores, settings, server).discover()
    assert "kb sites remove" not in str(why.value)
    assert list(stores.pages.stream(SITE)) == []


def published(stores, settings, server, source_type=SourceType.AUTO, path="/"):
    """A site with a sitemap of two pages, both held."""
    server.pages |= {"/sitemap.xml": urlset(server, "/a", "/b"), "/feed": Reply(status=404)}
    site = Site(stores, settings, server, source_type, path)
    site.discover()
    approve(stores, settings, SITE, pages=10, by="test")
    site.publish("/a", "/b")
    return site


@pytest.mark.parametrize(("source_type", "path"), [(SourceType.AUTO, "/"), (SourceType.SITEMAP, "/sitemap.xml")])
@pytest.mark.parametrize("status", [404, 410])
def test_of_a_site_that_says_it_is_gone_the_held_pages_are_asked_for(
    stores, settings, server, source_type, path, status
):
    site = published(stores, settings, server, source_type, path)
    server.pages = {"/": Reply(status=status), "/sitemap.xml": Reply(status=status)}
    report = site.discover()
    assert (report.kept, report.counts["list_gone"], report.counts["asked_again"]) == (0, 1, 2)
    assert set(site.kept()) == {"/a", "/b"}
    assert stores.refreshes.latest(SITE).counts["list_gone"] == 1


@pytest.mark.parametrize(
    "answers",
    [
        {"/": Reply(status=503), "/sitemap.xml": Reply(status=404)},
        {"/": Reply(status=404), "/sitemap.xml": Reply(status=503)},
        {"/": Reply(status=404), "/sitemap.xml": Reset()},
        {"/": Reply(status=404), "/llms.txt": Reply(status=429)},
        {"/": Reply(status=403)},
        {"/": Reset()},
        {"/": redirect("http://127.0.0.2/")},
        {"/robots.txt": Reply(status=503)},
    ],
)
def test_a_site_that_only_does_not_answer_keeps_what_it_has_and_says_what_ends_it(stores, settings, server, answers):
    site = published(stores, settings, server)
    stores.robots_files.put(server.origin, 200, b"", stores.now() - timedelta(days=2))
    before = list(stores.pages.stream(SITE))
    server.pages = answers
    with pytest.raises(NothingDiscovered, match="`kb sites remove docs`"):
        site.discover()
    assert list(stores.pages.stream(SITE)) == before


def test_a_list_that_is_there_and_empty_is_not_one_that_is_gone(stores, settings, server):
    site = published(stores, settings, server, SourceType.SITEMAP, "/sitemap.xml")
    server.pages["/sitemap.xml"] = urlset(server)
    with pytest.raises(NothingDiscovered, match="`kb sites remove docs`"):
        site.discover()


def test_pages_that_left_the_list_are_asked_again_and_a_collapse_shows(stores, settings, server):
    paths = [f"/p{number}" for number in range(20)]
    server.pages["/sitemap.xml"] = urlset(server, *paths)
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish(*paths)
    server.pages["/sitemap.xml"] = urlset(server, *paths[:3])
    report = site.discover()
    assert report.approved
    assert (report.kept, report.previous_kept, report.counts["asked_again"]) == (3, 20, 17)
    assert set(site.kept()) == set(paths)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [(Reply(status=503), {"/", "/a"}), (Reply(status=404), {"/", "/a", "/tag/x"})],
    ids=["a bad night", "no sitemap any more"],
)
def test_links_take_the_place_of_a_list_that_is_gone_and_not_of_one_that_cannot_be_read(
    stores, settings, server, answer, kept
):
    server.pages |= {"/sitemap.xml": urlset(server, "/a"), "/": page("Home", prose("home"), links=["/a", "/tag/x"])}
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish("/", "/a")
    server.pages["/sitemap.xml"] = answer
    site.discover()
    assert set(site.kept()) == kept


def test_copies_that_the_owner_no_longer_wants_are_left_out_although_no_list_names_them(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/old")
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish("/a", "/old")
    server.pages["/sitemap.xml"] = urlset(server, "/a")
    stores.sites.set_options(SITE, SiteOptions(exclude=("/old",)))
    site.discover()
    assert site.row("/old").state is PageStatus.EXCLUDED
    assert set(site.kept()) == {"/a"}


def linked(site, *paths):
    """Pages that fetched pages led to in the open refresh."""
    found = [
        Discovered(page_id(url_key(site.server.url(path))), site.server.url(path), PageSource.LINK, depth=2)
        for path in paths
    ]
    stores = site.stores
    add_links(stores, stores.sites.get(SITE), stores.refreshes.open(SITE).generation, found)


def crawled(stores, settings, server, *paths, pages=100, **options):
    """A site without a list, its start page and what it leads to published."""
    server.pages["/"] = page("Home", prose("home"))
    site = Site(stores, settings, server, **options)
    site.discover()
    approve(stores, settings, SITE, pages=pages, by="test")
    linked(site, *paths)
    return site


@pytest.mark.parametrize("state", ["copy", "no copy"])
def test_a_page_that_only_links_lead_to_is_left_out_once_the_owner_wants_it_no_more(stores, settings, server, state):
    site = crawled(stores, settings, server, "/blog/a", "/docs/b")
    site.publish("/", "/docs/b", *(["/blog/a"] if state == "copy" else []))
    stores.sites.set_options(SITE, SiteOptions(exclude=("/blog/*",)))
    site.discover()
    assert set(site.kept()) == {"/", "/docs/b"}
    assert site.left_out()["/blog/a"] == "matches the site's exclude pattern /blog/*"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"exclude": ("/blog/*",)}, {}),
        ({"max_pages": 2}, {}),
        ({"max_depth": 1}, {}),
        ({"exclude": ("/blog/*",)}, {"max_pages": 3}),
    ],
)
def test_a_page_that_only_links_lead_to_comes_back_once_the_owner_wants_it(stores, settings, server, before, after):
    site = crawled(stores, settings, server, "/docs/a", "/blog/b", "/blog/c", **before)
    left_out = set(site.left_out())
    assert left_out >= {"/blog/b", "/blog/c"}
    site.publish("/", *{"/docs/a"} - left_out)
    stores.sites.set_options(SITE, SiteOptions(**after))
    site.discover()
    most = after.get("max_pages", 4)
    assert len(site.kept()) == most
    assert set(site.kept()) >= {"/", "/docs/a", "/blog/b"}
    assert all("max_pages" in reason for reason in site.left_out().values())


def test_pages_beyond_an_approval_come_back_with_a_larger_one(stores, settings, server):
    site = crawled(stores, settings, server, "/a", "/b", pages=2)
    site.publish("/", "/a")
    approve(stores, settings, SITE, pages=50, by="test")
    site.discover()
    assert set(site.kept()) == {"/", "/a", "/b"}


def test_a_lower_number_of_pages_holds_for_pages_that_only_links_lead_to(stores, settings, server):
    site = crawled(stores, settings, server, "/a", "/bb", "/ccc")
    site.publish("/", "/a", "/bb", "/ccc")
    stores.sites.set_options(SITE, SiteOptions(max_pages=2))
    site.discover()
    assert set(site.kept()) == {"/", "/a"}
    assert "max_pages" in site.left_out()["/bb"]
    site.publish("/", "/a")
    Frontier(stores.database, SITE, 2).remove([site.row(path).page_id for path in ("/bb", "/ccc")])
    site.discover()
    assert set(site.kept()) == {"/", "/a"}


def test_a_list_of_other_pages_takes_no_copy_out_unasked(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    site = Site(stores, settings, server, max_pages=2)
    site.discover()
    approve(stores, settings, SITE, pages=2, by="test")
    site.publish("/a", "/b")
    server.pages["/sitemap.xml"] = urlset(server, "/c", "/d")
    site.discover()
    assert {"/a", "/b"} <= set(site.kept())


def test_a_retry_does_not_ask_for_what_the_owner_wants_no_more(stores, settings, server):
    site = crawled(stores, settings, server, "/blog/a", "/docs/b")
    refresh, now = stores.refreshes.open(SITE), stores.now()
    failed = [
        Ending(site.row(path).page_id, Outcome.UNREACHABLE, Attempt("x", "x", 503), 1, retry_at=now)
        for path in ("/blog/a", "/docs/b")
    ]
    Frontier(stores.database, SITE, refresh.generation).commit(failed, [], now)
    stores.refreshes.finish(SITE, refresh.generation, "published", None, now)
    stores.sites.set_options(SITE, SiteOptions(exclude=("/blog/*",)))
    start_retry(stores, SITE)
    assert set(site.kept()) == {"/docs/b"}
    assert site.row("/blog/a").state is PageStatus.EXCLUDED


def test_a_retry_asks_for_a_single_page_whatever_its_address_looks_like(stores, settings, server):
    site = Site(stores, settings, server, SourceType.URL, "/search?q=x")
    site.discover()
    approve(stores, settings, SITE, pages=1, by="test")
    refresh, now = stores.refreshes.open(SITE), stores.now()
    ending = Ending(site.row("/search?q=x").page_id, Outcome.UNREACHABLE, Attempt("x", "x", 503), 1, retry_at=now)
    Frontier(stores.database, SITE, refresh.generation).commit([ending], [], now)
    stores.refreshes.finish(SITE, refresh.generation, "published", None, now)
    start_retry(stores, SITE)
    assert set(site.kept()) == {"/search?q=x"}


def test_a_forbidden_folder_is_forbidden_and_comes_back(stores, settings, server):
    server.pages |= {"/robots.txt": robots("User-agent: *"), "/sitemap.xml": urlset(server, "/a", "/x/b")}
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish("/a", "/x/b")
    server.pages["/robots.txt"] = robots("User-agent: KbPipelineBot", "Disallow: /x/")
    site.discover()
    assert site.row("/x/b").state is PageStatus.FORBIDDEN
    site.publish("/a")
    server.pages["/robots.txt"] = robots("User-agent: *")
    site.discover()
    assert set(site.kept()) == {"/a", "/x/b"}


@pytest.mark.parametrize(("source_type", "path"), [(SourceType.AUTO, "/"), (SourceType.SITEMAP, "/sitemap.xml")])
def test_a_site_that_is_forbidden_whole_gives_its_copies_up(stores, settings, server, source_type, path):
    server.pages |= {"/robots.txt": robots("User-agent: *"), "/sitemap.xml": urlset(server, "/a", "/b")}
    site = Site(stores, settings, server, source_type, path)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish("/a", "/b")
    server.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /")
    report = site.discover()
    assert (report.kept, report.counts["forbidden"], report.counts["asked_again"]) == (0, 1, 2)
    assert report.approved
    assert set(site.kept()) == {"/a", "/b"}
    assert stores.pages.count_with_copy(SITE) == 2


def test_a_site_that_was_always_forbidden_is_refused(stores, settings, server):
    server.pages["/robots.txt"] = robots("User-agent: *", "Disallow: /")
    with pytest.raises(NothingDiscovered, match="does not allow this page"):
        Site(stores, settings, server).discover()


def test_an_approved_site_stays_approved_up_to_its_number_and_old_pages_come_first(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=2, by="test")
    site.publish("/a", "/b")
    extra = {"/new": "<priority>1.0</priority>"}
    server.pages["/sitemap.xml"] = urlset(server, "/new", "/a", "/b", **extra)
    report = site.discover()
    assert report.approved
    assert set(site.kept()) == {"/a", "/b"}
    assert "approved" in site.left_out()["/new"]


def test_discovering_again_in_one_refresh_changes_nothing(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b", "/login")
    site = Site(stores, settings, server)
    first = site.discover()
    before = [replace(row, last_seen_at=None) for row in stores.pages.stream(SITE)]
    second = site.discover()
    assert first.generation == second.generation
    assert [replace(row, last_seen_at=None) for row in stores.pages.stream(SITE)] == before


def test_a_resumed_run_of_an_approved_refresh_asks_nothing(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=10, by="test")
    server.forget()
    report = site.discover()
    assert report.approved
    assert report.kept == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("source", "path", "answer"),
    [
        (SourceType.SITEMAP, "/map", lambda server: urlset(server, "/a", "/b")),
        (
            SourceType.FEED,
            "/feed",
            lambda server: Reply(f'{{"items": [{{"url": "{server.url("/a")}"}}, {{"url": "/b"}}]}}'),
        ),
    ],
)
def test_a_given_list_is_the_whole_list(stores, settings, server, source, path, answer):
    server.pages |= {path: answer(server), "/sitemap.xml": urlset(server, "/other")}
    site = Site(stores, settings, server, source, path)
    site.discover()
    assert set(site.kept()) == {"/a", "/b"}


def test_a_given_sitemap_that_is_a_page_finds_nothing(stores, settings, server):
    server.pages["/map"] = page("Home", prose("x"))
    with pytest.raises(NothingDiscovered, match="an HTML page, not a sitemap"):
        Site(stores, settings, server, SourceType.SITEMAP, "/map").discover()


def test_a_single_page_is_its_own_list(stores, settings, server):
    site = Site(stores, settings, server, SourceType.URL, "/search?q=x")
    assert site.discover().kept == 1
    assert set(site.kept()) == {"/search?q=x"}


def test_a_single_page_is_kept_when_it_is_found_again_whatever_its_address_looks_like(stores, settings, server):
    site = Site(stores, settings, server, SourceType.URL, "/search?q=x")
    site.discover()
    approve(stores, settings, SITE, pages=1, by="test")
    site.publish("/search?q=x")
    assert site.discover().excluded_by_reason == {}
    assert set(site.kept()) == {"/search?q=x"}


def test_a_page_that_is_listed_and_no_longer_wanted_counts_once(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/old")
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=100, by="test")
    site.publish("/a", "/old")
    stores.sites.set_options(SITE, SiteOptions(exclude=("/old",)))
    assert site.discover().excluded_by_reason == {"matches the site's exclude pattern /old": 1}


def test_a_sitemap_that_lists_what_is_not_below_it_is_taken_and_the_owner_is_told(stores, settings, server):
    server.pages |= {"/robots.txt": robots("Sitemap: /maps/a.xml"), "/maps/a.xml": urlset(server, "/maps/b", "/c")}
    site = Site(stores, settings, server)
    report = site.discover()
    assert set(site.kept()) == {"/maps/b", "/c"}
    [answer] = [answer for answer in report.answers if "/maps/a.xml" in answer]
    assert answer.endswith(f"2 pages; some are outside the sitemap's own folder, such as {server.url('/c')}")
    assert report.problems == []


def test_an_index_within_an_index_and_loops_are_not_followed(stores, settings, server):
    server.pages |= {
        "/sitemap.xml": index(server, "/sitemap.xml", "/one.xml", "/deep.xml", "/missing.xml"),
        "/one.xml": urlset(server, "/a"),
        "/deep.xml": index(server, "/deeper.xml", "/sitemap.xml"),
        "/deeper.xml": urlset(server, "/b"),
    }
    site = Site(stores, settings, server)
    report = site.discover()
    assert set(site.kept()) == {"/a"}
    assert server.count("/deeper.xml") == 0
    assert server.count("/sitemap.xml") == 1
    assert any("index within an index" in problem for problem in report.problems)
    assert any("/missing.xml: status 404" in problem for problem in report.problems)


def test_a_slow_source_costs_only_itself(stores, settings, server):
    server.pages |= {"/sitemap.xml": urlset(server, "/a"), "/llms.txt": Stall(), "/sitemap.txt": Reset()}
    hurried = settings.model_copy(update={"read_timeout_seconds": 0.5, "page_timeout_seconds": 1.0})
    site = Site(stores, hurried, server)
    assert site.discover().kept == 1


def test_a_crawl_delay_is_part_of_the_estimate_and_of_the_manners(stores, settings, server):
    paths = [f"/p{number}" for number in range(10)]
    server.pages |= {path: page(path, prose(path)) for path in paths}
    server.pages |= {"/robots.txt": robots("User-agent: *", "Crawl-delay: 7"), "/sitemap.xml": urlset(server, *paths)}
    report = Site(stores, settings, server).discover()
    assert report.estimate.fetching_seconds == pytest.approx(70)
    assert report.estimate.sampled_pages == 1
    assert sum(request.path in paths for request in server.requests) == 1


def test_the_estimate_comes_from_a_small_sample(stores, settings, server):
    paths = [f"/p{number}" for number in range(40)]
    server.pages |= {path: page(path, prose(path)) for path in paths}
    server.pages["/sitemap.xml"] = urlset(server, *paths)
    estimate = Site(stores, settings, server).discover().estimate
    assert estimate.sampled_pages == 5
    assert 0 < estimate.tokens_low <= estimate.tokens <= estimate.tokens_high
    assert sum(request.path in paths for request in server.requests) == 5


def test_links_of_fetched_pages_join_under_scope_and_cap(stores, settings, server):
    server.pages["/"] = page("Home", prose("home"), links=["/a"])
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=3, by="test")
    registered = stores.sites.get(SITE)
    generation = stores.refreshes.open(SITE).generation
    found = [
        Discovered(page_id(url_key(server.url(path))), server.url(path), PageSource.LINK, depth=2)
        for path in ("/a", "/b", "/login", "/c")
    ]
    assert add_links(stores, registered, generation, found) == 3
    assert add_links(stores, registered, generation, found) == 0
    assert set(site.kept()) == {"/", "/a", "/b"}
    assert site.row("/a").depth == 1
    assert "approved" in site.left_out()["/c"]
    assert site.left_out()["/login"] == "is a login or registration page"


def test_pages_that_only_links_lead_to_are_asked_again_in_the_next_refresh(stores, settings, server):
    server.pages["/"] = page("Home", prose("home"), links=["/a"])
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=30, by="test")
    url = server.url("/deep")
    found = [Discovered(page_id(url_key(url)), url, PageSource.LINK, depth=2)]
    add_links(stores, stores.sites.get(SITE), stores.refreshes.open(SITE).generation, found)
    site.publish("/", "/a")
    site.discover()
    assert set(site.kept()) == {"/", "/a", "/deep"}


def test_a_retry_left_open_becomes_part_of_a_full_refresh(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a")
    site = Site(stores, settings, server)
    retry = start_retry(stores, SITE)
    report = site.discover()
    assert report.generation == retry.generation
    assert stores.refreshes.open(SITE).kind is RefreshKind.FULL


def test_what_the_list_had_before_is_known_after_any_number_of_retries(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b", "/c")
    site = Site(stores, settings, server)
    site.discover()
    stores.refreshes.finish(SITE, 1, "published", None, stores.now())
    for _ in range(20):
        retry = start_retry(stores, SITE)
        stores.refreshes.finish(SITE, retry.generation, "published", None, stores.now())
    assert site.discover().previous_kept == 3


def test_two_discoveries_of_one_site_cannot_both_run(stores, settings, server):
    site = Site(stores, settings, server)
    with stores.site_lock(SITE, "another"), pytest.raises(SiteBusy):
        site.discover()
    with pytest.raises(SiteNotFound):
        discover(stores, settings, "nobody")


def test_a_start_page_elsewhere_is_not_the_sites(stores, settings, server):
    with LoopbackSite({"/": page("Other", prose("x"), links=["/z"])}) as other:
        server.pages["/"] = redirect(other.url("/"))
        with pytest.raises(NothingDiscovered, match="another site"):
            Site(stores, settings, server).discover()


def test_alternate_addresses_stay_with_their_page(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/a?gclid=1")
    site = Site(stores, settings, server)
    site.discover()
    identity = site.row("/a").page_id
    assert stores.aliases.of_page(SITE, identity) == [
        Alias(identity, server.url("/a?gclid=1"), identity, "same_identity")
    ]


def test_a_list_that_is_an_hour_old_is_read_again(stores, settings, server):
    server.pages["/sitemap.xml"] = urlset(server, "/a")
    site = Site(stores, settings, server)
    site.discover()
    approve(stores, settings, SITE, pages=10, by="test")
    old = stores.now() - timedelta(hours=2)
    stores.refreshes.mark_discovered(SITE, stores.refreshes.open(SITE).generation, old)
    server.pages["/sitemap.xml"] = urlset(server, "/a", "/b")
    assert site.discover().kept == 2
