"""Which version of a site's vectors is live, since when, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.model import Publication
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kb_pipeline.store.database import Database

_LIVE: Final = named("publications_live")
_GET: Final = named("publications_get")
_LIST: Final = named("publications_list")
_RETIRE: Final = named("publications_retire")
_ADD: Final = named("publications_add")
_FORGET: Final = named("publications_forget")


class Publications:
    """Repository of `publications`. A roll-back is a new row for an old version: history is never rewritten."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def live(self, site_id: str) -> Publication | None:
        """What search reads, or None before the first publication."""
        return self._database.one(_LIVE, Publication, site_id=site_id)

    def get(self, site_id: str, publication_id: int) -> Publication | None:
        """One publication of this site, or None."""
        return self._database.one(_GET, Publication, site_id=site_id, publication_id=publication_id)

    def recent(self, site_id: str, most: int = 100) -> list[Publication]:
        """The newest first."""
        return self._database.all(_LIST, Publication, site_id=site_id, most=most)

    def publish(
        self,
        site_id: str,
        *,
        table_name: str,
        lance_version: int,
        generation: int,
        rows: int,
        pages: int,
        reason: str,
        now: datetime,
    ) -> Publication:
        """Make a version live, and the one before not, in one transaction."""
        with self._database.transaction():
            self._database.execute(_RETIRE, site_id=site_id)
            return self._database.require(
                _ADD,
                Publication,
                site_id=site_id,
                table_name=table_name,
                lance_version=lance_version,
                generation=generation,
                rows=rows,
                pages=pages,
                reason=reason,
                now=now,
            )

    def forget(self, site_id: str, publication_ids: Sequence[int]) -> int:
        """Delete old publications; the live one stays whatever is asked. How many went."""
        return self._database.execute(_FORGET, site_id=site_id, publication_ids=list(publication_ids))
