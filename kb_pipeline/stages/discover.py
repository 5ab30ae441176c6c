"""Finds the pages of a site and says what importing them costs: opens the refresh, reads the site's lists, writes the
ledger in one transaction. A site that cannot be read changes nothing.

Asking the site is listing's part, sorting what it names is selection's.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.core.scope import Scope
from kb_pipeline.model import RefreshKind, SiteState
from kb_pipeline.stages.approve import WAITS, check_allowance, grant
from kb_pipeline.stages.estimate import Sample, make_estimate, take_sample
from kb_pipeline.stages.lifecycle import open_refresh
from kb_pipeline.stages.listing import Listing, SiteReader
from kb_pipeline.stages.probing import Prober
from kb_pipeline.stages.rejudge import leave_out_surplus, leave_out_unwanted, readmit_links
from kb_pipeline.stages.report import ChangeRow, StageReport, quiet
from kb_pipeline.stages.selection import Selection, Selector, cap
from kb_pipeline.stages.site_session import SiteSession
from kb_pipeline.store.discovery import DiscoveryLedger
from kb_pipeline.store.frontier import Frontier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kb_pipeline.model import Discovered, Estimate, Refresh, Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.stages.report import Progress
    from kb_pipeline.store.discovery import KnownPage
    from kb_pipeline.store.not_found_probes import NotFoundProbe
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

LIST_IS_FRESH: Final = timedelta(hours=1)
"""A run that resumes an approved refresh trusts its list for so long."""
MOST_EXCLUDED_KEPT: Final = 20_000
MOST_LISTED_CHANGES: Final = 50
MOST_PROBLEMS: Final = 20


@dataclass(slots=True)
class DiscoveryReport(StageReport):
    """`counts`: kept, previous_kept, new, forbidden, excluded, aliases, asked_again, and list_gone: 1 when no page was
    named and the site says that its list is gone."""

    generation: int = 0
    kept: int = 0
    previous_kept: int = 0
    """Pages that the full refresh before kept: a list that has collapsed shows beside `kept`."""
    excluded_by_reason: dict[str, int] = field(default_factory=dict)
    estimate: Estimate | None = None
    approved: bool = False
    answers: list[str] = field(default_factory=list)
    """What each source answered."""
    problems: list[str] = field(default_factory=list)
    """Sources that are broken or damaged; what could be read of them counts."""


@dataclass(frozen=True, slots=True)
class _Found:
    """Everything that was learnt from the site."""

    listing: Listing
    selection: Selection
    sample: Sample | None
    seconds_a_page: float
    probe: NotFoundProbe | None = None
    """What it shows for an address that does not exist."""


def discover(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
) -> DiscoveryReport:
    """Open the site's refresh, or resume the open one, and put the pages on its list that the site names now.

    Raises NothingDiscovered, and changes no page, when robots.txt cannot be read or no source names a page; only where
    the site says that its list is gone, the pages that are held are asked for one by one. Raises SiteBusy,
    SiteNotFound, StoreError.
    """
    with stores.site_lock(site_id, f"discover {run_id or ''}".strip()) as lock:
        site = stores.sites.get(site_id)
        refresh = open_refresh(stores, site_id, RefreshKind.FULL, run_id)
        ledger = DiscoveryLedger(stores.database, site_id)
        if not keep_going() or _list_is_fresh(stores, ledger, refresh):
            return _report_of(stores, site_id, refresh)
        progress("reading the site's lists", 0, None)
        known = ledger.known()
        history = Sample.of_history(ledger.history())
        was_listed = Frontier(stores.database, site_id, refresh.generation).has_list()
        seed = f"{site_id} {refresh.generation}"
        found = asyncio.run(_ask_site(stores, settings, site, known, history, seed, was_listed=was_listed))
        lock.assert_held()
        report = DiscoveryReport(generation=refresh.generation, previous_kept=_previous_kept(stores, refresh))
        with stores.database.transaction():
            _write(stores, settings, site, refresh, found, known, report)
        progress("reading the site's lists", report.kept, report.kept)
    log.info("crawl.discovered", site=site_id, generation=report.generation, **report.counts)
    for problem in report.problems:
        log.warning("crawl.list_problem", site=site_id, problem=problem)
    return report


def add_links(stores: Stores, site: Site, generation: int, found: Sequence[Discovered]) -> int:
    """Put pages that fetched pages lead to on the list of a refresh; how many were not on it.

    Those outside the site's scope, and those beyond its number of pages, are recorded as left out, with the reason.
    """
    if not found:
        return 0
    ledger = DiscoveryLedger(stores.database, site.site_id)
    scope = Scope(site.url, site.options)
    known = {page.page_id: page for page in stores.pages.of_ids(site.site_id, [page.page_id for page in found])}
    most, over = cap(site)
    room = most - ledger.wanted(generation)
    rows = []
    for page in {page.page_id: page for page in found}.values():
        row = known.get(page.page_id)
        if row is not None and row.seen_generation >= generation:
            continue
        reason = scope.why_not(page.url, depth=page.depth)
        is_asked_for = row is not None and row.wanted_generation >= generation
        if reason is None and not is_asked_for:
            reason = None if room > 0 else over
            room -= 1
        rows.append(replace(page, excluded_because=reason))
    return ledger.add_links(generation, rows, stores.now()) if rows else 0


async def _ask_site(
    stores: Stores,
    settings: Settings,
    site: Site,
    known: dict[str, KnownPage],
    sample: Sample | None,
    seed: str,
    *,
    was_listed: bool,
) -> _Found:
    async with contextlib.AsyncExitStack() as stack:
        session = await stack.enter_async_context(SiteSession.open(stores, settings, site))
        with_copy = {page.page_id for page in known.values() if page.has_copy}
        reader = SiteReader(
            site, session.client, session.gate, settings, was_listed=was_listed, has_copies=bool(with_copy)
        )
        listing = await reader.read()
        selection = await Selector(site, session.gate).select(listing.pages, with_copy)
        delay = min(listing.crawl_delay or 0.0, settings.max_crawl_delay_seconds)
        if sample is None:
            # Behind a Crawl-delay each page of the sample would cost its wait: one has to do.
            most = 1 if delay > 1 else 5
            sample = await take_sample(
                session.client, session.hops, selection.kept, max_bytes=settings.max_html_bytes, most=most
            )
        probe = await Prober(site, session, settings).probe(seed, selection.kept, listing.start_page)
    return _Found(listing, selection, sample, max(session.gap, delay), probe)


def _write(
    stores: Stores,
    settings: Settings,
    site: Site,
    refresh: Refresh,
    found: _Found,
    known: dict[str, KnownPage],
    report: DiscoveryReport,
) -> None:
    """Bring the ledger in step with the list. Within a transaction: all of it, or nothing."""
    now, generation, selection = stores.now(), refresh.generation, found.selection
    ledger = DiscoveryLedger(stores.database, site.site_id)
    stores.pages.record_discovered(site.site_id, generation, selection.rows, now)
    stores.aliases.add(site.site_id, selection.aliases, now)
    stores.not_found_probes.put(site.site_id, generation, found.probe, now)
    reasons = Counter(selection.reasons) + leave_out_unwanted(ledger, site, ledger.unseen(generation))
    reasons += leave_out_surplus(ledger, site, generation)
    asked_again = stores.pages.want_unseen(site.site_id, generation)
    if site.options.follow_links or not found.listing.has_list:
        asked_again += ledger.want_linked(generation, now)
        asked_again += readmit_links(ledger, site, generation)
    ledger.trim_excluded(MOST_EXCLUDED_KEPT)
    report.kept = len(selection.kept)
    report.excluded_by_reason = dict(reasons.most_common())
    report.answers, report.problems = found.listing.answers, found.listing.problems[:MOST_PROBLEMS]
    # What is asked again costs as much as what is listed.
    report.estimate = make_estimate(
        ledger.wanted(generation),
        found.sample,
        gap_seconds=found.seconds_a_page,
        connections=settings.host_connections,
    )
    _count(report, selection, known, asked_again)
    report.counts["list_gone"] = int(found.listing.is_gone)
    stores.refreshes.set_estimate(site.site_id, generation, report.estimate)
    stores.refreshes.set_counts(site.site_id, generation, {name: int(n) for name, n in report.counts.items()})
    stores.refreshes.mark_discovered(site.site_id, generation, now)
    report.approved = _decide(stores, settings, site, refresh, report.estimate, ledger)


def _decide(
    stores: Stores, settings: Settings, site: Site, refresh: Refresh, estimate: Estimate, ledger: DiscoveryLedger
) -> bool:
    """Approve the refresh when the site, or its number of pages, may go on unasked; else say what it waits for."""
    if refresh.approved_at is not None:
        return True
    unasked = site.options.auto_approve_pages
    unasked = settings.auto_approve_pages if unasked is None else unasked
    # The list of an approved site has been cut at what was approved.
    standing = site.approved_pages is not None
    most = site.approved_pages if site.approved_pages is not None else unasked
    if standing or 0 < estimate.pages <= most:
        refusal = check_allowance(stores, site, estimate)
        if refusal is None:
            grant(stores, site, refresh.generation, estimate, most, "approved before" if standing else "auto-approval")
            return True
    else:
        refusal = WAITS
    ledger.set_reason(refresh.generation, refusal)
    if site.state is SiteState.REGISTERED:
        stores.sites.set_state(site.site_id, SiteState.AWAITING_APPROVAL)
    return False


def _count(report: DiscoveryReport, selection: Selection, known: dict[str, KnownPage], asked_again: int) -> None:
    new = [page for page in selection.kept if page.page_id not in known]
    report.counts = {
        "kept": report.kept,
        "previous_kept": report.previous_kept,
        "new": len(new),
        "forbidden": len(selection.forbidden),
        "excluded": sum(report.excluded_by_reason.values()) - len(selection.forbidden),
        "aliases": len(selection.aliases),
        "asked_again": asked_again,
        "problems": len(report.problems),
    }
    rows = [ChangeRow("new", page.page_id, page.url, page.source.value) for page in new]
    left_out = [page for page in selection.excluded if (row := known.get(page.page_id)) and row.has_copy]
    rows += [ChangeRow("left out", page.page_id, page.url, page.excluded_because or "") for page in left_out]
    report.changes = rows[:MOST_LISTED_CHANGES]


def _list_is_fresh(stores: Stores, ledger: DiscoveryLedger, refresh: Refresh) -> bool:
    at = ledger.discovered_at(refresh.generation)
    return refresh.approved_at is not None and at is not None and stores.now() - at < LIST_IS_FRESH


def _report_of(stores: Stores, site_id: str, refresh: Refresh) -> DiscoveryReport:
    """The report of a discovery that has ended already, from what it left in the refresh."""
    report = DiscoveryReport(
        generation=refresh.generation,
        kept=refresh.counts.get("kept", 0),
        previous_kept=_previous_kept(stores, refresh),
        excluded_by_reason=stores.pages.count_exclusions(site_id),
        estimate=refresh.estimate,
        approved=refresh.approved_at is not None,
    )
    report.counts = {"kept": report.kept, "previous_kept": report.previous_kept}
    return report


def _previous_kept(stores: Stores, refresh: Refresh) -> int:
    """What the refresh before that read the list kept; 0 for the first one."""
    before = stores.refreshes.listed_before(refresh.site_id, refresh.generation)
    return before.counts["kept"] if before else 0
