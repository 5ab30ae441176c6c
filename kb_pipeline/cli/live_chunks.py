"""Reads which chunks the live version of a site has, and says what changed between two of them: from the stored
rows themselves, not from what a run reported."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from kb_pipeline.errors import NotLive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.model import Publication
    from kb_pipeline.store.stores import Stores

LiveChunks: TypeAlias = "Mapping[str, frozenset[str]]"
"""Hashes of the chunks of each page, by the page's address."""


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page whose chunks differ between two versions."""

    url: str
    what: str
    """`added`, `changed` or `deleted`."""
    embedded: int
    """Chunks that no page had before: each cost an embedding."""
    kept: int
    dropped: int


def read_live_chunks(stores: Stores, site_id: str) -> LiveChunks:
    """The chunks of the live version. Raises NotLive before the first publication."""
    from kb_pipeline.store.lance import at_version, read_rows  # noqa: PLC0415 - loads the vector library

    live = stores.publications.live(site_id)
    if live is None:
        message = f"nothing of site {site_id!r} has been published yet"
        raise NotLive(message)
    table = at_version(stores.site(site_id).table(live.table_name), live.lance_version)
    pages: defaultdict[str, set[str]] = defaultdict(set)
    for row in read_rows(table, columns=["url", "hash"]).to_pylist():
        pages[row["url"].partition("#")[0]].add(row["hash"])
    return {url: frozenset(hashes) for url, hashes in pages.items()}


def count_live_chunks(stores: Stores, live: Publication, page_id: str) -> int:
    """How many passages of the page search can find. Raises StoreError when the live version cannot be read."""
    from kb_pipeline.store.lance import at_version, count_rows, in_pages  # noqa: PLC0415 - loads the vector library

    table = at_version(stores.site(live.site_id).table(live.table_name), live.lance_version)
    return count_rows(table, in_pages([page_id]))


def changes_between(before: LiveChunks, after: LiveChunks) -> list[PageChange]:
    """Pages that differ, by address."""
    known = frozenset().union(*before.values())
    changes = []
    for url in sorted(before.keys() | after.keys()):
        old, new = before.get(url, frozenset()), after.get(url, frozenset())
        if old != new:
            what = "added" if not old else "changed" if new else "deleted"
            changes.append(PageChange(url, what, len(new - known), len(new & known), len(old - new)))
    return changes
