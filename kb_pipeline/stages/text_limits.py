"""When texts that do not belong into the index keep a refresh from going live: said once for the checks that do so, and
for the report of what they would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb_pipeline.model import PageStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.model import Site
    from kb_pipeline.store.stores import Stores


def share_of(found: int, of: int) -> float:
    """0 to 1; 0 of nothing."""
    return found / of if of else 0.0


def too_many(site: Site, found: int, of: int) -> bool:
    """Whether the site has more such texts than it tolerates."""
    return share_of(found, of) > site.options.tolerated_thin_share


def any_fetched_in(stores: Stores, site_id: str, page_ids: Sequence[str], generation: int) -> bool:
    """Whether this refresh fetched one of the pages as content. One that blocked on an old copy would block for ever: a
    gate keeps the copy that is there."""
    pages = stores.pages.of_ids(site_id, page_ids)
    return any(page.state is PageStatus.FRESH and page.done_generation == generation for page in pages)
