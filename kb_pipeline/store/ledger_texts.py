"""What the ledger knows of each page's text: its title and length, for listings and for the site's owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.store.database import Database

_RECORD: Final = named("texts_record")


@dataclass(frozen=True, slots=True)
class PageText:
    """Title and visible characters of a page; both None once there is no text of it."""

    page_id: str
    title: str | None
    characters: int | None


class LedgerTexts:
    """Repository over `pages` for the extraction stage."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, site_id: str, texts: Sequence[PageText]) -> None:
        """Write titles and lengths; a page that is not in the ledger is passed over."""
        self._database.execute(
            _RECORD,
            site_id=site_id,
            page_ids=[text.page_id for text in texts],
            titles=[text.title for text in texts],
            characters=[text.characters for text in texts],
        )
