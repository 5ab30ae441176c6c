"""Known pages under a site's present options. What no list names anew would else stay what it was under earlier ones:
a page left out, or one that is asked for although nobody wants it any more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.scope import Scope
from kb_pipeline.model import PageSource, SourceType
from kb_pipeline.stages.selection import cap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb_pipeline.model import Site
    from kb_pipeline.store.discovery import DiscoveryLedger, NamedPage

_ROWS: Final = 1_000


def leave_out_unwanted(ledger: DiscoveryLedger, site: Site, pages: Iterable[NamedPage]) -> Counter[str]:
    """Leave out those of the pages that the site's options no longer want; how many, by reason."""
    scope = Scope(site.url, site.options)
    reasons: Counter[str] = Counter()
    batch: list[tuple[str, str]] = []
    for page in pages:
        if page.source is PageSource.GIVEN and site.source_type is SourceType.URL:
            continue
        reason = scope.why_not(page.url, depth=page.depth)
        if reason is None:
            continue
        reasons[reason] += 1
        batch.append((page.page_id, reason))
        if len(batch) == _ROWS:
            ledger.exclude(batch)
            batch = []
    ledger.exclude(batch)
    return reasons


def leave_out_surplus(ledger: DiscoveryLedger, site: Site, generation: int) -> Counter[str]:
    """Leave out copies that the list does not name, as far as the site has more copies than it may have pages."""
    most, over = cap(site)
    trimmed = ledger.trim_copies(generation, most, over)
    return Counter({over: trimmed} if trimmed else {})


def readmit_links(ledger: DiscoveryLedger, site: Site, generation: int) -> int:
    """Ask in this refresh for the pages that only links lead to and that the options want again, as many as there is
    room for; how many. The pages with the links may be unchanged, and then nothing names the others anew."""
    scope = Scope(site.url, site.options)
    most, over = cap(site)
    room = most - ledger.wanted(generation)
    wanted = [page for page in ledger.links_left_out(generation) if scope.why_not(page.url, depth=page.depth) is None]
    room = min(max(room, 0), len(wanted))
    ledger.exclude([(page.page_id, over) for page in wanted[room:]])
    return ledger.ask_for(generation, [page.page_id for page in wanted[:room]])
