"""Deletes a site: its Lance database, then its rows in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_pipeline.stages.report import StageReport

if TYPE_CHECKING:
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.stores import Stores


def remove_site(
    stores: Stores,
    settings: Settings,  # noqa: ARG001 - every stage takes them
    site_id: str,
    *,
    run_id: str | None = None,
) -> StageReport:
    """Delete all that is stored of the site; repeatable, and done when there is nothing left.

    The registry row goes last: while it stands, whoever asks sees a site that is not quite gone, and a run that was
    killed is started again. Raises InvalidSiteId, SiteBusy, StoreUnavailable.
    """
    store = stores.site(site_id)
    with stores.site_lock(site_id, f"remove {run_id or ''}".strip()) as lock:
        store.drop()
        lock.assert_held()
        was_there = stores.sites.delete(site_id)
    return StageReport({"sites_removed": int(was_there)})
