"""What checks and sensors read of the ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.model import Discovered, Outcome, PageSource, RefreshKind, RefreshOutcome
from kb_pipeline.store.aliases import Alias
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Frontier
from kb_pipeline.store.reports import Reports

SITE = "docs"
COPY = Copy("f" * 32, 100, None, None)


class Refreshed:
    """A site whose pages end as a test says."""

    def __init__(self, stores):
        self.stores, self.reports = stores, Reports(stores.database)
        stores.sites.add(SITE, "https://docs.example/")
        stores.sites.approve(SITE, pages=100, by="test", now=stores.now())
        stores.sites.schedule(SITE, stores.now() + timedelta(hours=5))

    def refresh(self, **endings):
        now = self.stores.now()
        generation = self.stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, now).generation
        found = [Discovered(page_id(name), f"https://docs.example/{name}", PageSource.SITEMAP) for name in endings]
        self.stores.pages.record_discovered(SITE, generation, found, now)
        frontier = Frontier(self.stores.database, SITE, generation)
        rows = [
            Ending(page_id(name), ending.pop("outcome"), Attempt(None, None, 200), 0, **ending)
            for name, ending in endings.items()
        ]
        frontier.commit(rows, [], now)
        self.stores.refreshes.finish(SITE, generation, RefreshOutcome.PUBLISHED, None, now)
        return frontier

    def names(self, rows):
        return [row.url.rpartition("/")[2] for row in rows]


@pytest.fixture
def refreshed(stores):
    return Refreshed(stores)


@pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.DEFERRED])
def test_a_retry_is_due_for_whatever_was_put_off(refreshed, outcome):
    retry_at = refreshed.stores.now() + timedelta(hours=1)
    refreshed.refresh(a={"outcome": outcome, "retry_at": retry_at}, b={"outcome": Outcome.FRESH, "copy": COPY})
    assert refreshed.reports.retries_due(retry_at - timedelta(seconds=1), most=10) == []
    [due] = refreshed.reports.retries_due(retry_at, most=10)
    assert (due.site_id, due.generation, due.since) == (SITE, 2, retry_at)


def test_held_removals_are_listed_whatever_they_are_and_no_page_that_is_not_held(refreshed):
    names = ("away", "forbidden", "gone", "settled", "well")
    refreshed.refresh(**{name: {"outcome": Outcome.FRESH, "copy": COPY} for name in names})
    home = page_id("well")
    second = refreshed.refresh(
        away={"outcome": Outcome.DUPLICATE, "duplicate_of": home},
        forbidden={"outcome": Outcome.FORBIDDEN},
        gone={"outcome": Outcome.GONE},
        settled={"outcome": Outcome.GONE},
        well={"outcome": Outcome.UNCHANGED},
    )
    alias = Alias(page_id("away"), "https://docs.example/away", home, "redirect")
    refreshed.stores.aliases.add(SITE, [alias], refreshed.stores.now())
    assert refreshed.reports.held_removals(SITE) == []
    second.remove([page_id("settled")])
    second.hold([page_id(name) for name in ("away", "forbidden", "gone")])
    assert refreshed.names(refreshed.reports.held_removals(SITE)) == ["away", "forbidden", "gone"]
    refreshed.refresh(away={"outcome": Outcome.FRESH, "copy": COPY}, gone={"outcome": Outcome.UNREACHABLE})
    assert refreshed.names(refreshed.reports.held_removals(SITE)) == ["forbidden"]
