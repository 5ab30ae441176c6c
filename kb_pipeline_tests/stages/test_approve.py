from __future__ import annotations

import pytest

from kb_pipeline.core.fingerprints import page_id
from kb_pipeline.core.urls import url_key
from kb_pipeline.errors import ConfigError, NotApproved, NothingDiscovered, SiteBusy
from kb_pipeline.model import (
    Discovered,
    Estimate,
    PageSource,
    PageStatus,
    RefreshKind,
    RefreshOutcome,
    SiteOptions,
    SiteState,
)
from kb_pipeline.stages.approve import approve
from kb_pipeline.stages.estimate import Sample, make_estimate, trimmed
from kb_pipeline.store.usage import Allowance

SITE = "docs"


@pytest.fixture
def site(stores):
    """A site of ten pages that waits for approval, 1,000 tokens each; /p9 is the most important one."""
    stores.sites.add(SITE, "https://docs.example/", options=SiteOptions())
    refresh = stores.refreshes.start_or_resume(SITE, RefreshKind.FULL, None, stores.now())
    found = [
        Discovered(page_id(url_key(url)), url, PageSource.SITEMAP, priority=number / 10)
        for number in range(10)
        if (url := f"https://docs.example/p{number}")
    ]
    stores.pages.record_discovered(SITE, refresh.generation, found, stores.now())
    estimate = Estimate(10, 10_000, 5_000, 20_000, 4.0, 10.0, 0, 0, 5)
    stores.refreshes.set_estimate(SITE, refresh.generation, estimate)
    stores.sites.set_state(SITE, SiteState.AWAITING_APPROVAL)
    return SITE


def wanted(stores):
    return sorted(row.url[-2:] for row in stores.pages.stream(SITE, [PageStatus.PENDING]) if row.wanted_generation)


def test_an_approval_of_all_changes_no_page(stores, settings, site):
    estimate = approve(stores, settings, site, pages=10, by="test")
    assert estimate.pages == 10
    assert len(wanted(stores)) == 10
    assert stores.refreshes.open(site).approved_at is not None
    assert stores.sites.get(site).state is SiteState.ACTIVE
    assert stores.sites.get(site).approved_pages == 10


def test_a_trimmed_approval_takes_the_most_important_pages(stores, settings, site):
    estimate = approve(stores, settings, site, pages=3, by="test")
    assert wanted(stores) == ["p7", "p8", "p9"]
    assert (estimate.pages, estimate.tokens) == (3, 3_000)
    assert stores.refreshes.open(site).estimate == estimate
    assert stores.refreshes.open(site).counts["kept"] == 3
    assert list(stores.pages.count_exclusions(site).values()) == [7]


def test_a_later_approval_of_more_takes_back_what_was_cut(stores, settings, site):
    approve(stores, settings, site, pages=3, by="test")
    approve(stores, settings, site, pages=5, by="test")
    assert wanted(stores) == ["p5", "p6", "p7", "p8", "p9"]


def test_without_a_number_the_operators_default_counts(stores, settings, site):
    small = settings.model_copy(update={"unapproved_max_pages": 2})
    assert approve(stores, small, site, pages=None, by="test").pages == 2


@pytest.mark.parametrize("allowance", [Allowance("default", 4, None), Allowance("default", None, 4_999)])
def test_an_import_over_the_allowance_is_refused_whole(stores, settings, site, allowance):
    stores.allowances.set(allowance)
    before = list(stores.pages.stream(SITE))
    with pytest.raises(NotApproved, match="does not fit the allowance of tenant 'default'"):
        approve(stores, settings, site, pages=5, by="test")
    assert list(stores.pages.stream(SITE)) == before
    assert stores.refreshes.open(site).approved_at is None
    assert approve(stores, settings, site, pages=4, by="test").pages == 4


def test_what_other_sites_of_the_tenant_are_about_to_take_counts(stores, settings, site):
    stores.sites.add("other", "https://other.example/")
    refresh = stores.refreshes.start_or_resume("other", RefreshKind.FULL, None, stores.now())
    stores.refreshes.set_estimate("other", refresh.generation, Estimate(6, 6_000, 0, 0, 0, 0, 0, 0, 0))
    stores.refreshes.approve("other", refresh.generation, by="test", now=stores.now())
    stores.allowances.set(Allowance("default", 10, None))
    with pytest.raises(NotApproved, match="5 pages with 4 of 10 left"):
        approve(stores, settings, site, pages=5, by="test")
    stores.refreshes.finish("other", refresh.generation, RefreshOutcome.FAILED, None, stores.now())
    assert approve(stores, settings, site, pages=5, by="test").pages == 5


def test_what_cannot_be_approved_says_why(stores, settings, site):
    with pytest.raises(ConfigError, match="from 1 on"):
        approve(stores, settings, site, pages=0, by="test")
    stores.sites.add("new", "https://new.example/")
    with pytest.raises(NothingDiscovered, match="kb sites estimate new"):
        approve(stores, settings, "new", pages=5, by="test")
    with stores.site_lock(site, "a run"), pytest.raises(SiteBusy):
        approve(stores, settings, site, pages=5, by="test")


def test_between_refreshes_an_approval_changes_the_number_for_the_next_one(stores, settings, site):
    approve(stores, settings, site, pages=3, by="test")
    stores.refreshes.finish(site, 1, RefreshOutcome.PUBLISHED, None, stores.now())
    approve(stores, settings, site, pages=50, by="test")
    assert stores.sites.get(site).approved_pages == 50


def test_retries_and_bad_nights_take_no_estimate_from_an_approval_between_refreshes(stores, settings, site):
    approve(stores, settings, site, pages=3, by="test")
    stores.refreshes.finish(site, 1, RefreshOutcome.PUBLISHED, None, stores.now())
    for kind in (RefreshKind.FULL, RefreshKind.RETRY, RefreshKind.RETRY):
        refresh = stores.refreshes.start_or_resume(site, kind, None, stores.now())
        if kind is RefreshKind.RETRY:
            assert approve(stores, settings, site, pages=40, by="test").pages == 3
        stores.refreshes.finish(site, refresh.generation, RefreshOutcome.FAILED, None, stores.now())
        assert approve(stores, settings, site, pages=50, by="test").pages == 3
    assert stores.sites.get(site).approved_pages == 50


def test_an_estimate_has_a_range_that_the_sample_justifies():
    sure = make_estimate(100, Sample(5, 1_000, 50, 0.2), gap_seconds=1, connections=6)
    vague = make_estimate(100, Sample(5, 1_000, 900, 0.2), gap_seconds=0, connections=4)
    assert sure.tokens == vague.tokens == 100_000
    assert sure.tokens_high - sure.tokens_low < vague.tokens_high - vague.tokens_low
    assert sure.fetching_seconds == 100
    assert vague.fetching_seconds == 5
    unknown = make_estimate(100, None, gap_seconds=1, connections=6)
    assert unknown.sampled_pages == 0
    assert unknown.tokens_low < unknown.tokens < unknown.tokens_high
    assert make_estimate(0, None, gap_seconds=1, connections=6).tokens == 0
    assert trimmed(sure, 50).tokens == 50_000
