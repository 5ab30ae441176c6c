"""How a refresh begins, waits and ends, apart from being published. One is open at a time: a run that was killed is
resumed by the next one."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import RefreshError
from kb_pipeline.model import RefreshKind, RefreshOutcome
from kb_pipeline.stages.rejudge import leave_out_unwanted
from kb_pipeline.store.discovery import DiscoveryLedger
from kb_pipeline.store.reports import Reports

if TYPE_CHECKING:
    from kb_pipeline.model import Refresh
    from kb_pipeline.store.stores import Stores

JITTER: Final = 0.1
"""Share of a wait by which it is moved, so that sites that failed together do not come back together."""
FIRST_WAIT_AFTER_FAILURE: Final = timedelta(hours=1)
_MOST_DOUBLINGS: Final = 16


def open_refresh(stores: Stores, site_id: str, kind: RefreshKind, run_id: str | None = None) -> Refresh:
    """Open the next generation, or resume the open one. A retry left open becomes part of a full refresh that is
    asked for; the other way round, the full one is what is resumed."""
    refresh = stores.refreshes.start_or_resume(site_id, kind, run_id, stores.now())
    if kind is RefreshKind.FULL and refresh.kind is RefreshKind.RETRY:
        DiscoveryLedger(stores.database, site_id).promote(refresh.generation)
        refresh = stores.refreshes.get(site_id, refresh.generation) or refresh
    return refresh


def start_retry(stores: Stores, site_id: str, run_id: str | None = None) -> Refresh:
    """Open a refresh that asks only for the pages whose retry time has come. An open refresh is resumed instead,
    with the pages it asked for. Its pages were approved with the site.

    Raises SiteBusy, SiteNotFound, StoreError.
    """
    with stores.site_lock(site_id, f"retry {run_id or ''}".strip()), stores.database.transaction():
        site = stores.sites.get(site_id)
        refresh = open_refresh(stores, site_id, RefreshKind.RETRY, run_id)
        if refresh.kind is RefreshKind.RETRY:
            ledger, now = DiscoveryLedger(stores.database, site_id), stores.now()
            leave_out_unwanted(ledger, site, ledger.retries(refresh.generation, now))
            ledger.want_retries(refresh.generation, now)
    return refresh


def hold(stores: Stores, site_id: str, *, reason: str) -> None:
    """End the open refresh as held: its copies stay, and the next one, or an operator, confirms the removals."""
    _end(stores, site_id, RefreshOutcome.HELD, reason)


def fail(stores: Stores, site_id: str, *, reason: str) -> None:
    """End the open refresh as failed. After a full one the next comes after an hour, then two, and so on up to the
    site's interval; a retry moves no full refresh."""
    _end(stores, site_id, RefreshOutcome.FAILED, reason)


def confirm_removals(stores: Stores, site_id: str) -> Refresh:
    """Let the removals through that are held, page by page or with the site's whole list; takes effect in the open
    refresh, even while its run goes on, or in a new one.

    Raises RefreshError when no removal is held, SiteBusy, StoreError.
    """
    if not (Reports(stores.database).held_removals(site_id, most=1) or stores.refreshes.is_held(site_id)):
        message = f"no removals of site {site_id!r} are held: there is nothing to confirm"
        raise RefreshError(message)
    refresh = stores.refreshes.open(site_id)
    # A run that has the lock reads the confirmation when it settles the removals. Only to open a refresh, or to make
    # one of a retry, must nobody be writing.
    if refresh is None or refresh.kind is not RefreshKind.FULL or not _confirm(stores, refresh):
        with stores.site_lock(site_id, "confirm removals"), stores.database.transaction():
            refresh = open_refresh(stores, site_id, RefreshKind.FULL)
            _confirm(stores, refresh)
    return stores.refreshes.get(site_id, refresh.generation) or refresh


def _confirm(stores: Stores, refresh: Refresh) -> bool:
    return stores.refreshes.confirm_removals(refresh.site_id, refresh.generation, stores.now())


def _end(stores: Stores, site_id: str, outcome: RefreshOutcome, reason: str) -> None:
    refresh = stores.refreshes.open(site_id)
    if refresh is None:
        return
    now = stores.now()
    with stores.database.transaction():
        stores.refreshes.finish(site_id, refresh.generation, outcome, reason, now)
        stores.sites.note_error(site_id, reason, now)
        if refresh.kind is RefreshKind.FULL:
            wait = _wait(stores, site_id, outcome) * (1 + random.uniform(0, JITTER))  # noqa: S311 - spreads load
            stores.sites.schedule(site_id, now + wait)


def _wait(stores: Stores, site_id: str, outcome: RefreshOutcome) -> timedelta:
    interval = timedelta(hours=stores.sites.get(site_id).options.refresh_interval_hours)
    if outcome is RefreshOutcome.HELD:
        return interval
    failures = DiscoveryLedger(stores.database, site_id).failures_in_a_row()
    doublings: int = 2 ** min(max(failures - 1, 0), _MOST_DOUBLINGS)
    return min(interval, FIRST_WAIT_AFTER_FAILURE * doublings)
