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


# A refresh a night: a busy machine takes minutes for them. A large site is another case only where pages seem gone.
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("size", "nights"),
    [(6, NIGHTS), (26, tuple(night for night in NIGHTS if night.says_gone or not night.faults))],
    ids=["small", "large"],
)
def test_bad_nights_of_every_kind_in_a_row_leave_the_index_as_it_was(
    run, stores, settings, resolver, certificates, size, nights
):
    with LoopbackSite({"/": page("Home", prose("home"))}, name=HOST, tls=certificates.context) as served:
        harbour = Harbour(served, stores, run, resolver, certificates)
        harbour.open({f"/pier-{number}": page(f"Pier-{number}", prose(f"pier-{number}")) for number in range(size)})
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        before = harbour.live()
        untold = []
        for night in nights:
            refresh = harbour.spend(night)
            assert harbour.live() == before, night.what
            untold.append(untold_of(night, refresh))
        assert [night for night in untold if night] == []
        served.pages["/pier-0"] = page("New", prose("a new lamp"))
        assert harbour.refresh().outcome is RefreshOutcome.PUBLISHED
        assert search(stores, settings, SITE, "lamp", mode=SearchMode.TEXT)[0].url == served.url("/pier-0")
        told = read_site_page(stores, SITE)
        good = [True, *[False] * len(nights), True]
        assert [why(refresh) == "" for refresh in told.refreshes] == good[: len(told.refreshes)]
        for asset in ("fetched_pages", "live_index"):
            shown = harbour.shown_in_the_ui(asset)
            assert [night.said for night in nights[3:] if not re.search(night.said, shown)] == [], asset
