"""Fetches the pages of an approved refresh: due pages from the ledger, asked for politely, committed in batches,
and at the end the removals settled.

The ledger is the frontier, so a killed run goes on where its last commit was. What an answer means is decided in
fetch.outcome and visit, the order of work in crawl.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.errors import NotApproved, NothingDiscovered
from kb_pipeline.fetch.tiers import default_tiers
from kb_pipeline.model import Outcome, RefreshKind
from kb_pipeline.stages.commit import Committer
from kb_pipeline.stages.crawl import Crawl
from kb_pipeline.stages.fetch_report import FetchReport
from kb_pipeline.stages.losses import ask_for_lost_bodies
from kb_pipeline.stages.removals import fold_canonical_duplicates, settle_removals
from kb_pipeline.stages.report import quiet
from kb_pipeline.stages.troubles import as_table, history, in_one_line
from kb_pipeline.store.frontier import Frontier
from kb_pipeline.store.reports import Reports

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.fetch.tiers import TiersFor
    from kb_pipeline.model import Refresh, Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.report import Progress
    from kb_pipeline.store.stores import Stores

MOST_LISTED: Final = 14
"""Refreshes in the history that is shown with the asset."""

log = structlog.get_logger(__name__)


def fetch_pages(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
    tiers_for: TiersFor = default_tiers,
) -> FetchReport:
    """Give every page that the open refresh asks for an outcome, then settle what leaves the index.

    Raises NothingDiscovered without an open refresh, NotApproved before approval, SiteBusy, StoreError. Whatever
    a site does raises nothing. When `keep_going` turns false the run ends early: what was committed stays, the
    other pages stay due.
    """
    started = time.monotonic()
    with stores.site_lock(site_id, f"fetch {run_id or ''}".strip()) as lock:
        site = stores.sites.get(site_id)
        refresh = _approved_refresh(stores, site_id)
        frontier = Frontier(stores.database, site_id, refresh.generation)
        ask_for_lost_bodies(stores, frontier, site_id)
        report = FetchReport(generation=refresh.generation)
        committer = Committer(stores, site, frontier, refresh.generation, lock.assert_held)
        crawl = Crawl(
            stores,
            settings,
            site,
            frontier,
            committer,
            report,
            progress=progress,
            keep_going=keep_going,
            tiers_for=tiers_for,
        )
        asyncio.run(crawl.run())
        if not report.stopped_early:
            lock.assert_held()
            _settle(stores, site, frontier, report)
        report.seconds = time.monotonic() - started
        _record(stores, site_id, frontier, report)
    return report


def _approved_refresh(stores: Stores, site_id: str) -> Refresh:
    refresh = stores.refreshes.open(site_id)
    if refresh is None:
        message = f"site {site_id!r} has no open refresh: discover its pages first"
        raise NothingDiscovered(message)
    if refresh.approved_at is None and refresh.kind is RefreshKind.FULL:
        message = f"the import of site {site_id!r} waits for approval; approve it with `kb sites approve {site_id}`"
        raise NotApproved(message)
    return refresh


def _settle(stores: Stores, site: Site, frontier: Frontier, report: FetchReport) -> None:
    report.folded = len(fold_canonical_duplicates(stores, frontier, site.site_id))
    # Read again: an operator may have confirmed the removals while pages were fetched.
    refresh = stores.refreshes.get(site.site_id, report.generation)
    assert refresh is not None
    settled = settle_removals(stores, frontier, site, refresh)
    report.removed, report.removals_held = len(settled.removed), len(settled.held)
    stores.refreshes.mark_fetched(site.site_id, report.generation, stores.now())


def _record(stores: Stores, site_id: str, frontier: Frontier, report: FetchReport) -> None:
    """Outcomes are those of the whole refresh. What was spent is added up as it is committed."""
    report.outcomes = Counter(frontier.outcomes())
    report.flatten()
    outcomes = {outcome.value: report.outcomes[outcome] for outcome in Outcome}
    stores.refreshes.set_counts(site_id, report.generation, outcomes)
    troubles = Reports(stores.database).troubles(site_id, report.generation)
    stores.refreshes.set_trouble(site_id, report.generation, in_one_line(troubles))
    report.tables |= {"reasons": as_table(troubles)} if troubles else {}
    report.tables["history"] = history(stores.refreshes.recent(site_id, MOST_LISTED))
    log.info("crawl.fetched", site=site_id, generation=report.generation, **report.counts)
