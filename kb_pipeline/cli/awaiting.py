"""What the newest content of a site waits for before search finds it, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.model import RefreshOutcome, SiteState

if TYPE_CHECKING:
    from kb_pipeline.model import Publication, Refresh, Site
    from kb_pipeline.store.stores import Stores

_RECENT: Final = 200
"""Refreshes that are looked through for the last one that was published."""


def published_generation(stores: Stores, site_id: str) -> int:
    """The newest refresh that was published, 0 before the first: what was fetched after it is not live yet."""
    recent = stores.refreshes.recent(site_id, _RECENT)
    return max((refresh.generation for refresh in recent if refresh.outcome is RefreshOutcome.PUBLISHED), default=0)


def what_is_awaited(stores: Stores, site: Site) -> str | None:
    """What stands between what was found and what search reads, as a clause; None when nothing does."""
    newest = stores.refreshes.latest(site.site_id)
    if site.state is SiteState.AWAITING_APPROVAL:
        return f"its import waits for approval: kb sites approve {site.site_id}"
    if newest is None:
        return f"the site has not been looked at yet: kb sites estimate {site.site_id}"
    if newest.outcome is RefreshOutcome.PUBLISHED:
        return _what_was_rolled_back(stores, newest)
    if newest.outcome is not None:
        return f"refresh {newest.generation} {_ENDED[newest.outcome]}: {newest.reason or 'no reason was recorded'}"
    return _what_is_open(stores, newest)


def is_rolled_back(live: Publication | None) -> bool:
    """Whether somebody has gone back to an earlier version, and no refresh has gone forward since."""
    return live is not None and live.reason.startswith("rolled back")


def _what_was_rolled_back(stores: Stores, newest: Refresh) -> str | None:
    live = stores.publications.live(newest.site_id)
    if live is None or not is_rolled_back(live):
        return None
    return f"the site was rolled back to refresh {live.generation}, and its next refresh goes forward again"


def _what_is_open(stores: Stores, refresh: Refresh) -> str:
    from kb_pipeline.store.reports import Reports  # noqa: PLC0415 - `--help` needs no database driver

    outcomes = Reports(stores.database).outcomes(refresh.site_id, refresh.generation)
    due, asked = outcomes.get("due", 0), sum(outcomes.values())
    if due:
        return (
            f"refresh {refresh.generation} has still to fetch {due:,} of {asked:,} pages, then to embed and check them"
        )
    if asked:
        return f"refresh {refresh.generation} has fetched its pages, and has still to embed and check them"
    return f"refresh {refresh.generation} has only begun"


_ENDED: Final = {RefreshOutcome.HELD: "was held", RefreshOutcome.FAILED: "failed"}
