"""What was asked of each site, and whether anything was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.database import Database

_RECORD: Final = named("queries_record")
_RECENT: Final = named("queries_recent")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One row of `queries`. `millis`: time the search took."""

    query_id: int
    site_id: str
    question: str
    mode: str
    hits: int
    millis: float
    asked_at: datetime


class Queries:
    """Repository of `queries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, site_id: str, question: str, *, mode: str, hits: int, millis: float, now: datetime) -> None:
        """Log one search."""
        self._database.execute(
            _RECORD, site_id=site_id, question=question, mode=mode, hits=hits, millis=millis, now=now
        )

    def recent(self, site_id: str, most: int = 50) -> list[AskedQuestion]:
        """The newest first."""
        return self._database.all(_RECENT, AskedQuestion, site_id=site_id, most=most)
