"""Read-only numbers and listings for checks, sensors and the command line. Nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.named_queries import named
from kb_pipeline.store.pages import Amount

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.database import Database

_REFRESHES_DUE: Final = named("report_refreshes_due")
_RETRIES_DUE: Final = named("report_retries_due")
_OUTCOMES: Final = named("report_outcomes")
_UNANSWERED: Final = named("report_unanswered")
_HELD_REMOVALS: Final = named("report_held_removals")
_TROUBLES: Final = named("report_troubles")
_THIN_PAGES: Final = named("report_thin_pages")
_THIN_PAGES_COUNT: Final = named("report_thin_pages_count")

MOST_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class DueSite:
    """A site that a run is due for. Runs that ended before `since` were for something else."""

    site_id: str
    generation: int
    since: datetime
    refresh_interval_hours: float
    is_open: bool
    """Whether the refresh is open already, and is only taken up again."""


@dataclass(frozen=True, slots=True)
class ReportedPage:
    """A page and what is to be said of it."""

    page_id: str
    url: str
    state: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why some pages gave nothing new."""

    reason: str
    pages: int


class Reports:
    """Read-only queries over all tables of the control plane."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def refreshes_due(self, now: datetime, *, most: int) -> list[DueSite]:
        """Approved sites with a full refresh to start or to take up again, the longest due first."""
        return self._database.all(_REFRESHES_DUE, DueSite, now=now, most=most)

    def retries_due(self, now: datetime, *, most: int) -> list[DueSite]:
        """Sites with pages whose retry time has come, or with an open retry to take up again."""
        return self._database.all(_RETRIES_DUE, DueSite, now=now, most=most)

    def outcomes(self, site_id: str, generation: int) -> dict[str, int]:
        """Pages that the refresh asked for, by outcome; `due` are those that have none yet."""
        rows = self._database.all(_OUTCOMES, Amount, site_id=site_id, generation=generation)
        return {row.name: row.amount for row in rows}

    def unanswered(self, site_id: str, generation: int, *, most: int = MOST_LISTED) -> list[ReportedPage]:
        """Pages of the refresh that ended without an answer, or have not ended."""
        return self._database.all(_UNANSWERED, ReportedPage, site_id=site_id, generation=generation, most=most)

    def troubles(self, site_id: str, generation: int, *, most: int = MOST_LISTED) -> list[Trouble]:
        """Why pages of the refresh gave nothing new, the commonest reason first."""
        return self._database.all(_TROUBLES, Trouble, site_id=site_id, generation=generation, most=most)

    def held_removals(self, site_id: str, *, most: int = MOST_LISTED) -> list[ReportedPage]:
        """Pages that are gone, forbidden or redirect away, whose copy is kept until that is confirmed."""
        return self._database.all(_HELD_REMOVALS, ReportedPage, site_id=site_id, most=most)

    def thin_pages(self, site_id: str, *, most: int = MOST_LISTED) -> list[ReportedPage]:
        """Pages that say too little and of which no earlier copy is kept."""
        return self._database.all(_THIN_PAGES, ReportedPage, site_id=site_id, most=most)

    def thin_pages_count(self, site_id: str) -> int:
        """How many `thin_pages` there are."""
        return self._database.require(_THIN_PAGES_COUNT, int, site_id=site_id)
