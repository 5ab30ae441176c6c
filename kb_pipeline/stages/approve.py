"""Consent to an import: what it costs is held against the tenant's allowance, and nothing is fetched before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import ConfigError, NotApproved, NothingDiscovered
from kb_pipeline.model import RefreshKind
from kb_pipeline.stages.estimate import trimmed
from kb_pipeline.stages.selection import OVER_APPROVED
from kb_pipeline.store.discovery import CHARACTERS_A_TOKEN, DiscoveryLedger

if TYPE_CHECKING:
    from kb_pipeline.model import Estimate, Refresh, Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.stores import Stores

WAITS: Final = "it waits for approval"
"""Reason of a refresh that nobody has been asked about yet; another reason of one that is not approved refuses it."""


def approve(stores: Stores, settings: Settings, site_id: str, *, pages: int | None, by: str) -> Estimate:
    """Approve the open import: its `pages` most important pages, KB_UNAPPROVED_MAX_PAGES when None.

    The site stays approved for refreshes of at most so many pages. Returns the estimate of what is approved. Raises
    NothingDiscovered before there is an estimate, NotApproved when it does not fit the tenant's allowance (and then
    changes nothing), ConfigError, SiteBusy, SiteNotFound.
    """
    most = settings.unapproved_max_pages if pages is None else pages
    if most < 1:
        message = f"pages={most}: an approval takes a number of pages from 1 on"
        raise ConfigError(message)
    with stores.site_lock(site_id, f"approve by {by}"), stores.database.transaction():
        site = stores.sites.get(site_id)
        refresh = stores.refreshes.open(site_id)
        if refresh is None or refresh.kind is not RefreshKind.FULL:
            return _approve_for_later(stores, site, most, by)
        if refresh.estimate is None:
            raise NothingDiscovered(_no_estimate(site_id))
        return _approve_refresh(stores, site, refresh, most, by)


def _approve_refresh(stores: Stores, site: Site, refresh: Refresh, most: int, by: str) -> Estimate:
    assert refresh.estimate is not None
    ledger = DiscoveryLedger(stores.database, site.site_id)
    ledger.readmit(refresh.generation, OVER_APPROVED)
    ledger.trim_wanted(refresh.generation, most, OVER_APPROVED)
    estimate = trimmed(refresh.estimate, ledger.wanted(refresh.generation))
    if (refusal := check_allowance(stores, site, estimate)) is not None:
        raise NotApproved(refusal)
    stores.refreshes.set_counts(site.site_id, refresh.generation, {"kept": estimate.pages})
    grant(stores, site, refresh.generation, estimate, most, by)
    return estimate


def grant(stores: Stores, site: Site, generation: int, estimate: Estimate, most: int, by: str) -> None:
    """Record an approval that was checked."""
    now = stores.now()
    stores.refreshes.set_estimate(site.site_id, generation, estimate)
    stores.refreshes.approve(site.site_id, generation, by=by, now=now)
    stores.sites.approve(site.site_id, pages=most, by=by, now=now)
    DiscoveryLedger(stores.database, site.site_id).set_reason(generation, None)


def _approve_for_later(stores: Stores, site: Site, most: int, by: str) -> Estimate:
    """Change the cap of a site between two refreshes: the next one takes it up."""
    latest = stores.refreshes.latest_estimated(site.site_id)
    if latest is None or latest.estimate is None or site.approved_at is None:
        raise NothingDiscovered(_no_estimate(site.site_id))
    stores.sites.approve(site.site_id, pages=most, by=by, now=stores.now())
    return latest.estimate


def check_allowance(stores: Stores, site: Site, estimate: Estimate) -> str | None:
    """Why an import does not fit what its tenant may have indexed at once, or None when it fits.

    To be asked within the transaction that approves: no other import of the tenant is checked meanwhile.
    """
    ledger = DiscoveryLedger(stores.database, site.site_id)
    ledger.lock_tenant(site.tenant)
    allowance = stores.allowances.get(site.tenant)
    if allowance.max_pages is None and allowance.max_tokens is None:
        return None
    held = ledger.tenant_holds(site.tenant)
    held_tokens = round(held.characters / CHARACTERS_A_TOKEN)
    problems = [
        _over("pages", estimate.pages, held.pages, allowance.max_pages),
        _over("tokens", estimate.tokens, held_tokens, allowance.max_tokens),
    ]
    found = [problem for problem in problems if problem]
    return f"the import does not fit the allowance of tenant {site.tenant!r}: {'; '.join(found)}" if found else None


def _over(what: str, wanted: int, held: int, most: int | None) -> str | None:
    if most is None or held + wanted <= most:
        return None
    return f"{wanted:,} {what} with {max(0, most - held):,} of {most:,} left"


def _no_estimate(site_id: str) -> str:
    return f"site {site_id!r} has no estimate to approve yet: run `kb sites estimate {site_id}` first"
