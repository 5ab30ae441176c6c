"""`kb why` has an answer for any address."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.fetch.answers import Answer, TierResult
from kb_pipeline.fetch.tiers.plain_http import PlainHttp
from kb_pipeline.model import Discovered, PageSource
from kb_pipeline.stages import lifecycle
from kb_pipeline.stages.chunk import make_chunks
from kb_pipeline.stages.discover import discover
from kb_pipeline.stages.embed import embed_chunks
from kb_pipeline.stages.extract import extract_texts
from kb_pipeline.stages.fetch import fetch_pages
from kb_pipeline.stages.publish import publish, rollback
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.indexing import Indexing
from kb_pipeline_tests.embed.hash_embedder import HashEmbedder
from kb_pipeline_tests.fetch.scripted import Scripted
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
HOME = "https://example.org/"


def key(url: str) -> str:
    return page_id(url_key(url))


@pytest.fixture
def site(stores):
    """A site with one page of each kind that discovery alone can make."""
    stores.sites.add("docs", HOME)
    stores.pages.record_discovered(
        "docs",
        1,
        [
            Discovered(key(HOME + "a"), HOME + "a", PageSource.SITEMAP),
            Discovered(
                key(HOME + "login"), HOME + "login", PageSource.LINK, excluded_because="is a login or registration page"
            ),
            Discovered(
                key(HOME + "private"),
                HOME + "private",
                PageSource.SITEMAP,
                excluded_because="robots.txt forbids it",
                forbidden=True,
            ),
        ],
        NOW,
    )
    return stores


@pytest.mark.usefixtures("site")
def test_a_page_that_is_left_out_is_explained_with_its_reason(kb):
    answer = kb("why", HOME + "login")
    assert answer.code == ExitCode.OK
    assert "Not in the knowledge base: the page is left out. It is a login or registration page." in answer.out


@pytest.mark.usefixtures("site")
def test_a_page_that_robots_txt_forbids_says_so(kb):
    [found] = kb("why", HOME + "private", "--json").json
    assert found["page"]["state"] == "forbidden"
    assert "robots.txt forbids it" in found["verdict"]
    assert not found["indexed"]


class ServedSite:
    """The site "served" of two pages on loopback, taken through the pipeline step by step."""

    def __init__(self, web, stores, settings) -> None:
        self.web, self.stores, self.embedder = web, stores, HashEmbedder()
        self.settings = settings.model_copy(update={"auto_approve_pages": 10})
        stores.sites.add("served", web.url("/"))

    def fetch(self) -> None:
        discover(self.stores, self.settings, "served")
        fetch_pages(self.stores, self.settings, "served")

    def derive(self) -> None:
        extract_texts(self.stores, self.settings, "served")
        make_chunks(self.stores, self.settings, "served")
        embed_chunks(self.stores, self.settings, "served", embedder=self.embedder)

    def publish(self) -> None:
        publish(self.stores, self.settings, "served", embedder=self.embedder)

    def refresh(self) -> None:
        self.fetch()
        self.derive()
        self.publish()


@pytest.fixture
def served(stores, settings):
    pages = {f"/{name}": page(f"About {name}", prose(name)) for name in ("a", "b")}
    with LoopbackSite(pages) as web:
        web.pages["/sitemap.xml"] = sitemap(*map(web.url, pages))
        yield ServedSite(web, stores, settings)


def test_a_page_that_is_live_says_so_with_its_history(kb, served):
    served.refresh()
    answer = kb("why", served.web.url("/a"))
    assert answer.out.startswith("In the knowledge base: the page was fetched, and its text was new.\n")
    assert all(part in answer.out for part in ("About a", "characters", "sitemap", "live version", "refresh 1, since"))


def test_in_the_midst_of_the_first_import_no_page_is_said_to_be_searchable(kb, served):
    discover(served.stores, served.settings, "served")
    said = kb("why", served.web.url("/a")).out
    assert said.startswith("Not in the knowledge base: the page is known and has not been fetched yet.")
    assert "Search finds it once it is live; refresh 1 has still to fetch 2 of 2 pages" in said
    fetch_pages(served.stores, served.settings, "served")
    for step in (served.derive, served.publish):
        [found] = kb("why", served.web.url("/a"), "--json").json
        assert found["verdict"].startswith("Not live yet: the page was fetched")
        assert "refresh 1 has fetched its pages, and has still to embed and check them" in found["verdict"]
        assert not found["indexed"]
        step()
    assert kb("why", served.web.url("/a")).out.startswith("In the knowledge base")


def test_the_ledger_alone_does_not_make_a_page_searchable(kb, served):
    """A run that was killed between its note in the ledger and the publication leaves them so."""
    served.fetch()
    served.derive()
    Indexing(served.stores.database).mark_live("served", [key(served.web.url("/a"))], NOW)
    [found] = kb("why", served.web.url("/a"), "--json").json
    assert found["verdict"].startswith("Not live yet")
    assert not found["indexed"]


def test_a_text_that_is_newer_than_what_is_live_is_told_apart_from_it(kb, served):
    served.refresh()
    served.web.pages["/a"] = page("About a", prose("something else"))
    served.fetch()
    said = kb("why", served.web.url("/a")).out
    assert said.startswith("In the knowledge base")
    assert "What search finds is the text before; refresh 2 has fetched its pages" in said
    lifecycle.fail(served.stores, "served", reason="a check said no")
    assert (
        "What search finds is the text before; refresh 2 failed: a check said no."
        in kb("why", served.web.url("/a")).out
    )
    assert "the text before" not in kb("why", served.web.url("/b")).out


def test_after_a_roll_back_what_search_finds_is_told_apart_from_what_was_fetched(kb, served):
    served.refresh()
    served.web.pages["/a"] = page("About a", prose("something else"))
    served.refresh()
    rollback(served.stores, served.settings, "served")
    said = kb("why", served.web.url("/a")).out
    assert "What search finds is the text before; the site was rolled back to refresh 1" in said
    assert "rolled back" not in kb("why", served.web.url("/b")).out.splitlines()[0]


def row_of(tier, said):
    """The cells of the tier's row."""
    [line] = [line for line in said.splitlines() if re.search(rf"(won)? +{tier}  ", line)]
    return re.split(r" {2,}", line.strip())


def test_what_was_tried_is_a_table(kb, served):
    served.refresh()
    assert row_of("plain http", kb("why", served.web.url("/a")).out)[:3] == ["won", "plain http", "document"]
    del served.web.pages["/a"]
    served.fetch()
    cells = row_of("plain http", kb("why", served.web.url("/a")).out)
    assert cells[:4] == ["plain http", "not found", "status 404", "1"]


def test_every_tier_has_a_row_with_its_cost_and_why_it_lost(kb, served):
    class Paid(Scripted):
        async def fetch(self, request):
            page = await PlainHttp.fetch(self.plain, request)
            return replace(page, tier="browser_content", calls=2, degraded="a frame's words only", wire_bytes=4321)

    def tiers_for(workshop):
        paid = Paid("browser_content")
        paid.plain = PlainHttp(workshop.client, workshop.settings)
        return (
            Scripted("plain_http", TierResult("plain_http", Answer.JS_SHELL, "nothing but scripts", requests=1)),
            paid,
        )

    discover(served.stores, served.settings, "served")
    fetch_pages(served.stores, served.settings, "served", tiers_for=tiers_for)
    answer = kb("why", served.web.url("/a"))
    assert row_of("plain http", answer.out)[:4] == ["plain http", "JavaScript only", "nothing but scripts", "1"]
    won = row_of("browser content", answer.out)
    assert won[:3] == ["won", "browser content", "document"]
    assert {"2", "4,321", "a frame's words only"} <= set(won)
    [found] = kb("why", served.web.url("/a"), "--json").json
    assert [(tier["tier"], tier["won"], tier.get("calls", 0)) for tier in found["tiers"]] == [
        ("plain_http", False, 0),
        ("browser_content", True, 2),
    ]


@pytest.mark.usefixtures("site")
def test_a_page_that_no_tier_was_asked_for_has_no_table(kb):
    assert "tried" not in kb("why", HOME + "login").out


def test_a_page_that_is_gone_is_searchable_until_its_removal_is_live(kb, served):
    served.refresh()
    del served.web.pages["/a"]
    served.fetch()
    [found] = kb("why", served.web.url("/a"), "--json").json
    assert found["indexed"]
    assert "Search finds its last copy until the removal is live; refresh 2" in found["verdict"]
    served.derive()
    served.publish()
    [found] = kb("why", served.web.url("/a"), "--json").json
    assert (found["indexed"], found["awaits"]) == (False, None)
    assert found["verdict"].startswith("Not in the knowledge base: the page is gone from the site.")


@pytest.mark.usefixtures("site")
def test_fragments_tracking_parameters_and_the_www_twin_find_the_page(kb):
    for spelled in ("https://example.org/a#part", "https://www.example.org/a?utm_source=x", "http://EXAMPLE.org/a"):
        assert [found["url"] for found in kb("why", spelled, "--json").json] == [HOME + "a"]


def test_an_alias_leads_to_its_page(kb, site):
    old = HOME + "old-a"
    site.aliases.add("docs", [Alias(key(old), old, key(HOME + "a"), "redirect")], NOW)
    [found] = kb("why", old, "--json").json
    assert (found["url"], found["known_as"]) == (HOME + "a", "redirect")


@pytest.mark.usefixtures("site")
def test_a_page_that_was_never_seen_says_which_site_covers_it(kb):
    answer = kb("why", HOME + "never", "--json")
    assert answer.code == ExitCode.NOT_FOUND
    assert answer.json["sites"] == ["docs"]
    assert "no sitemap, feed or link" in answer.json["reason"]


@pytest.mark.usefixtures("site")
def test_a_page_of_no_registered_site_says_so(kb):
    answer = kb("why", "https://elsewhere.example/x")
    assert answer.code == ExitCode.NOT_FOUND
    assert "no registered site covers this address" in answer.out


def test_two_sites_with_the_same_page_are_both_explained_or_one_by_choice(kb, site):
    site.sites.add("twin", HOME)
    site.pages.record_discovered("twin", 1, [Discovered(key(HOME + "a"), HOME + "a", PageSource.LINK)], NOW)
    assert [found["site_id"] for found in kb("why", HOME + "a", "--json").json] == ["docs", "twin"]
    assert [found["site_id"] for found in kb("why", HOME + "a", "--site", "twin", "--json").json] == ["twin"]


@pytest.mark.parametrize("url", ["a", "/docs/a", "mailto:a@example.org", "http://", ""])
def test_what_is_no_address_is_a_usage_error(kb, url):
    assert kb("why", url).code == ExitCode.USAGE


def test_what_a_site_says_is_shown_as_it_is(kb, site):
    site.pages.record_discovered(
        "docs",
        2,
        [Discovered(key(HOME + "m"), HOME + "m", PageSource.LINK, excluded_because="is [/x] [red]a trap[/red]")],
        NOW,
    )
    assert "It is [/x] [red]a trap[/red]." in kb("why", HOME + "m").out
