from __future__ import annotations

from datetime import timedelta

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.errors import RefreshError
from kb_pipeline.model import Discovered, Outcome, PageSource, RefreshKind, RefreshOutcome, SiteOptions
from kb_pipeline.stages import lifecycle
from kb_pipeline.store.frontier import Attempt, Ending, Frontier

SITE = "docs"


@pytest.fixture
def site(stores):
    stores.sites.add(SITE, "https://docs.example/", options=SiteOptions(refresh_interval_hours=3))
    return SITE


def wait(stores):
    return stores.sites.get(SITE).next_refresh_at - stores.now()


def test_one_refresh_is_open_at_a_time_and_is_resumed(stores, site):
    first = lifecycle.open_refresh(stores, site, RefreshKind.FULL, "run-1")
    again = lifecycle.open_refresh(stores, site, RefreshKind.FULL, "run-2")
    assert first.generation == again.generation == 1
    assert again.run_id == "run-2"


def test_a_failed_refresh_is_tried_again_later_and_later_up_to_the_interval(stores, site):
    hours = []
    for _ in range(4):
        lifecycle.open_refresh(stores, site, RefreshKind.FULL)
        lifecycle.fail(stores, site, reason="the site is down")
        hours.append(wait(stores) / timedelta(hours=1))
    assert [round(number - 0.05) for number in hours] == [1, 2, 3, 3]
    assert stores.sites.get(site).last_error == "the site is down"
    assert stores.refreshes.latest(site).outcome is RefreshOutcome.FAILED
    assert stores.refreshes.open(site) is None


def test_a_held_refresh_waits_its_interval(stores, site):
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    lifecycle.hold(stores, site, reason="removals are held")
    assert timedelta(hours=2.9) < wait(stores) < timedelta(hours=3.4)
    assert stores.refreshes.latest(site).outcome is RefreshOutcome.HELD


def test_ending_what_has_ended_changes_nothing(stores, site):
    lifecycle.fail(stores, site, reason="x")
    assert stores.sites.get(site).last_error is None


def test_held_removals_are_confirmed_in_the_next_refresh(stores, site):
    with pytest.raises(RefreshError, match="nothing to confirm"):
        lifecycle.confirm_removals(stores, site)
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    stores.refreshes.hold_removals(site, 1, 30)
    lifecycle.hold(stores, site, reason="30 removals are held")
    refresh = lifecycle.confirm_removals(stores, site)
    assert refresh.generation == 2
    assert refresh.removals_confirmed_at is not None


def test_held_removals_can_be_confirmed_although_a_bad_night_came_between(stores, site):
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    lifecycle.hold(stores, site, reason="30 removals are held")
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    lifecycle.fail(stores, site, reason="robots.txt could not be read")
    assert lifecycle.confirm_removals(stores, site).removals_confirmed_at is not None
    stores.refreshes.finish(site, 3, RefreshOutcome.PUBLISHED, None, stores.now())
    with pytest.raises(RefreshError, match="nothing to confirm"):
        lifecycle.confirm_removals(stores, site)


def test_a_retry_asks_for_pages_whose_time_has_come_and_no_others(stores, site):
    refresh = lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    now = stores.now()
    ids = {name: page_id(f"https://docs.example/{name}") for name in ("due", "later", "well")}
    found = [Discovered(identity, f"https://docs.example/{name}", PageSource.SITEMAP) for name, identity in ids.items()]
    stores.pages.record_discovered(site, refresh.generation, found, now)
    endings = [
        Ending(ids["due"], Outcome.UNREACHABLE, Attempt("x", "x", 503), 1, retry_at=now - timedelta(minutes=1)),
        Ending(ids["later"], Outcome.UNREACHABLE, Attempt("x", "x", 503), 1, retry_at=now + timedelta(hours=1)),
        Ending(ids["well"], Outcome.FRESH, Attempt(None, None, 200), 0),
    ]
    Frontier(stores.database, site, refresh.generation).commit(endings, [], now)
    stores.refreshes.finish(site, refresh.generation, RefreshOutcome.PUBLISHED, None, now)
    retry = lifecycle.start_retry(stores, site)
    assert retry.kind is RefreshKind.RETRY
    due = Frontier(stores.database, site, retry.generation).due(stores.now(), in_hand=[], most=10)
    assert [page.page_id for page in due] == [ids["due"]]
    assert lifecycle.start_retry(stores, site).generation == retry.generation


def test_a_retry_never_takes_the_place_of_an_open_full_refresh(stores, site):
    refresh = lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    assert lifecycle.start_retry(stores, site).generation == refresh.generation
    assert stores.refreshes.open(site).kind is RefreshKind.FULL
