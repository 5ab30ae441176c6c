"""The fetch stage from the wire to the ledger: each row of the table of outcomes, and what it does to the copy."""

import time
from datetime import timedelta

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.errors import NotApproved, NothingDiscovered, NothingToPublish, SiteBusy
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.model import Discovered, Outcome, PageSource, PageStatus, RefreshKind, RefreshOutcome, SiteOptions
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.publish import publish
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.named_queries import Query
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.sites.replies import (
    Endless,
    Raw,
    Reply,
    Reset,
    Stall,
    WrongLength,
    bomb,
    page,
    prose,
    redirect,
    text,
)
from kb_pipeline_tests.sites.server import Fault, LoopbackSite

SITE = "docs"


class Refreshes:
    """Drives refreshes of one site as discovery would, page by page."""

    def __init__(self, stores, settings, server, **options):
        self.stores, self.settings, self.server = stores, settings, server
        stores.sites.add(SITE, server.url("/"), options=SiteOptions(**options))

    def start(self, *paths, approve=True):
        now = self.stores.now()
        refresh = self.stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, now)
        urls = [self.server.url(path) for path in paths]
        found = [Discovered(page_id(url_key(url)), url, PageSource.SITEMAP) for url in urls]
        self.stores.pages.record_discovered(SITE, refresh.generation, found, now)
        self.stores.pages.want_unseen(SITE, refresh.generation)
        if approve:
            self.stores.refreshes.approve(SITE, refresh.generation, by="test", now=now)
        return refresh

    def run(self, *paths, **options):
        """A whole refresh: discovered, fetched, ended."""
        self.start(*paths)
        report = self.fetch(**options)
        outcome = RefreshOutcome.HELD if report.removals_held else RefreshOutcome.PUBLISHED
        self.stores.refreshes.finish(SITE, report.generation, outcome, None, self.stores.now())
        return report

    def fetch(self, **options):
        return fetch_pages(self.stores, self.settings, SITE, **options)

    def page(self, path):
        return self.stores.pages.get(SITE, page_id(url_key(self.server.url(path))))

    def in_index(self, path):
        found = self.page(path)
        return found.content_hash is not None and found.removed_generation is None

    def bodies(self):
        table = self.stores.site(SITE).table("snapshots")
        return {row["page_id"]: row["body"] for row in read_rows(table).to_pylist()}


@pytest.fixture
def hurried(settings):
    """For servers that stall. A busy machine makes honest pages time out as well, so only where it is needed."""
    return settings.model_copy(
        update={"connect_timeout_seconds": 1.0, "read_timeout_seconds": 1.0, "page_timeout_seconds": 3.0}
    )


def good(subject="widgets", **options):
    return page(subject.title(), prose(subject), **options)


LOGIN = Reply(
    "<html><head><title>Log in</title></head><body><h1>Sign in to continue</h1><form action=/login method=post>"
    "<input name=user><input type=password name=password><button>Log in</button></form></body></html>"
)
SOFT_404 = Reply(
    "<html><head><title>404 Page not found</title></head><body><h1>Page not found</h1>"
    "<p>Sorry, the page you are looking for does not exist.</p></body></html>"
)

TABLE = [
    (Reply(status=404), Outcome.GONE, "We couldn't find this page (404)"),
    (Reply(status=410), Outcome.GONE, "We couldn't find this page (410)"),
    (redirect("/nothing-there"), Outcome.GONE, "We couldn't find this page (404)"),
    (SOFT_404, Outcome.GONE, "says that it was not found"),
    (good(head_extra="<meta name=robots content=noindex>"), Outcome.FORBIDDEN, "noindex"),
    (good(headers={"X-Robots-Tag": "noindex"}), Outcome.FORBIDDEN, "noindex"),
    (good(headers={"X-Robots-Tag": "otherbot: noindex"}), Outcome.FRESH, None),
    (redirect("/private/x"), Outcome.UNREACHABLE, "/private/x, which robots.txt does not allow"),
    (LOGIN, Outcome.GATE, "login"),
    (page("Short", "Too short."), Outcome.THIN, "too little text"),
    (Reply(b"\x89PNG\r\n\x1a\n" + b"\0" * 99, content_type="image/png"), Outcome.THIN, "image/png"),
    (Reply(b"%PDF-1.7 broken", content_type="application/pdf"), Outcome.THIN, "No text could be read"),
    (Reply("Refused", status=403), Outcome.UNREACHABLE, "refused to give us this page (status 403)"),
    (Reply("Teapot", status=418), Outcome.UNREACHABLE, "status 418"),
    (redirect("/loop"), Outcome.UNREACHABLE, "redirects without end"),
    (redirect("http://10.0.0.1/"), Outcome.UNREACHABLE, "10.0.0.1 is not a public address"),
    (redirect("https://elsewhere.example/"), Outcome.UNREACHABLE, "redirects to another site, elsewhere.example"),
    (Endless(), Outcome.UNREACHABLE, "too large"),
    (bomb("gzip", 1 << 25), Outcome.UNREACHABLE, "too large"),
    (Reply("Slow down", status=429), Outcome.UNREACHABLE, "asked us to slow down"),
    (Reply("Down", status=500), Outcome.UNREACHABLE, "a problem of its own (status 500)"),
    (Reply("Down", status=503), Outcome.UNREACHABLE, "a problem of its own (status 503)"),
    (Reply(b""), Outcome.UNREACHABLE, "came back empty"),
    (Reset(), Outcome.UNREACHABLE, "The connection to the site broke"),
    (WrongLength(b"<p>half", 9000), Outcome.UNREACHABLE, "The page did not come to its end"),
    (Reset(b"<p>half"), Outcome.UNREACHABLE, "The page did not come to its end"),
    (Raw(b"SSH-2.0\r\n"), Outcome.UNREACHABLE, "The connection to the site broke"),
    (Reply(b"\x1f\x8b\x08junk", headers={"Content-Encoding": "gzip"}), Outcome.UNREACHABLE, "arrived damaged"),
    (Stall(), Outcome.UNREACHABLE, "took too long"),
    (good("gadgets"), Outcome.FRESH, None),
    (Reply(prose("plain"), content_type="text/plain"), Outcome.FRESH, None),
]


def test_each_row_of_the_table_ends_as_it_says_and_only_a_removal_removes_the_copy(stores, hurried):
    paths = [f"/p{number}" for number in range(len(TABLE))]
    hurried = hurried.model_copy(update={"max_html_bytes": 300_000, "retry_delays_seconds": (0.05,)})
    with LoopbackSite(
        {"/robots.txt": text("User-agent: *\nDisallow: /private\n"), "/loop": redirect("/loop")}
    ) as server:
        site = Refreshes(stores, hurried, server)
        server.pages.update({path: good(f"subject {path}") for path in paths})
        first = site.run(*paths)
        assert first.outcomes == {Outcome.FRESH: len(TABLE)}
        server.pages.update(zip(paths, (answer for answer, _, _ in TABLE), strict=True))
        second = site.run(*paths)
        for path, (answer, outcome, reason) in zip(paths, TABLE, strict=True):
            found = site.page(path)
            assert found.state.value == outcome.value, (path, answer, found)
            assert (reason in found.reason) if reason else found.reason is None, (path, found.reason)
            assert site.in_index(path) is not outcome.removes_copy, (path, found)
    assert sum(second.outcomes.values()) == len(TABLE)
    assert second.removed == sum(outcome.removes_copy for _, outcome, _ in TABLE)


def test_what_fails_for_the_moment_is_retried_and_what_is_refused_is_not(stores, settings):
    # Each on a connection of its own: a reset of one that was used before is told from a site's by asking again.
    alone = {"headers": {"Connection": "close"}}
    pages = {
        "/busy": [Reply(status=503, **alone), Reply(status=503, **alone), good("busy", **alone)],
        "/reset": [Reset(), good("reset", **alone)],
        "/down": Reply(status=500, **alone),
        "/refused": Reply("no", status=403, **alone),
        "/robots.txt": Reply(status=404, **alone),
    }
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        report = site.run(*(path for path in pages if path != "/robots.txt"))
        counts = {path: server.count(path) for path in pages if path != "/robots.txt"}
    assert counts == {"/busy": 3, "/reset": 2, "/down": 4, "/refused": 2}  # a 403 once more under our own name
    assert report.outcomes == {Outcome.FRESH: 2, Outcome.UNREACHABLE: 2}
    assert report.retries == 2 + 1 + 3
    assert site.page("/down").retry_at > stores.now() + timedelta(minutes=50)
    assert site.page("/refused").retry_at is None
    assert site.page("/down").error == "plain_http: status 500"


def test_other_pages_go_on_while_one_waits_for_its_retry(stores, settings):
    pages = {"/waits": [Reply(status=503), good("waits")], **{f"/{number}": good(str(number)) for number in range(20)}}
    settings = settings.model_copy(update={"retry_delays_seconds": (1.0,), "host_connections": 1})
    with LoopbackSite(pages) as server:
        Refreshes(stores, settings, server).run(*pages)
        order = [request.path for request in server.requests]
    assert order[-1] == "/waits"
    assert order.count("/waits") == 2


def test_a_retry_after_is_obeyed(stores, settings):
    pages = {"/busy": [Reply(status=429, headers={"Retry-After": "1"}), good("busy")]}
    with LoopbackSite(pages) as server:
        report = Refreshes(stores, settings, server).run(*pages)
        first, second = [request for request in server.requests if request.path == "/busy"]
    assert second.at - first.at >= 1.0
    assert report.outcomes == {Outcome.FRESH: 1}


def test_a_second_refresh_asks_conditionally_and_downloads_no_body(stores, settings):
    pages = {"/etag": good("etag", etag='"1"'), "/date": good("date", last_modified="Wed, 21 Oct 2015 07:28:00 GMT")}
    with LoopbackSite({**pages, "/plain": good("plain")}) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages, "/plain")
        before = site.bodies()
        server.forget()
        report = site.run(*pages, "/plain")
        assert server.statuses() == {304: 2, 200: 1, 404: 1}
    assert report.outcomes == {Outcome.UNCHANGED: 3}
    assert report.ladder == {"not_modified": 2, "same_body": 1}
    assert site.bodies() == before


@pytest.mark.parametrize(
    ("headers", "statuses"),
    [
        ({"etag": '"caf\xe9-\xff"'}, [200, 304]),
        ({"etag": '"' + "e" * 9000 + '"'}, [200, 200]),
        ({"last-modified": "gestern, um f\xfcnf"}, [200, 200]),
        ({"last-modified": "Fri, 01 Jan 2999 00:00:00 GMT"}, [200, 200]),
        ({"etag": "unquoted, twice"}, [200, 304]),
        ({"etag": ""}, [200, 200]),
    ],
)
def test_whatever_validators_a_site_sends_its_page_is_asked_again(stores, settings, headers, statuses):
    def answer(request):
        asked = request.headers.get("if-none-match")
        if asked is not None and len(asked) > 8000:
            return Reply(status=431)
        return Reply(status=304) if asked and asked == headers.get("etag") else good(headers=headers)

    with LoopbackSite({"/a": answer}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        assert site.run("/a").outcomes == {Outcome.UNCHANGED: 1}
        assert [request.status for request in server.requests if request.path == "/a"] == statuses


def test_a_changed_page_replaces_its_copy(stores, settings):
    with LoopbackSite({"/a": good("first", etag='"1"')}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        server.pages["/a"] = good("second", etag='"2"')
        report = site.run("/a")
    assert report.outcomes == {Outcome.FRESH: 1}
    assert [(row.change, row.url) for row in report.changes] == [("changed", server.url("/a"))]
    assert b"Second" in site.bodies()[site.page("/a").page_id]
    assert site.page("/a").etag == '"2"'


def test_a_page_that_was_removed_is_asked_unconditionally_and_comes_back(stores, settings):
    with LoopbackSite({"/a": good("first", etag='"1"')}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        server.pages["/a"] = Reply(status=404)
        site.run("/a")
        assert not site.in_index("/a")
        server.pages["/a"] = good("first", etag='"1"')
        report = site.run("/a")
    assert report.outcomes == {Outcome.FRESH: 1}
    assert site.in_index("/a")


def test_a_page_that_left_the_sitemap_is_asked_before_it_is_dropped(stores, settings):
    with LoopbackSite({"/a": good("a"), "/b": good("b"), "/c": good("c")}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a", "/b", "/c")
        server.pages["/c"] = Reply(status=410)
        site.run("/a")
    assert site.in_index("/b")
    assert not site.in_index("/c")


def test_a_redirect_makes_a_duplicate_and_puts_its_target_on_the_list(stores, settings):
    with LoopbackSite({"/old": redirect("/new"), "/new": good("new")}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/old")
    assert site.page("/old").state is PageStatus.DUPLICATE
    assert site.page("/old").duplicate_of == site.page("/new").page_id
    assert site.page("/new").state is PageStatus.FRESH
    assert [alias.url for alias in stores.aliases.of_page(SITE, site.page("/new").page_id)] == [server.url("/old")]


def test_a_redirect_that_is_known_is_not_followed_again(stores, settings):
    with LoopbackSite({"/old": redirect("/new"), "/new": good("new", etag='"1"')}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/old", "/new")
        server.forget()
        report = site.run("/old", "/new")
        assert (server.count("/old"), server.count("/new")) == (1, 1)
        assert report.outcomes == {Outcome.DUPLICATE: 1, Outcome.UNCHANGED: 1}
        server.pages |= {"/old": redirect("/other"), "/other": good("other")}
        site.run("/old", "/new")
    assert site.page("/old").duplicate_of == site.page("/other").page_id


@pytest.mark.parametrize("settled", [True, False], ids=["removed", "held"])
def test_a_page_that_redirected_for_a_while_comes_back_as_it_was(stores, settings, settled):
    pages = mass() | {"/": good("home", etag='"home"')}
    pages = {path: good(path, etag=f'"{path}"') for path in pages}
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.update({path: redirect("/", 302) for path in pages if path != "/"})
        site.run(*pages)
        if settled:
            assert site.run(*pages).removed == 30
        server.pages.update(pages)
        report = site.run(*pages)
        assert report.outcomes[Outcome.DUPLICATE] == 0
        assert all(site.in_index(path) for path in pages)
        assert {path: site.page(path).duplicate_of for path in pages} == dict.fromkeys(pages)
        assert site.run(*pages).outcomes == {Outcome.UNCHANGED: 31}


def test_a_copy_stays_until_the_page_that_it_moved_to_is_in(stores, settings):
    with LoopbackSite({"/old": good("moving")}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/old")
        server.pages.update({"/old": redirect("/new"), "/new": [good("moving"), Reply(status=500)]})
        site.run("/old")
        assert site.in_index("/old")
        server.pages["/new"] = good("moving")
        site.run("/old")
    assert site.in_index("/new")
    assert not site.in_index("/old")


def test_a_redirect_to_a_page_that_the_owner_left_out_keeps_the_copy(stores, settings):
    with LoopbackSite({"/old": good("moving")}) as server:
        site = Refreshes(stores, settings, server, exclude=("/drafts/*",))
        site.run("/old")
        server.pages.update({"/old": redirect("/drafts/new"), "/drafts/new": good("moving")})
        site.run("/old")
    assert site.page("/old").state is PageStatus.UNREACHABLE
    assert "left out" in site.page("/old").reason
    assert site.in_index("/old")


def canonical(subject, address):
    return good(subject, head_extra=f'<link rel=canonical href="{address}">')


def test_a_copy_under_another_address_folds_into_the_canonical_page(stores, settings):
    with LoopbackSite({"/p": canonical("pricing", "/p"), "/p?currency=eur": canonical("pricing", "/p")}) as server:
        site = Refreshes(stores, settings, server)
        report = site.run("/p", "/p?currency=eur")
        assert report.folded == 1
        assert report.outcomes == {Outcome.FRESH: 1, Outcome.DUPLICATE: 1}
        assert not site.in_index("/p?currency=eur")
        again = site.run("/p", "/p?currency=eur")
        assert again.outcomes == {Outcome.UNCHANGED: 1, Outcome.DUPLICATE: 1}
        assert again.ladder == {"same_body": 1}
        assert site.page("/p?currency=eur").reason.startswith("The page names")


@pytest.mark.parametrize("address", ["/", "/missing", "https://elsewhere.example/", "/private/a", "not a url:"])
def test_a_broken_canonical_link_costs_no_page(stores, settings, address):
    pages = {"/": good("home"), "/robots.txt": text("User-agent: *\nDisallow: /private\n")}
    with LoopbackSite(pages | {f"/{name}": canonical(name, address) for name in ("a", "b", "c")}) as server:
        site = Refreshes(stores, settings, server)
        report = site.run("/", "/a", "/b", "/c", "/private/a")
        assert report.folded == 0
        assert all(site.in_index(path) for path in ("/", "/a", "/b", "/c"))


def test_links_join_the_list_when_nothing_else_lists_the_site(stores, settings):
    pages = {
        "/": page("Home", prose("home"), links=["/a", "/b", "https://elsewhere.example/"]),
        "/a": page("A", prose("a"), links=["/a/deep"], head_extra="<meta name=robots content=nofollow>"),
        "/b": page("B", prose("b"), links=["/b/deep"]),
        "/b/deep": good("deep"),
    }
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        refresh = site.start()
        home = Discovered(page_id(url_key(server.url("/"))), server.url("/"), PageSource.GIVEN)
        stores.pages.record_discovered(SITE, refresh.generation, [home], stores.now())
        report = site.fetch()
    assert report.outcomes == {Outcome.FRESH: 4}
    assert site.page("/b/deep").depth == 2
    assert site.page("/a/deep") is None


def test_an_unreadable_robots_file_fetches_nothing_and_removes_nothing(stores, settings):
    with LoopbackSite({"/a": good("a"), "/robots.txt": text("")}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        stores.robots_files.put(f"http://127.0.0.1:{server.port}", 200, b"", stores.now() - timedelta(days=2))
        server.pages["/robots.txt"] = Reply(status=500)
        server.forget()
        site.run("/a")
        assert server.count("/a") == 0
    assert site.page("/a").state is PageStatus.UNREACHABLE
    assert site.in_index("/a")


def test_the_last_good_robots_file_serves_for_a_day(stores, settings):
    with LoopbackSite(
        {"/a": good("a"), "/private": good("p"), "/robots.txt": text("User-agent: *\nDisallow: /private")}
    ) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        server.pages["/robots.txt"] = Reply(status=503)
        site.run("/a", "/private")
    assert site.page("/a").state is PageStatus.UNCHANGED
    assert site.page("/private").state is PageStatus.FORBIDDEN


META = {"head_extra": "<meta name=robots content=noindex>"}
HEADER = {"headers": {"X-Robots-Tag": "noindex"}}


@pytest.mark.parametrize("says", [META, HEADER], ids=["meta", "header"])
@pytest.mark.parametrize("validator", ['"1"', None], ids=["304", "same body"])
def test_an_unchanged_page_is_judged_by_what_the_site_says_of_noindex_now(stores, settings, says, validator):
    def answer(request):
        # Some servers leave such headers away from a 304.
        same = validator is not None and request.headers.get("if-none-match") == validator
        return Reply(status=304) if same else good("a", etag=validator, **says)

    with LoopbackSite({"/a": answer, "/b": good("b", etag='"b"')}) as server:
        site = Refreshes(stores, settings, server, ignore_noindex=True)
        site.run("/a", "/b")
        assert site.run("/a", "/b").outcomes == {Outcome.UNCHANGED: 2}
        for _ in range(2):
            stores.sites.set_options(SITE, SiteOptions(ignore_noindex=False))
            assert site.run("/a", "/b").outcomes[Outcome.FORBIDDEN] == 1
            assert not site.in_index("/a")
            assert site.in_index("/b")
            stores.sites.set_options(SITE, SiteOptions(ignore_noindex=True))
            site.run("/a", "/b")
            assert site.in_index("/a")
        server.forget()
        assert site.run("/a", "/b").outcomes == {Outcome.UNCHANGED: 2}


def test_a_page_that_is_only_read_again_is_no_change(stores, settings):
    with LoopbackSite({"/a": good("a", etag='"1"')}) as server:
        site = Refreshes(stores, settings, server, ignore_noindex=True)
        site.run("/a")
        stores.sites.set_options(SITE, SiteOptions())
        report = site.run("/a")
        assert (report.outcomes, report.changes) == ({Outcome.FRESH: 1}, [])
        assert site.run("/a").outcomes == {Outcome.UNCHANGED: 1}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, {"follow_links": True}, {"/linked"}),
        ({"follow_links": True}, {"follow_links": True, "ignore_nofollow": True}, {"/linked", "/private"}),
        ({"follow_links": True, "max_depth": 0}, {"follow_links": True}, {"/linked"}),
    ],
    ids=["follow_links", "ignore_nofollow", "max_depth"],
)
def test_links_of_unchanged_pages_join_once_the_site_wants_them(stores, settings, before, after, found):
    linking = prose("a") + '<a href="/linked">x</a><a href="/private" rel=nofollow>x</a>'
    pages = {"/linked": good("linked"), "/private": good("private"), "/a": page("A", linking, etag='"a"')}
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server, **before)
        site.run("/a")
        stores.sites.set_options(SITE, SiteOptions(**after))
        site.run("/a")
        assert {path for path in ("/linked", "/private") if site.page(path)} == found
        assert site.run("/a").outcomes[Outcome.UNCHANGED] == 1 + len(found)


def test_what_the_time_limit_leaves_over_is_deferred_and_kept(stores, settings):
    pages = {f"/{number}": good(str(number), delay=0.3) for number in range(12)}
    settings = settings.model_copy(update={"host_connections": 1})
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server, time_limit_minutes=1 / 60)
        report = site.run(*pages)
    assert report.outcomes[Outcome.DEFERRED] >= 5
    assert report.outcomes[Outcome.FRESH] >= 1
    assert sum(report.outcomes.values()) == 12


def test_a_site_that_asks_to_be_left_alone_is_left_alone(stores, settings):
    pages = {f"/{number}": Reply(status=429, headers={"Retry-After": "3600"}) for number in range(8)}
    settings = settings.model_copy(update={"host_connections": 3})
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        report = site.run(*pages)
        assert server.statuses()[429] == 3
    assert report.outcomes == {Outcome.DEFERRED: 5, Outcome.UNREACHABLE: 3}
    assert site.page("/0").retry_at > stores.now() + timedelta(minutes=50)


def mass(count=30):
    return {f"/{number}": good(f"subject {number}") for number in range(count)}


def test_a_mass_removal_is_held_and_the_next_refresh_confirms_it(stores, settings):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.clear()
        broken = site.run(*pages)
        assert (broken.removed, broken.removals_held) == (0, 30)
        assert all(site.in_index(path) for path in pages)
        assert stores.refreshes.latest(SITE).held_removals == 30
        confirmed = site.run(*pages)
    assert (confirmed.removed, confirmed.removals_held) == (30, 0)


def test_running_the_held_refresh_again_confirms_nothing(stores, settings):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.clear()
        site.start(*pages)
        assert site.fetch().removals_held == 30
        assert site.fetch().removals_held == 30
        stores.refreshes.confirm_removals(SITE, 2, stores.now())
        assert site.fetch().removed == 30


def test_a_site_that_is_noindex_all_at_once_is_held_in_whatever_words_the_reason_is_told(stores, settings):
    pages = mass(6)
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.update({path: good(path, **HEADER) for path in pages})
        site.start(*pages)
        assert site.fetch().removals_held == 6
        reworded = b"UPDATE pages SET reason = 'told by a program of another version'"
        stores.database.execute(Query("reworded", reworded))
        again = site.fetch()
    assert (again.removed, again.removals_held) == (0, 6)


def test_a_site_that_recovers_forgets_that_removals_were_held(stores, settings):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.clear()
        site.run(*pages)
        server.pages.update(pages)
        site.run(*pages)
        server.pages.clear()
        assert site.run(*pages).removals_held == 30


def pages_are_out_of_order(_stores, site, server, pages):
    server.pages.update(dict.fromkeys(pages, Reply("later", status=503)))
    site.run(*pages)


def the_list_is_not_to_be_had(stores, _site, _server, _pages):
    refresh = stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, stores.now())
    stores.refreshes.finish(SITE, refresh.generation, RefreshOutcome.FAILED, "no list", stores.now())


def pages_are_asked_to_wait_for(_stores, site, server, pages):
    server.pages.update(dict.fromkeys(pages, Reply("later", status=429, headers={"Retry-After": "86000"})))
    site.run(*pages)


def pages_lead_to_one(_stores, site, server, pages):
    first, *others = pages
    server.pages.update({first: pages[first]} | dict.fromkeys(others, redirect(first)))
    site.run(*pages)


@pytest.mark.parametrize(
    "between",
    [
        pages_are_out_of_order,
        the_list_is_not_to_be_had,
        pages_are_asked_to_wait_for,
        pages_lead_to_one,
    ],
)
def test_a_night_that_says_something_else_between_two_that_find_pages_gone_confirms_nothing(stores, settings, between):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings.model_copy(update={"retry_delays_seconds": ()}), server)
        site.run(*pages)
        server.pages.clear()
        site.run(*pages)
        between(stores, site, server, pages)
        assert all(site.in_index(path) for path in pages)
        server.pages.clear()
        again = site.run(*pages)
        assert (again.removed, again.removals_held) == (0, 30)
        assert site.run(*pages).removed == 30


def test_all_pages_redirecting_to_one_are_held_as_a_mass_removal(stores, settings):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run("/", *pages)
        server.pages.update({path: redirect("/", 302) for path in pages} | {"/": good("maintenance")})
        report = site.run("/", *pages)
    assert report.removals_held == 30
    assert all(site.in_index(path) for path in pages)


def test_a_folder_that_moved_is_no_mass_removal(stores, settings):
    pages = mass()
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.run(*pages)
        server.pages.update({f"/new{path}": answer for path, answer in pages.items()})
        server.pages.update({path: redirect(f"/new{path}") for path in pages})
        report = site.run(*pages)
    assert report.removals_held == 0
    assert report.outcomes == {Outcome.DUPLICATE: 30, Outcome.FRESH: 30}
    assert report.removed == 30


def test_a_bad_night_removes_nothing_and_the_next_refresh_completes(stores, hurried):
    pages = mass(40)
    hurried = hurried.model_copy(update={"retry_delays_seconds": ()})
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, hurried, server)
        server.faults = [
            Fault(Reply(status=503), share=0.2),
            Fault(Reset(), share=0.2, salt="r"),
            Fault(Stall(), share=0.1, salt="s"),
        ]
        night = site.run(*pages)
        assert night.outcomes[Outcome.UNREACHABLE] > 5
        server.faults = []
        morning = site.run(*pages)
    assert morning.outcomes[Outcome.UNCHANGED] == night.outcomes[Outcome.FRESH]
    assert morning.outcomes[Outcome.FRESH] == night.outcomes[Outcome.UNREACHABLE]


def test_pages_are_not_fetched_before_approval(stores, settings):
    with LoopbackSite({"/a": good()}) as server:
        site = Refreshes(stores, settings, server)
        with pytest.raises(NothingDiscovered):
            site.fetch()
        site.start("/a", approve=False)
        with pytest.raises(NotApproved):
            site.fetch()
        assert server.requests == []


def test_a_site_without_a_document_says_what_became_of_its_pages(stores, hurried):
    pages = {f"/{name}": Reply("", status=404) for name in "abc"} | {"/busy": Reply("", status=503)}
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, hurried, server)
        site.run(*pages)
        with pytest.raises(NothingToPublish) as refusal:
            publish(stores, hurried, SITE, embedder=HashEmbedder())
    told = "(3 pages: We couldn't find this page (404); 1 page: The site has a problem of its own (status 503))"
    assert str(refusal.value).endswith(told)


def test_two_runs_of_one_site_cannot_both_fetch(stores, settings):
    with LoopbackSite({"/a": good()}) as server:
        site = Refreshes(stores, settings, server)
        site.start("/a")
        with stores.site_lock(SITE, "another run"), pytest.raises(SiteBusy, match="another run"):
            site.fetch()


def test_a_run_that_is_told_to_stop_leaves_the_rest_due_and_the_next_one_goes_on(stores, settings):
    pages = {f"/{number}": good(str(number), delay=0.05) for number in range(30)}
    answers = iter([True] * 6)
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.start(*pages)
        stopped = site.fetch(keep_going=lambda: next(answers, False))
        assert stopped.stopped_early
        assert 0 < stopped.outcomes[Outcome.FRESH] < 30
        finished = site.fetch()
        assert finished.outcomes == {Outcome.FRESH: 30}
        assert max(server.count(path) for path in pages) <= 2
    assert stores.refreshes.open(SITE).counts["requests"] >= 30


def thin(text="Too short."):
    return page("Short", text, etag=f'"{len(text)}"')


def test_a_thin_page_that_has_not_changed_is_not_downloaded_again(stores, settings):
    with LoopbackSite({"/a": thin(), "/b": page("Short", "Without a validator.")}) as server:
        site = Refreshes(stores, settings, server)
        first = site.run("/a", "/b")
        before = [site.page(path).reason for path in ("/a", "/b")]
        again = site.run("/a", "/b")
        assert [site.page(path).reason for path in ("/a", "/b")] == before
        assert first.outcomes == again.outcomes == {Outcome.THIN: 2}
        assert site.page("/a").status_code == 304
        server.pages["/a"] = good()
        assert site.run("/a", "/b").outcomes == {Outcome.FRESH: 1, Outcome.THIN: 1}


def test_a_page_that_turned_thin_keeps_its_copy_and_comes_back_to_it(stores, settings):
    with LoopbackSite({"/a": good(etag='"good"')}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        server.pages["/a"] = thin()
        site.run("/a")
        assert site.run("/a").outcomes == {Outcome.THIN: 1}
        assert site.in_index("/a")
        server.pages["/a"] = good(etag='"good"')
        assert site.run("/a").outcomes == {Outcome.FRESH: 1}
        assert site.run("/a").outcomes == {Outcome.UNCHANGED: 1}


def test_a_thin_page_is_read_again_by_a_better_extractor(stores, settings, monkeypatch):
    with LoopbackSite({"/a": thin()}) as server:
        site = Refreshes(stores, settings, server)
        site.run("/a")
        monkeypatch.setattr("kb_pipeline.core.extract.EXTRACTOR_VERSION", "another")
        assert site.run("/a").outcomes == {Outcome.THIN: 1}
        assert site.page("/a").status_code == 200


def test_what_a_broken_run_had_asked_for_stays_counted(stores, settings):
    pages = {f"/{number}": good(str(number)) for number in range(2)}

    class Breaks(Exception):
        """As a kill would come: after a commit, before the run's end."""

    def broken(_what: str, done: int, _total: int | None) -> None:
        if done:
            raise Breaks

    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server)
        site.start(*pages)
        with pytest.raises(Breaks):
            site.fetch(progress=broken)
        assert stores.refreshes.open(SITE).counts["requests"] > 0
        site.fetch()
    assert stores.refreshes.open(SITE).counts["requests"] == 2


def test_the_fetching_is_told_before_the_first_page_of_a_slow_site_has_come(stores, settings):
    told: list[tuple[str, int, int | None, int]] = []
    with LoopbackSite({"/a": good("a"), "/b": good("b")}) as server:
        site = Refreshes(stores, settings, server)
        site.start("/a", "/b")
        site.fetch(progress=lambda *said: told.append((*said, server.count("/a") + server.count("/b"))))
    assert told[0] == ("fetching pages", 0, 2, 0)


def test_a_bug_on_one_page_ends_that_page_alone(stores, settings):
    class Stumbling(PlainHttp):
        async def fetch(self, request):
            if request.url.endswith("/bad"):
                raise ZeroDivisionError
            return await super().fetch(request)

    def tiers(workshop):
        return [Stumbling(workshop.client, workshop.settings, on_redirect=workshop.on_redirect)]

    with LoopbackSite({"/bad": good("bad"), "/fine": good("fine")}) as server:
        site = Refreshes(stores, settings, server)
        report = site.run("/bad", "/fine", tiers_for=tiers)
    assert report.outcomes == {Outcome.FRESH: 1, Outcome.UNREACHABLE: 1}
    assert "ZeroDivisionError" in site.page("/bad").error


def test_requests_to_a_host_keep_their_gap(stores, settings):
    pages = {f"/{number}": good(str(number)) for number in range(5)}
    with LoopbackSite(pages) as server:
        site = Refreshes(stores, settings, server, request_gap_seconds=0.15)
        started = time.monotonic()
        site.run(*pages)
        starts = sorted(request.at - started for request in server.requests)
    assert len(starts) == 6
    assert all(start >= 0.15 * number - 0.02 for number, start in enumerate(starts))


def test_a_crawl_delay_is_honoured_up_to_the_cap(stores, settings):
    pages = {f"/{number}": good(str(number)) for number in range(4)}
    settings = settings.model_copy(update={"max_crawl_delay_seconds": 0.2})
    with LoopbackSite({**pages, "/robots.txt": text("User-agent: *\nCrawl-delay: 10\n")}) as server:
        Refreshes(stores, settings, server).run(*pages)
        robots = next(request.at for request in server.requests)
        starts = sorted(request.at - robots for request in server.requests[1:])
    assert all(start >= 0.2 * number - 0.02 for number, start in enumerate(starts))
    assert starts[-1] < 10
