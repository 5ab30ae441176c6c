"""What `kb status` says waits for somebody."""

from __future__ import annotations

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.model import Discovered, Outcome, PageSource, RefreshKind, RefreshOutcome
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Frontier

GONE = "https://docs.example/gone"


@pytest.fixture
def site(stores):
    stores.sites.add("docs", "https://docs.example/")
    stores.sites.approve("docs", pages=10, by="test", now=stores.now())


def end(stores, kind, outcome, reason=None):
    refresh = stores.refreshes.start_or_resume("docs", kind, None, stores.now())
    stores.refreshes.finish("docs", refresh.generation, outcome, reason, stores.now())


def hold_a_page(stores):
    """A refresh that is open, and holds the removal of a page."""
    refresh, now = stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, stores.now()), stores.now()
    found = [Discovered(page_id(GONE), GONE, PageSource.SITEMAP)]
    stores.pages.record_discovered("docs", refresh.generation, found, now)
    frontier = Frontier(stores.database, "docs", refresh.generation)
    copy = Copy("f" * 32, 100, None, None)
    frontier.commit([Ending(page_id(GONE), Outcome.FRESH, Attempt(None, None, 200), 0, copy=copy)], [], now)
    frontier.commit([Ending(page_id(GONE), Outcome.GONE, Attempt(None, None, 404), 0)], [], now)
    frontier.hold([page_id(GONE)])
    stores.refreshes.hold_removals("docs", refresh.generation, 1)
    return frontier


def needs(kb):
    return kb("status", "--json").json["waiting"].get("docs")


@pytest.mark.parametrize(("outcome", "said"), [("held", "is held"), ("failed", "failed")])
@pytest.mark.usefixtures("site")
def test_a_retry_that_went_well_hides_no_refresh_that_did_not(kb, stores, outcome, said):
    end(stores, RefreshKind.FULL, RefreshOutcome(outcome), "the list is gone")
    end(stores, RefreshKind.RETRY, RefreshOutcome.PUBLISHED)
    assert needs(kb) == f"refresh 1 {said}: the list is gone"
    stores.refreshes.start_or_resume("docs", RefreshKind.RETRY, None, stores.now())
    assert needs(kb) == f"refresh 1 {said}: the list is gone"


@pytest.mark.usefixtures("site")
def test_a_retry_that_failed_is_said_beside_a_refresh_that_went_well(kb, stores):
    end(stores, RefreshKind.FULL, RefreshOutcome.PUBLISHED)
    assert needs(kb) is None
    end(stores, RefreshKind.RETRY, RefreshOutcome.FAILED, "no page answered")
    assert needs(kb) == "refresh 2 failed: no page answered"


@pytest.mark.parametrize(("table", "outdated"), [("vectors-mini-384", True), ("vectors-mini-384-pieces", False)])
@pytest.mark.usefixtures("site")
def test_what_an_earlier_version_made_live_is_said_with_the_command_that_brings_it_up(kb, stores, table, outdated):
    held = {"lance_version": 1, "generation": 1, "rows": 1, "pages": 1, "reason": "refresh 1"}
    stores.publications.publish("docs", table_name=table, **held, now=stores.now())
    end(stores, RefreshKind.FULL, RefreshOutcome.FAILED, "no page answered")
    said = needs(kb)
    assert said.startswith("refresh 1 failed: no page answered")
    assert ("kb sites reindex docs" in said) is outdated
    assert ("kb sites reindex docs" in kb("sites", "show", "docs").out) is outdated


@pytest.mark.usefixtures("site")
def test_held_removals_are_said_until_a_refresh_takes_them_up(kb, stores):
    frontier = hold_a_page(stores)
    end(stores, RefreshKind.FULL, RefreshOutcome.HELD, "1 page is gone")
    assert needs(kb) == "refresh 1 is held: 1 page is gone"
    end(stores, RefreshKind.FULL, RefreshOutcome.FAILED, "the site is down")
    assert needs(kb).startswith("refresh 2 failed: the site is down; removals held")
    end(stores, RefreshKind.RETRY, RefreshOutcome.PUBLISHED)
    assert "--confirm-removals" in needs(kb)
    stores.refreshes.start_or_resume("docs", RefreshKind.FULL, None, stores.now())
    assert needs(kb) is None
    frontier.remove([page_id(GONE)])
    end(stores, RefreshKind.FULL, RefreshOutcome.PUBLISHED)
    assert needs(kb) is None
