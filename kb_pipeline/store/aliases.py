"""Other addresses of pages: redirects, canonical links, www and scheme twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kb_pipeline.store.database import Database

_ADD: Final = named("aliases_add")
_OF_PAGE: Final = named("aliases_of_page")


@dataclass(frozen=True, slots=True)
class Alias:
    """`url`, whose own page id would be `alias_id`, is another address of `page_id`."""

    alias_id: str
    url: str
    page_id: str
    kind: Literal["redirect", "canonical", "same_identity"]


class Aliases:
    """Repository of `aliases`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, site_id: str, aliases: Sequence[Alias], now: datetime) -> None:
        """Record, or move to another page, each alias."""
        unique = list({(alias.alias_id, alias.url): alias for alias in aliases}.values())
        if not unique:
            return
        self._database.execute(
            _ADD,
            site_id=site_id,
            now=now,
            alias_ids=[alias.alias_id for alias in unique],
            urls=[alias.url for alias in unique],
            page_ids=[alias.page_id for alias in unique],
            kinds=[alias.kind for alias in unique],
        )

    def of_page(self, site_id: str, page_id: str) -> list[Alias]:
        """Every other address of the page."""
        return self._database.all(_OF_PAGE, Alias, site_id=site_id, page_id=page_id)
