"""`kb why` has an answer for any address."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.model import Discovered, PageSource
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.indexing import ChunkedPage, Indexing
from kb_pipeline.store.ledger_texts import LedgerTexts, PageText

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


def test_a_page_that_is_indexed_says_so_with_its_history(kb, site):
    LedgerTexts(site.database).record("docs", [PageText(key(HOME + "a"), "About a", 1234)])
    Indexing(site.database).record_chunks("docs", [ChunkedPage(key(HOME + "a"), None, 3)])
    Indexing(site.database).mark_live("docs", [key(HOME + "a")], NOW)
    answer = kb("why", HOME + "a")
    assert answer.out.startswith("In the knowledge base")
    assert all(part in answer.out for part in ("About a", "1,234 characters", "2026-01-02 03:04:05Z", "sitemap"))


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
