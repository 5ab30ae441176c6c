"""Read-only looks at a site's Lance tables, for reports and the checks of the graph. Nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.model import MIN_TEXT_CHARACTERS, PageState
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import at_version
from kb_pipeline.store.lance_indexes import fragments, unindexed_rows
from kb_pipeline.store.layouts import searchable
from kb_pipeline.store.schemas import TEXTS

if TYPE_CHECKING:
    from kb_pipeline.model import Publication
    from kb_pipeline.store.lance import SiteStore

MOST_LISTED: Final = 50
_NOT_A_PAGE: Final = f"page_state != '{PageState.OK.value}'"
_SHORT: Final = f"page_state = '{PageState.OK.value}' AND characters < {MIN_TEXT_CHARACTERS}"
"""An error page mostly says little as well: it is objected to once, for what it is."""


@dataclass(frozen=True, slots=True)
class TextFinding:
    """A text that does not belong into the index."""

    page_id: str
    url: str
    page_state: str
    characters: int


@dataclass(frozen=True, slots=True)
class TextFindings:
    """Texts of a site, and those of them that are objected to: the first MOST_LISTED, and how many there are."""

    texts: int
    found: int
    listed: tuple[TextFinding, ...]


def short_texts(site: SiteStore) -> TextFindings:
    """Texts of pages that say too little, and are no error pages. Raises StoreError when they cannot be read."""
    return _texts(site, _SHORT)


def error_texts(site: SiteStore) -> TextFindings:
    """Texts of not-found pages and gates. Raises StoreError when they cannot be read."""
    return _texts(site, _NOT_A_PAGE)


def _texts(site: SiteStore, where: str) -> TextFindings:
    table = site.table(TEXTS)
    with usable(table.uri):
        found = table.count_rows(where)
        columns = ["page_id", "url", "page_state", "characters"]
        rows = table.search().where(where).select(columns).limit(MOST_LISTED).to_list() if found else []
        listed = tuple(
            sorted((TextFinding(**{name: row[name] for name in columns}) for row in rows), key=lambda t: t.url)
        )
        return TextFindings(table.count_rows(), found, listed)


@dataclass(frozen=True, slots=True)
class IndexState:
    """The version that is live, as search finds it."""

    table: str
    dimension: int
    """0 where another version of this program made it, and its columns are not known."""
    unindexed_rows: int
    fragments: int
    versions: int
    """Of the whole table, not only the live one."""
    tables: tuple[str, ...]
    """Every vectors table of the site: another model has another."""


def live_index_state(site: SiteStore, live: Publication) -> IndexState:
    """How the live version is indexed and kept."""
    table = site.table(live.table_name)
    fixed = at_version(table, live.lance_version)
    found = searchable(fixed)
    with usable(table.uri):
        return IndexState(
            table=live.table_name,
            dimension=found.dimension if found else 0,
            unindexed_rows=unindexed_rows(fixed),
            fragments=fragments(fixed),
            versions=len(table.list_versions()),
            tables=tuple(name for name in site.table_names() if name.startswith("vectors-")),
        )
