"""The life of a site from a shell: estimated, approved, refreshed, searched, rolled back, removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from kb_pipeline.cli.exit_codes import ExitCode
from kb_pipeline.model import SiteState
from kb_pipeline.store.usage import Allowance
from kb_pipeline_tests.sites.replies import page, prose, sitemap
from kb_pipeline_tests.sites.server import LoopbackSite


@pytest.fixture
def site():
    """Four pages, of which one is about ferries."""
    pages = {f"/{name}": page(name.title(), prose(name)) for name in ("a", "b", "c")}
    pages["/ferries"] = page(
        "Ferries", "<p>" + "The ferry to Samsø leaves the harbour at seven in the morning. " * 8 + "</p>"
    )
    with LoopbackSite(pages) as served:
        served.pages["/sitemap.xml"] = sitemap(*(served.url(path) for path in pages))
        yield served


@pytest.fixture
def registered(kb, site):
    """The site, registered and not yet approved."""
    assert kb("sites", "add", "docs", site.url("/"), "--set", "request_gap_seconds=0").code == ExitCode.OK
    return site


def test_a_site_goes_from_registration_to_answers_and_away(kb, registered, stores):
    estimated = kb("sites", "estimate", "docs", "--json")
    assert estimated.code == ExitCode.OK
    assert estimated.json["estimate"]["pages"] == 4
    assert stores.sites.get("docs").state is SiteState.AWAITING_APPROVAL
    assert "kb sites approve docs" in kb("status").out

    refused = kb("sites", "refresh", "docs")
    assert refused.code == ExitCode.WAITS_FOR_APPROVAL
    assert "No page of docs was fetched: it waits for approval" in refused.err
    assert "is live" not in refused.out
    assert "emitted no result" not in refused.err
    assert registered.count("/ferries") <= 2  # each of the two discoveries took its small sample, and no more

    before = kb("search", "When does the ferry leave?")
    assert before.code == ExitCode.NOT_FOUND
    assert "nothing of site 'docs' is live yet: its import waits for approval: kb sites approve docs" in before.err
    assert kb("sites", "approve", "docs").code == ExitCode.OK
    refreshed = kb("sites", "refresh", "docs", "--json")
    assert refreshed.code == ExitCode.OK, refreshed.err
    assert [stage["asset"] for stage in refreshed.json["stages"]] == [
        "discovered_urls",
        "fetched_pages",
        "extracted_text",
        "chunks",
        "embeddings",
        "live_index",
    ]

    best = kb("search", "When does the ferry leave?", "--json").json[0]
    assert best["url"].startswith(registered.url("/ferries"))
    assert "seven in the morning" in kb("search", "When does the ferry leave?", "--mode", "text").out
    assert kb("why", registered.url("/ferries")).out.startswith("In the knowledge base")
    assert {line["state"] for line in kb("sites", "pages", "docs", "--json").json} == {"fresh"}
    assert "published" in kb("sites", "show", "docs").out

    assert kb("sites", "remove", "docs", "--yes").code == ExitCode.OK
    assert kb("sites", "list", "--json").json == []


@pytest.mark.usefixtures("registered")
def test_an_import_that_does_not_fit_the_allowance_says_so_and_waits(kb, stores):
    stores.allowances.set(Allowance("default", max_pages=2, max_tokens=None))
    kb("sites", "set", "docs", "auto_approve_pages=10")
    refused = kb("sites", "refresh", "docs")
    assert refused.code == ExitCode.WAITS_FOR_APPROVAL
    assert "4 pages with 2 of 2 left" in refused.err
    assert "4 pages with 2 of 2 left" in kb("status").out


@pytest.mark.usefixtures("registered")
def test_a_site_that_another_run_writes_is_busy_at_once(kb, stores):
    with stores.site_lock("docs", "somebody else"):
        answer = kb("sites", "refresh", "docs")
    assert answer.code == ExitCode.BUSY
    assert "somebody else" in answer.err


def test_a_site_without_pages_says_what_was_looked_for(kb, registered):
    registered.pages.clear()
    answer = kb("sites", "estimate", "docs")
    assert answer.code == ExitCode.REFUSED
    assert "sitemap" in answer.err


def test_a_site_that_died_is_ended_by_the_commands_that_are_named(kb, registered, stores):
    kb("sites", "set", "docs", "auto_approve_pages=10")
    assert kb("sites", "refresh", "docs").code == ExitCode.OK
    registered.pages.clear()
    held = kb("sites", "refresh", "docs")
    assert held.code == ExitCode.REFUSED
    for command in ("kb sites refresh docs --confirm-removals", "kb sites remove docs"):
        assert command in held.err
        assert command in kb("status").out
    assert kb("search", "ferry", "--mode", "text").code == ExitCode.OK
    assert kb("sites", "refresh", "docs", "--confirm-removals").code == ExitCode.OK
    assert stores.publications.live("docs").pages == 0
    over = kb("sites", "refresh", "docs")
    assert over.code == ExitCode.REFUSED
    assert "kb sites remove docs" in over.err
    assert kb("sites", "remove", "docs", "--yes").code == ExitCode.OK


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_refresh_and_the_next_one_asks_for_no_page_again(kb, registered, stores, number):
    names = [f"/page-{number}" for number in range(14)]
    registered.pages |= {name: page(name, prose(name)) for name in names}
    registered.pages["/sitemap.xml"] = sitemap(*map(registered.url, names))
    kb("sites", "set", "docs", "request_gap_seconds=0.4")
    kb("sites", "estimate", "docs")
    kb("sites", "approve", "docs")
    registered.forget()
    process = subprocess.Popen(
        [sys.executable, "-c", "from kb_pipeline.cli import main; main()", "sites", "refresh", "docs"],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while sum(registered.count(name) for name in names) < 5:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == ExitCode.INTERRUPTED, said
    assert "the next run goes on from here" in said
    assert sum(registered.count(name) for name in names) < 14

    kb("sites", "set", "docs", "request_gap_seconds=0")
    assert kb("sites", "refresh", "docs").code == ExitCode.OK
    assert {name: registered.count(name) for name in names} == dict.fromkeys(names, 1)
    assert [refresh.generation for refresh in stores.refreshes.recent("docs")] == [1]
