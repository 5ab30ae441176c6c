"""Refreshes: one row a generation of a site, at most one of them open. How one goes on is the stages' business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.errors import StoreError
from kb_pipeline.model import Refresh
from kb_pipeline.store.named_queries import named
from kb_pipeline.store.rows import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from kb_pipeline.model import Estimate, RefreshKind, RefreshOutcome
    from kb_pipeline.store.database import Database

_OPEN: Final = named("refreshes_open")
_GET: Final = named("refreshes_get")
_LATEST: Final = named("refreshes_latest")
_LIST: Final = named("refreshes_list")
_LISTED_BEFORE: Final = named("refreshes_listed_before")
_LATEST_ESTIMATED: Final = named("refreshes_latest_estimated")
_IS_HELD: Final = named("refreshes_is_held")
_START: Final = named("refreshes_start")
_RESUME: Final = named("refreshes_resume")
_SET_ESTIMATE: Final = named("refreshes_set_estimate")
_APPROVE: Final = named("refreshes_approve")
_DISCOVERED: Final = named("refreshes_discovered")
_FETCHED: Final = named("refreshes_fetched")
_SET_COUNTS: Final = named("refreshes_set_counts")
_SPEND: Final = named("refreshes_spend")
_SET_TROUBLE: Final = named("refreshes_set_trouble")
_HOLD_REMOVALS: Final = named("refreshes_hold_removals")
_CONFIRM_REMOVALS: Final = named("refreshes_confirm_removals")
_FINISH: Final = named("refreshes_finish")


class Refreshes:
    """Repository of `refreshes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, site_id: str) -> Refresh | None:
        """The refresh that has not ended, or None."""
        return self._database.one(_OPEN, Refresh, site_id=site_id)

    def get(self, site_id: str, generation: int) -> Refresh | None:
        """One refresh, or None."""
        return self._database.one(_GET, Refresh, site_id=site_id, generation=generation)

    def latest(self, site_id: str) -> Refresh | None:
        """The newest refresh, open or ended, or None."""
        return self._database.one(_LATEST, Refresh, site_id=site_id)

    def recent(self, site_id: str, most: int = 20) -> list[Refresh]:
        """The newest first."""
        return self._database.all(_LIST, Refresh, site_id=site_id, most=most)

    def listed_before(self, site_id: str, generation: int) -> Refresh | None:
        """The newest refresh before this one that read the site's list, however many retries came since, or None."""
        return self._database.one(_LISTED_BEFORE, Refresh, site_id=site_id, generation=generation)

    def latest_estimated(self, site_id: str) -> Refresh | None:
        """The newest refresh with an estimate, open or ended, or None."""
        return self._database.one(_LATEST_ESTIMATED, Refresh, site_id=site_id)

    def is_held(self, site_id: str) -> bool:
        """Whether a full refresh was held, and no full one was published since."""
        return self._database.require(_IS_HELD, bool, site_id=site_id)

    def start_or_resume(self, site_id: str, kind: RefreshKind, run_id: str | None, now: datetime) -> Refresh:
        """Open the next generation; when one is open already, that one, of whatever kind, with this run's id."""
        started = self._database.one(_START, Refresh, site_id=site_id, kind=kind, run_id=run_id, now=now)
        if started is None:
            started = self._database.one(_RESUME, Refresh, site_id=site_id, run_id=run_id)
        if started is None:
            message = f"the open refresh of site {site_id!r} ended while it was being resumed; run again"
            raise StoreError(message)
        return started

    def set_estimate(self, site_id: str, generation: int, estimate: Estimate) -> None:
        """Store what the import will cost."""
        self._database.execute(_SET_ESTIMATE, site_id=site_id, generation=generation, estimate=to_json(estimate))

    def approve(self, site_id: str, generation: int, *, by: str, now: datetime) -> None:
        """Record the first approval; a later one changes nothing."""
        self._database.execute(_APPROVE, site_id=site_id, generation=generation, by=by, now=now)

    def mark_discovered(self, site_id: str, generation: int, now: datetime) -> None:
        """Discovery has ended."""
        self._database.execute(_DISCOVERED, site_id=site_id, generation=generation, now=now)

    def mark_fetched(self, site_id: str, generation: int, now: datetime) -> None:
        """Every page that was asked for has an outcome."""
        self._database.execute(_FETCHED, site_id=site_id, generation=generation, now=now)

    def set_counts(self, site_id: str, generation: int, counts: Mapping[str, int]) -> None:
        """Set these counts and leave the others."""
        self._database.execute(_SET_COUNTS, site_id=site_id, generation=generation, counts=to_json(dict(counts)))

    def spend(self, site_id: str, generation: int, spent: Mapping[str, int]) -> None:
        """Add to these counts, of which there is at least one."""
        self._database.execute(_SPEND, site_id=site_id, generation=generation, spent=to_json(dict(spent)))

    def set_trouble(self, site_id: str, generation: int, trouble: str | None) -> None:
        """Write down why pages of it gave nothing new."""
        self._database.execute(_SET_TROUBLE, site_id=site_id, generation=generation, trouble=trouble)

    def hold_removals(self, site_id: str, generation: int, held: int) -> None:
        """Record how many removals wait to be confirmed; 0 when none does any more."""
        self._database.execute(_HOLD_REMOVALS, site_id=site_id, generation=generation, held=held)

    def confirm_removals(self, site_id: str, generation: int, now: datetime) -> bool:
        """The operator lets the held removals through; False when the refresh has ended."""
        return self._database.execute(_CONFIRM_REMOVALS, site_id=site_id, generation=generation, now=now) > 0

    def finish(self, site_id: str, generation: int, outcome: RefreshOutcome, reason: str | None, now: datetime) -> bool:
        """End the refresh; False when it had ended before."""
        done = self._database.execute(
            _FINISH, site_id=site_id, generation=generation, outcome=outcome, reason=reason, now=now
        )
        return done > 0
