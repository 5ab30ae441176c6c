"""The end of a refresh's fetching: duplicates are folded, and copies leave the index unless too many would at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.core.extract import extract
from kb_pipeline.errors import BodyUnreadable
from kb_pipeline.store.lance import read_pages
from kb_pipeline.store.schemas import SNAPSHOTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kb_pipeline.model import Refresh, Site
    from kb_pipeline.store.frontier import CanonicalPair, Frontier, Removable
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
    pairs = frontier.canonical_pairs()
    if not pairs:
        return []
    folded: list[CanonicalPair] = []
    originals = {pair.original_id for pair in pairs}
    for original_id, group in groupby(pairs, key=lambda pair: pair.original_id):
        original = _shingles(stores, site_id, original_id)
        # A page that is itself folded into a third one, or that others fold into, would make a chain.
        folded += [
            pair
            for pair in group
            if pair.page_id not in originals and _alike(original, _shingles(stores, site_id, pair.page_id))
        ]
    frontier.fold(folded)
    return folded


def settle_removals(stores: Stores, frontier: Frontier, site: Site, refresh: Refresh) -> Settled:
    """Let removals through, or hold those that are too many at once to be believed.

    Held are only removals that no earlier refresh was held for: when the next one finds the same, it is so.
    An operator's confirmation lets all through.
    """
    removable = frontier.removable(same_target=MOST_REDIRECTS_TO_ONE)
    doubtful = [page for page in removable if page.suspicious and not page.was_held]
    held: list[Removable] = []
    if refresh.removals_confirmed_at is None and _is_mass(
        site, len(doubtful), stores.pages.count_with_copy(site.site_id)
    ):
        held = doubtful
        log.warning("crawl.removals_held", site=site.site_id, generation=refresh.generation, pages=len(held))
    kept = {page.page_id for page in held}
    removed = [page for page in removable if page.page_id not in kept]
    with stores.database.transaction():
        frontier.remove([page.page_id for page in removed])
        frontier.hold([page.page_id for page in held])
        stores.refreshes.hold_removals(site.site_id, refresh.generation, len(held))
    return Settled(removed, held)


def _is_mass(site: Site, removals: int, copies: int) -> bool:
    """Both limits passed at once (a small site may lose half its pages, a large one twenty)."""
    options = site.options
    return removals > options.removal_limit_pages and removals > options.removal_limit_share * copies


def _shingles(stores: Stores, site_id: str, page_id: str) -> frozenset[tuple[str, ...]]:
    """The five-word sequences of a stored page; none when it cannot be read, and so like no other page."""
    rows = read_pages(
        stores.site(site_id).table(SNAPSHOTS), [page_id], columns=["page_id", "url", "content_type", "body"]
    ).to_pylist()
    if not rows:
        return frozenset()
    try:
        text = extract(rows[0]["body"], rows[0]["content_type"], rows[0]["url"])
    except BodyUnreadable:
        return frozenset()
    return frozenset(_sequences(text.markdown.split()))


def _sequences(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    return (tuple(words[start : start + _WORDS]) for start in range(max(1, len(words) - _WORDS + 1)))


def _alike(first: frozenset[tuple[str, ...]], second: frozenset[tuple[str, ...]]) -> bool:
    union = len(first | second)
    return union > 0 and len(first & second) / union >= SAME_TEXT
