from __future__ import annotations

from datetime import timedelta

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.errors import RefreshError, SiteBusy
from kb_pipeline.model import Discovered, Outcome, PageSource, RefreshKind, RefreshOutcome, SiteOptions
from kb_pipeline.stages import lifecycle
from kb_pipeline.store.frontier import Attempt, Copy, Ending, Frontier

SITE = "docs"


@pytest.fixture
def site(stores):
    stores.sites.add(SITE, "https://docs.example/", options=SiteOptions(refresh_interval_hours=3))
    return SITE


def wait(stores):
    return stores.sites.get(SITE).next_refresh_at - stores.now()


def ended(stores, kind, outcome, times=1):
    """Refreshes that nothing came of but their outcome."""
    for _ in range(times):
        refresh = lifecycle.open_refresh(stores, SITE, kind)
        stores.refreshes.finish(SITE, refresh.generation, outcome, "for a reason", stores.now())


def held_page(stores):
    """A full refresh that ended held, for a page whose copy it found gone."""
    refresh, now = lifecycle.open_refresh(stores, SITE, RefreshKind.FULL), stores.now()
    url = "https://docs.example/gone"
    stores.pages.record_discovered(SITE, 1, [Discovered(page_id(url), url, PageSource.SITEMAP)], now)
    frontier = Frontier(stores.database, SITE, refresh.generation)
    copy = Copy("f" * 32, 100, None, None)
    frontier.commit([Ending(page_id(url), Outcome.FRESH, Attempt(None, None, 200), 0, copy=copy)], [], now)
    frontier.commit([Ending(page_id(url), Outcome.GONE, Attempt(None, None, 404), 0)], [], now)
    frontier.hold([page_id(url)])
    stores.refreshes.hold_removals(SITE, refresh.generation, 1)
    lifecycle.hold(stores, SITE, reason="1 removal is held")
    return frontier, page_id(url)


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


@pytest.mark.parametrize("end", [lifecycle.fail, lifecycle.hold])
def test_a_retry_that_ends_badly_moves_no_full_refresh(stores, site, end):
    due = stores.now() + timedelta(minutes=5)
    stores.sites.schedule(site, due)
    lifecycle.start_retry(stores, site)
    end(stores, site, reason="no page answered")
    assert stores.sites.get(site).next_refresh_at == due
    assert stores.sites.get(site).last_error == "no page answered"


@pytest.mark.parametrize("outcome", RefreshOutcome)
def test_retries_neither_reset_nor_lengthen_the_wait_after_full_refreshes_that_fail(stores, site, outcome):
    hours = []
    for _ in range(3):
        lifecycle.open_refresh(stores, site, RefreshKind.FULL)
        lifecycle.fail(stores, site, reason="the site is down")
        hours.append(wait(stores) / timedelta(hours=1))
        ended(stores, RefreshKind.RETRY, outcome)
    assert [round(number - 0.05) for number in hours] == [1, 2, 3]


@pytest.mark.parametrize("retries", [1, 25])
def test_held_removals_can_be_confirmed_however_many_retries_came_between(stores, site, retries):
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    lifecycle.hold(stores, site, reason="the list is gone")
    ended(stores, RefreshKind.RETRY, RefreshOutcome.PUBLISHED, retries)
    ended(stores, RefreshKind.FULL, RefreshOutcome.FAILED)
    assert lifecycle.confirm_removals(stores, site).removals_confirmed_at is not None


def test_a_page_that_is_held_can_be_confirmed_until_it_is_removed_whatever_was_published_since(stores, site):
    frontier, held = held_page(stores)
    ended(stores, RefreshKind.RETRY, RefreshOutcome.PUBLISHED)
    ended(stores, RefreshKind.FULL, RefreshOutcome.PUBLISHED)
    assert lifecycle.confirm_removals(stores, site).kind is RefreshKind.FULL
    frontier.remove([held])
    ended(stores, RefreshKind.FULL, RefreshOutcome.PUBLISHED)
    with pytest.raises(RefreshError, match="nothing to confirm"):
        lifecycle.confirm_removals(stores, site)


def test_a_retry_is_started_and_becomes_a_confirmed_refresh_only_while_nobody_writes_the_site(stores, site):
    held_page(stores)
    with stores.site_lock(site, "a run"), pytest.raises(SiteBusy):
        lifecycle.start_retry(stores, site)
    assert stores.refreshes.open(site) is None
    lifecycle.start_retry(stores, site)
    with stores.site_lock(site, "a run"), pytest.raises(SiteBusy):
        lifecycle.confirm_removals(stores, site)
    assert stores.refreshes.open(site).kind is RefreshKind.RETRY


def test_removals_are_confirmed_while_the_run_of_a_full_refresh_goes_on(stores, site):
    held_page(stores)
    lifecycle.open_refresh(stores, site, RefreshKind.FULL)
    with stores.site_lock(site, "a run"):
        assert lifecycle.confirm_removals(stores, site).removals_confirmed_at is not None
