"""The end of a refresh's fetching: duplicates are folded, and copies leave the index unless too many would at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.core.mass_removal import empties_site, is_mass_removal
from kb_pipeline.fetch.answers import Answer
from kb_pipeline.model import PageStatus
from kb_pipeline.stages.page_reading import examined
from kb_pipeline.store.lance import read_pages
from kb_pipeline.store.schemas import SNAPSHOTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kb_pipeline.model import Refresh, Site
    from kb_pipeline.store.frontier import CanonicalPair, Frontier, Removable
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

SAME_TEXT: Final = 0.8
"""Share of five-word sequences that two pages have in common when one is a copy of the other."""
MOST_REDIRECTS_TO_ONE: Final = 3
"""More indexed pages than this that redirect to one and the same page look like a broken site, not like a move."""
_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the removals of a refresh."""

    removed: Sequence[Removable]
    held: Sequence[Removable]


def fold_canonical_duplicates(stores: Stores, frontier: Frontier, site_id: str) -> list[CanonicalPair]:
    """Fold each page into the kept page that it names as canonical, where both say the same; those folded.

    The link alone is not believed: a template that names the home page on every page would cost the site.
    """
    named = frontier.canonical_pairs()
    originals = {pair.original_id for pair in named}
    # A page that is itself folded into a third one, or that others fold into, would make a chain.
    pairs = list(dict.fromkeys(pair for pair in named if pair.page_id not in originals))
    if not pairs:
        return []
    pages = _StoredPages(stores.site(site_id).table(SNAPSHOTS), pairs)
    folded: dict[str, CanonicalPair] = {}
    for pair in pairs:
        if _alike(pages.shingles(pair.original_id), pages.shingles(pair.page_id)):
            folded.setdefault(pair.page_id, pair)
    frontier.fold(list(folded.values()))
    return list(folded.values())


def settle_removals(stores: Stores, frontier: Frontier, site: Site, refresh: Refresh) -> Settled:
    """Let removals through, or hold those that are too many at once to be believed.

    Held are only removals that no earlier refresh was held for: when the next one finds the same, it is so.
    An operator's confirmation lets all through.
    """
    removable = frontier.removable(same_target=MOST_REDIRECTS_TO_ONE)
    doubtful = [page for page in removable if page.suspicious and not page.was_held]
    held: list[Removable] = []
    copies = stores.pages.count_with_copy(site.site_id)
    # A robots.txt that was read is the owner's word. What a broken server shows in place of every page is nobody's.
    gone = sum(page.state is PageStatus.GONE or Answer.NOINDEX in page.answers for page in doubtful)
    too_many = is_mass_removal(site.options, lost=len(doubtful), of=copies) or empties_site(lost=gone, of=copies)
    if refresh.removals_confirmed_at is None and too_many:
        held = doubtful
        log.warning("crawl.removals_held", site=site.site_id, generation=refresh.generation, pages=len(held))
    kept = {page.page_id for page in held}
    removed = [page for page in removable if page.page_id not in kept]
    with stores.database.transaction():
        frontier.remove([page.page_id for page in removed])
        frontier.hold([page.page_id for page in held])
        stores.refreshes.hold_removals(site.site_id, refresh.generation, len(held))
    return Settled(removed, held)


class _StoredPages:
    """The stored pages of some pairs. Each is read once, and what it says is held for as long as pairs of it are
    left."""

    def __init__(self, table: Table, pairs: Iterable[CanonicalPair]) -> None:
        self._table = table
        self._left = Counter(page_id for pair in pairs for page_id in (pair.page_id, pair.original_id))
        self._held: dict[str, frozenset[tuple[str, ...]]] = {}

    def shingles(self, page_id: str) -> frozenset[tuple[str, ...]]:
        """The five-word sequences of a page; none when it cannot be read, and so like no other page. To be asked once
        for each of its pairs."""
        if page_id not in self._held:
            self._held[page_id] = self._read(page_id)
        self._left[page_id] -= 1
        return self._held[page_id] if self._left[page_id] else self._held.pop(page_id)

    def _read(self, page_id: str) -> frozenset[tuple[str, ...]]:
        rows = read_pages(self._table, [page_id], columns=["page_id", "url", "content_type", "body"]).to_pylist()
        found = examined(rows[0]["body"], rows[0]["content_type"], rows[0]["url"]) if rows else ""
        return frozenset() if isinstance(found, str) else frozenset(_sequences(found.text.markdown.split()))


def _sequences(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return (tuple(words[start : start + _WORDS]) for start in range(max(1, len(words) - _WORDS + 1)))


def _alike(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> bool:
    union = len(first | second)
    return union > 0 and len(first & second) / union >= SAME_TEXT
