"""Bad nights in a row leave a site's index exactly as it was, and each tells what happened."""

from __future__ import annotations

import re

import pytest

from kb_pipeline.cli.site_page import read_site_page
from kb_pipeline.model import RefreshOutcome
from kb_pipeline.serve.search import SearchMode, search
from kb_pipeline.stages.troubles import why
from kb_pipeline_tests.orchestration.nights.harbour import HOST, NIGHTS, SITE, Harbour, untold_of
from kb_pipeline_tests.sites.replies import page, prose
from kb_pipeline_tests.sites.server import LoopbackSite


# Sixteen refreshes: a busy machine takes minutes for them.
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("size", [6, 26])
def test_bad_nights_of_every_kind_in_a_row_leave_the_index_as_it_was(
    run, stores, settings, resolver, certificates, size
):
    with LoopbackSite({"/": page("Home", prose("home"))}, name=HOST, tls=certificates.context) as served:
        harbour = Harbour(served, stores, run, resolver, certificates)
        harbour.open({f"/pier-{number}": page(f"Pier-{number}", prose(f"pier-{number}")) for number in range(size)})
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        before = harbour.live()
        untold = []
        for night in NIGHTS:
            refresh = harbour.spend(night)
            assert harbour.live() == before, night.what
            untold.append(untold_of(night, refresh))
        assert [night for night in untold if night] == []
        served.pages["/pier-0"] = page("New", prose("a new lamp"))
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        assert search(stores, settings, SITE, "lamp", mode=SearchMode.TEXT)[0].url == served.url("/pier-0")
        told = read_site_page(stores, SITE)
        assert [why(refresh) == "" for refresh in told.refreshes] == [True] + [False] * (len(told.refreshes) - 1)
        for asset in ("fetched_pages", "live_index"):
            shown = harbour.shown_in_the_ui(asset)
            assert [night.said for night in NIGHTS[3:] if not re.search(night.said, shown)] == [], asset
