"""`kb scrape` shows what the chain makes of one page."""

from __future__ import annotations

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline_tests.sites.replies import Reply, page, prose
from kb_pipeline_tests.sites.server import LoopbackSite

AUTHOR = '<meta name="author" content="Ada Lovelace">'


@pytest.fixture
def site(monkeypatch):
    for name, value in {"ALLOW_PRIVATE": "127.0.0.1", "REQUEST_GAP_SECONDS": "0", "TIERS": "plain_http"}.items():
        monkeypatch.setenv(f"KB_{name}", value)
    with LoopbackSite({"/a": page("About a", *(prose(f"part {n}", 1) for n in range(30)), head_extra=AUTHOR)}) as web:
        yield web


def test_a_page_is_shown_with_what_each_tier_made_of_it(call, site):
    answer = call("scrape", site.url("/a"))
    assert answer.code == ExitCode.OK
    assert answer.out.startswith("Read by plain http.\n")
    assert all(
        part in answer.out for part in ("About a", "Ada Lovelace", "won", "document", "# About a", "more lines: --text")
    )


def test_its_text_alone_can_be_written_to_a_file(call, site):
    answer = call("scrape", site.url("/a"), "--text")
    assert answer.out.startswith("# About a\n")
    assert answer.out.count("Sentence 0") == 30


def test_it_answers_in_json(call, site):
    found = call("scrape", site.url("/a"), "--json").json
    assert (found["ok"], found["tier"], found["attempts"][0]["answer"]) == (True, "plain_http", "document")


def test_a_page_that_gives_nothing_says_why_with_an_exit_code_of_its_own(call, site):
    answer = call("scrape", site.url("/missing"))
    assert answer.code == ExitCode.REFUSED
    assert answer.out.startswith("No page: We couldn't find this page (404).\n")
    site.pages["/down"] = Reply("", status=503)
    assert "Another time it may work." in call("scrape", site.url("/down")).out


def test_what_is_no_address_is_a_usage_error(call):
    assert call("scrape", "docs").code == ExitCode.USAGE


def test_nothing_of_a_page_is_taken_for_markup(call, site):
    site.pages["/m"] = page("[red]Trap[/red] [/x]", prose("[bold]x[/bold]"))
    assert "[red]Trap[/red] [/x]" in call("scrape", site.url("/m")).out
